//! What the files are called: `BASE.000001` and on, `BASE.index` with their names, `BASE.state` with what makes it possible to go on.
//!
//! What it never does: open one.

use std::path::{Path, PathBuf};

/// The highest number of a file, as in MySQL.
pub const LAST_NUMBER: u32 = 0x7FFF_FFFF;
/// The name without number, where none is given.
const DEFAULT: &str = "binlog";

/// Where the files are, and what they are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    dir: PathBuf,
    base: String,
    index: PathBuf,
    /// What stands in front of a name in the index.
    prefix: String,
}

impl Names {
    /// As `--log-bin` and `--log-bin-index` say it, in the directory of the data where they do not say another. An extension is left out, as in
    /// MySQL. `None`: it is no name of a file.
    pub fn new(data: &Path, base: &str, index: &str) -> Option<Names> {
        let given = Path::new(match base {
            "" => DEFAULT,
            base => base,
        });
        let name = given.file_stem()?.to_str()?.to_owned();
        let parent = given.parent().unwrap_or(Path::new(""));
        let prefix = match parent.to_str()? {
            "" => "./".to_owned(),
            dir => format!("{dir}/"),
        };
        let dir = data.join(parent);
        let index = match index {
            "" => dir.join(format!("{name}.index")),
            index => data.join(index).with_extension("index"),
        };
        Some(Names {
            dir,
            base: name,
            index,
            prefix,
        })
    }

    /// The folder of the files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder of the index.
    pub fn index_dir(&self) -> &Path {
        self.index.parent().unwrap_or(&self.dir)
    }

    /// The file of names.
    pub fn index(&self) -> &Path {
        &self.index
    }

    /// The file of what makes it possible to go on.
    pub fn state(&self) -> PathBuf {
        self.dir.join(format!("{}.state", self.base))
    }

    /// The folder and the name of the files, without a number.
    pub fn basename(&self) -> PathBuf {
        self.dir.join(&self.base)
    }

    /// A file's name.
    pub fn name(&self, number: u32) -> String {
        format!("{}.{number:06}", self.base)
    }

    /// A file.
    pub fn path(&self, number: u32) -> PathBuf {
        self.dir.join(self.name(number))
    }

    /// A file by its name, with or without a folder.
    pub fn number(&self, name: &str) -> Option<u32> {
        let name = name.rsplit('/').next()?;
        let digits = name.strip_prefix(self.base.as_str())?.strip_prefix('.')?;
        let number = digits.parse().ok()?;
        // Each file has one name.
        (number <= LAST_NUMBER && self.name(number) == name).then_some(number)
    }

    /// The index of these files.
    pub fn write_index(&self, numbers: impl Iterator<Item = u32>) -> String {
        numbers
            .map(|n| format!("{}{}\n", self.prefix, self.name(n)))
            .collect()
    }

    /// The files of an index, in order; lines that name something else are left out.
    pub fn read_index(&self, text: &str) -> Vec<u32> {
        let mut numbers: Vec<u32> = text.lines().filter_map(|l| self.number(l.trim())).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        let n = Names::new(Path::new("/d"), "", "").unwrap();
        assert_eq!(n.path(7), Path::new("/d/binlog.000007"));
        assert_eq!(n.index(), Path::new("/d/binlog.index"));
        assert_eq!(n.name(1_234_567), "binlog.1234567");
        assert_eq!(n.number("./binlog.000007"), Some(7));
        for wrong in [
            "binlog.7",
            "binlog.",
            "other.000007",
            "binlog.0000007",
            "binlog.00000x",
            "binlog.+00007",
            "binlog.index",
            "binlog.99999999999",
            "",
        ] {
            assert_eq!(n.number(wrong), None, "{wrong}");
        }
        let n = Names::new(Path::new("/d"), "/logs/my.log", "names").unwrap();
        assert_eq!(n.path(7), Path::new("/logs/my.000007"));
        assert_eq!(n.index(), Path::new("/d/names.index"));
        assert_eq!(
            n.write_index([1, 2].into_iter()),
            "/logs/my.000001\n/logs/my.000002\n"
        );
        assert_eq!(n.read_index("/logs/my.000002\n./my.000001\nx\n"), [1, 2]);
        assert_eq!(Names::new(Path::new("/d"), "..", ""), None);
    }
}
