//! The disk as a file system of the kernel, by FUSE. The kernel's cache holds back no write (there is no FUSE_WRITEBACK_CACHE
//! here), so that each write(2) that was answered is known to the disk; what it has cached for reads goes with the mount.

use super::content::{BLOCK, Content};
use super::disk::{Disk, Lies, Weight};
use super::volume::{Folder, Ino, Kind, Node, Refused, Volume};
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};
use harness::server::runs_as_root;
use harness::step::{self, Outcome};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// What it is called in the kernel's list of mounts.
const NAME: &str = "tidemill-power-cuts";

/// Nobody but the kernel changes anything, so it may believe for long what it was told.
const TTL: Duration = Duration::from_secs(3600);

/// The room that `df` tells of: 16 GiB.
const ROOM: u64 = (16 << 30) / BLOCK;

/// fallocate(2): the length stays.
const KEEP_SIZE: i32 = 1;
/// fallocate(2): make a hole.
const PUNCH_HOLE: i32 = 2;

/// The kernel's side of a disk.
#[derive(Debug)]
struct Served(Disk);

fn errno(why: Refused) -> Errno {
    match why {
        Refused::NotThere => Errno::ENOENT,
        Refused::Exists => Errno::EEXIST,
        Refused::IsFolder => Errno::EISDIR,
        Refused::NotFolder => Errno::ENOTDIR,
        Refused::NotEmpty => Errno::ENOTEMPTY,
    }
}

fn attributes(volume: &Volume, ino: Ino) -> Result<FileAttr, Refused> {
    let node = volume.node(ino)?;
    let (kind, size, blocks) = match &node.kind {
        Kind::File(content) => (FileType::RegularFile, content.len(), content.blocks()),
        Kind::Folder(_) => (FileType::Directory, BLOCK, 1),
    };
    let when = SystemTime::UNIX_EPOCH;
    Ok(FileAttr {
        ino: INodeNo(ino),
        size,
        blocks: blocks * (BLOCK / 512),
        atime: when,
        mtime: when,
        ctime: when,
        crtime: when,
        kind,
        perm: node.mode,
        nlink: if kind == FileType::Directory { 2 } else { 1 },
        uid: node.uid,
        gid: node.gid,
        rdev: 0,
        blksize: BLOCK as u32,
        flags: 0,
    })
}

/// A file that was opened past the kernel's cache is served past it too.
fn how_opened(flags: i32) -> FopenFlags {
    if flags & libc::O_DIRECT != 0 {
        FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH
    } else {
        FopenFlags::FOPEN_NOFLUSH
    }
}

impl Served {
    fn run<T>(
        &self,
        weight: Weight,
        act: impl FnOnce(&mut Volume, Lies) -> Result<T, Refused>,
    ) -> Result<T, Errno> {
        match self.0.operate(weight, act) {
            Ok(result) => result.map_err(errno),
            Err(_) => Err(Errno::EIO),
        }
    }

    fn make(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        kind: Kind,
    ) -> Result<FileAttr, Errno> {
        let node = Node {
            mode: (mode & 0o7777) as u16,
            uid: req.uid(),
            gid: req.gid(),
            kind,
        };
        self.run(Weight::Changes, |volume, _| {
            let ino = volume.make(parent.0, name, node)?;
            attributes(volume, ino)
        })
    }

    fn sync(&self, ino: INodeNo, reply: ReplyEmpty) {
        let done = self.run(Weight::Syncs, |volume, lies| {
            let is_folder = matches!(volume.node(ino.0)?.kind, Kind::Folder(_));
            match lies {
                Lies::None => volume.sync(ino.0),
                Lies::Names if !is_folder => volume.sync(ino.0),
                _ => Ok(()),
            }
        });
        answer(done, reply);
    }
}

fn answer(done: Result<(), Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(e) => reply.error(e),
    }
}

fn entry(done: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match done {
        Ok(attr) => reply.entry(&TTL, &attr, Generation(0)),
        Err(e) => reply.error(e),
    }
}

impl Filesystem for Served {
    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let done = self.run(Weight::Reads, |volume, _| {
            let ino = volume.find(parent.0, name)?;
            attributes(volume, ino)
        });
        entry(done, reply);
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.run(Weight::Reads, |volume, _| attributes(volume, ino.0)) {
            Ok(attr) => reply.attr(&TTL, &attr),
            Err(e) => reply.error(e),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let weight = match size {
            Some(_) => Weight::Changes,
            None => Weight::Reads,
        };
        let done = self.run(weight, |volume, _| {
            let node = volume.node_mut(ino.0)?;
            node.mode = mode.map_or(node.mode, |m| (m & 0o7777) as u16);
            node.uid = uid.unwrap_or(node.uid);
            node.gid = gid.unwrap_or(node.gid);
            if let Some(len) = size {
                volume.file(ino.0)?.set_len(len);
            }
            attributes(volume, ino.0)
        });
        match done {
            Ok(attr) => reply.attr(&TTL, &attr),
            Err(e) => reply.error(e),
        }
    }

    fn mkdir(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let kind = Kind::Folder(Folder::default());
        entry(self.make(req, parent, name, mode & !umask, kind), reply);
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.run(Weight::Changes, |v, _| v.remove(parent.0, name, false));
        answer(done, reply);
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.run(Weight::Changes, |v, _| v.remove(parent.0, name, true));
        answer(done, reply);
    }

    fn rename(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if !flags.is_empty() {
            return reply.error(Errno::EINVAL);
        }
        let done = self.run(Weight::Changes, |volume, _| {
            volume.rename((parent.0, name), (newparent.0, newname))
        });
        answer(done, reply);
    }

    fn open(&self, _req: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.run(Weight::Reads, |volume, _| volume.node(ino.0).map(drop)) {
            Ok(()) => reply.opened(FileHandle(0), how_opened(flags.0)),
            Err(e) => reply.error(e),
        }
    }

    fn create(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let kind = Kind::File(Content::default());
        match self.make(req, parent, name, mode & !umask, kind) {
            Ok(attr) => reply.created(&TTL, &attr, Generation(0), FileHandle(0), how_opened(flags)),
            Err(e) => reply.error(e),
        }
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let done = self.run(Weight::Reads, |volume, _| {
            Ok(volume.file(ino.0)?.read(offset, u64::from(size)))
        });
        match done {
            Ok(bytes) => reply.data(&bytes),
            Err(e) => reply.error(e),
        }
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // O_SYNC has O_DSYNC's bit among its own.
        let synced = flags.0 & libc::O_DSYNC != 0;
        let weight = match synced {
            true => Weight::Syncs,
            false => Weight::Changes,
        };
        let done = self.run(weight, |volume, lies| {
            let file = volume.file(ino.0)?;
            file.write(offset, data);
            if synced && lies != Lies::All {
                file.sync();
            }
            Ok(())
        });
        match done {
            Ok(()) => reply.written(data.len() as u32),
            Err(e) => reply.error(e),
        }
    }

    fn flush(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn fsync(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, _data: bool, reply: ReplyEmpty) {
        self.sync(ino, reply);
    }

    fn fsyncdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _data: bool,
        reply: ReplyEmpty,
    ) {
        self.sync(ino, reply);
    }

    fn readdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let done = self.run(Weight::Reads, |volume, _| {
            let kind = |ino: Ino| match volume.node(ino).map(|n| &n.kind) {
                Ok(Kind::Folder(_)) => FileType::Directory,
                _ => FileType::RegularFile,
            };
            let own = [".", ".."].map(|name| (ino.0, OsString::from(name)));
            let names = volume.folder(ino.0)?.iter();
            let names = names.map(|(name, ino)| (*ino, name.clone()));
            let all = own.into_iter().chain(names);
            Ok(all
                .map(|(ino, name)| (ino, kind(ino), name))
                .collect::<Vec<_>>())
        });
        match done {
            Ok(names) => {
                for (n, (ino, kind, name)) in (1..).zip(names).skip(offset as usize) {
                    if reply.add(INodeNo(ino), n, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(e) => reply.error(e),
        }
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        match self.run(Weight::Reads, |volume, _| Ok(volume.blocks())) {
            Ok(used) => {
                let free = ROOM.saturating_sub(used);
                let size = BLOCK as u32;
                reply.statfs(ROOM, free, free, 1 << 20, 1 << 20, size, 255, size);
            }
            Err(e) => reply.error(e),
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if ![0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE].contains(&mode) {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let end = offset.saturating_add(length);
        let done = self.run(Weight::Changes, |volume, _| {
            let file = volume.file(ino.0)?;
            if mode & PUNCH_HOLE != 0 {
                file.punch(offset, end);
            } else if mode == 0 && end > file.len() {
                file.set_len(end);
            }
            Ok(())
        });
        answer(done, reply);
    }
}

/// A disk that is mounted; it is unmounted whatever happens.
#[derive(Debug)]
pub struct Mount {
    at: PathBuf,
    session: Option<BackgroundSession>,
}

impl Mount {
    /// Mounts a disk on a folder; the reason where this machine lets nobody do that.
    pub fn new(disk: &Disk, at: &Path) -> Outcome<Mount> {
        std::fs::create_dir_all(at).map_err(|e| format!("{}: {e}", at.display()))?;
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(NAME.to_owned()),
            MountOption::DefaultPermissions,
        ];
        let session = fuser::spawn_mount(Served(disk.clone()), at, &config)
            .map_err(|e| format!("mounting by FUSE on {}: {e}", at.display()))?;
        Ok(Mount {
            at: at.to_path_buf(),
            session: Some(session),
        })
    }

    /// Unmounts it and waits for the last operation. Nobody may have a file open.
    pub fn unmount(mut self) -> Outcome<()> {
        self.away()
    }

    fn away(&mut self) -> Outcome<()> {
        let Some(session) = self.session.take() else {
            return Ok(());
        };
        let begun = Instant::now();
        // What a process had open is closed a little after its end where the kernel does it for a ring.
        while let Err(why) = unmounted(&self.at, false) {
            if begun.elapsed() > Duration::from_secs(10) {
                // Nobody waits for the session then: it ends with the last file that is open.
                return unmounted(&self.at, true).and(Err(why));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // Not `umount_and_join`, which fails where it is unmounted already.
        session
            .join()
            .map_err(|e| format!("serving {}: {e}", self.at.display()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if let Err(why) = self.away() {
            println!("    {why}");
        }
    }
}

/// Unmounts, as root or by the program that does it for others; `lazily` also what is in use.
fn unmounted(at: &Path, lazily: bool) -> Outcome<()> {
    let said = step::must(Command::new("umount").args(lazily.then_some("-l")).arg(at));
    if said.is_ok() || runs_as_root() {
        return said.map(drop);
    }
    let how = if lazily { "-uz" } else { "-u" };
    step::must(Command::new("fusermount3").arg(how).arg(at)).map(drop)
}

/// Unmounts what a process that was killed has left mounted below `dir`.
pub fn unmount_left(dir: &Path) {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for at in ours(&mounts, dir) {
        // Where the process lives, the folder can be opened; where it does not, ENOTCONN comes (but not to stat, which the kernel answers).
        let served = std::fs::read_dir(at).is_ok();
        if !served && unmounted(at, true).is_ok() {
            println!("    unmounted what was left at {}", at.display());
        }
    }
}

/// The mounts of this kind below `dir`.
fn ours<'a>(mounts: &'a str, dir: &Path) -> Vec<&'a Path> {
    let ours = mounts.lines().filter_map(|line| {
        let (name, rest) = line.split_once(' ')?;
        let at = Path::new(rest.split(' ').next()?);
        (name == NAME && at.starts_with(dir)).then_some(at)
    });
    ours.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mounts_of_this_kind_in_this_place_are_looked_at() {
        let mounts = format!(
            "proc /proc proc rw 0 0\n{NAME} /t/xtask/power-cuts-7-0/disk fuse rw 0 0\n\
             {NAME} /u/xtask/power-cuts-7-0/disk fuse rw 0 0\n\
             other /t/xtask/power-cuts-7-1/disk fuse rw 0 0\n"
        );
        let found = ours(&mounts, Path::new("/t/xtask"));
        assert_eq!(found, [Path::new("/t/xtask/power-cuts-7-0/disk")]);
    }
}
