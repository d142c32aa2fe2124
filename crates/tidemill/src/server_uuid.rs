//! The identity of a database, which MySQL calls the server's: kept in the directory's `auto.cnf` as MySQL does, made at the first
//! start.

use std::io;
use std::path::Path;

use base::Environment;
use base::environment::OpenMode;

/// More is not read of the file.
const LONGEST: u64 = 64 << 10;

/// A UUID, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerUuid(String);

impl ServerUuid {
    /// That of a directory.
    pub(crate) fn of(environment: &Environment, dir: &Path) -> io::Result<ServerUuid> {
        let path = dir.join("auto.cnf");
        let disk = &environment.disk;
        match disk.open(&path, OpenMode::Buffered, false) {
            Ok(file) => {
                let mut bytes = vec![0; file.len()?.min(LONGEST) as usize];
                let got = file.read_now(&mut bytes, 0)?;
                // What is damaged is made anew: what was done under the old name stays done.
                let text = String::from_utf8_lossy(&bytes[..got]);
                let lines = text.lines().filter_map(|line| line.split_once('='));
                let found = lines
                    .filter(|(name, _)| name.trim().replace('_', "-") == "server-uuid")
                    .map(|(_, value)| value.trim().to_owned())
                    .find(|value| is_uuid(value));
                if let Some(uuid) = found {
                    return Ok(ServerUuid(uuid));
                }
                disk.remove_file(&path)?;
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        let uuid = random_uuid(environment);
        let text = format!("[auto]\nserver-uuid={uuid}\n");
        let file = disk.open(&path, OpenMode::Buffered, true)?;
        file.write_now(text.as_bytes(), 0)?;
        // Transactions are called by it from now on, and replicas know the server by it.
        file.sync_now()?;
        disk.sync_dir(dir)?;
        Ok(ServerUuid(uuid))
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The last six bytes, with the mark of an address that no hardware has.
    pub(crate) fn node(&self) -> [u8; 6] {
        let number = self
            .0
            .rsplit('-')
            .next()
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
            .unwrap_or(0);
        let [_, _, node @ ..] = number.to_be_bytes();
        let mut node: [u8; 6] = node;
        node[0] |= 1;
        node
    }
}

/// Five groups of hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(|group| {
        let hexadecimal = group.bytes().all(|b| b.is_ascii_hexdigit());
        if hexadecimal { group.len() } else { 0 }
    });
    groups.eq([8, 4, 4, 4, 12])
}

/// A UUID of version 4.
fn random_uuid(environment: &Environment) -> String {
    let (a, b) = (environment.random.next_u64(), environment.random.next_u64());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFF,
        b >> 48 & 0x3FFF | 0x8000,
        b & 0xFFFF_FFFF_FFFF
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::environment::Disk;
    use base::mem::MemDisk;
    use std::sync::Arc;

    #[test]
    fn a_power_cut_leaves_the_uuid() {
        let disk = Arc::new(MemDisk::default());
        disk.create_dir_all(Path::new("/d")).expect("a folder");
        let of = |disk: &Arc<MemDisk>| {
            let environment = base::mem::environment(Arc::clone(disk));
            ServerUuid::of(&environment, Path::new("/d")).expect("a uuid")
        };
        let first = of(&disk);
        let left = Arc::new(disk.crash(false));
        assert_eq!(of(&left), first);
    }

    #[test]
    fn the_uuid_stays() {
        let dir = std::env::temp_dir().join(format!("tidemill-uuid-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let environment = base::real::environment();
        let of_dir = || ServerUuid::of(&environment, &dir).expect("a uuid");
        let first = of_dir();
        let text = first.as_str();
        assert_eq!((text.len(), &text[14..15]), (36, "4"), "{text}");
        assert_eq!(of_dir(), first);
        // Damaged, it is made anew.
        let path = dir.join("auto.cnf");
        for at in [3, 15, 25, 28] {
            let mut bytes = std::fs::read(&path).expect("the file");
            bytes[at] ^= 0x80;
            std::fs::write(&path, bytes).expect("damage");
            assert!(is_uuid(of_dir().as_str()), "{at}");
        }
        std::fs::remove_dir_all(&dir).expect("removal");
    }
}
