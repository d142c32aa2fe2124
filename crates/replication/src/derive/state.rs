//! What has to be known to go on making files where somebody has stopped.
//!
//! ```text
//! magic u64 | crc32c u32 of what follows | settings | file, position, resume, phase .. | executed | purged | dependencies
//! ```

use super::dependencies::Dependencies;
use base::Lsn;
use base::checksum::crc32c;
use types::gtid::{Gtid, GtidSet, Sid};
use wire::ProtocolError;
use wire::binlog::frame::Checksum;
use wire::read::{ReadResult, Reader};
use wire::write::Put;

/// The first bytes; the last is the version of the format.
const MAGIC: [u8; 8] = *b"TMBINST\x01";

/// What is set from outside, and decides bytes. Another setting is in force from a durable state on, never from somewhere between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The number of this server.
    pub server_id: u32,
    /// Its name in its own transactions'.
    pub sid: Sid,
    /// Its version, such as 80035.
    pub version: u32,
    /// Its version as text.
    pub version_text: String,
    /// What stands behind each event.
    pub checksum: Checksum,
    /// Which transactions have names (`gtid_mode`).
    pub names: Naming,
    /// A file that has so many bytes is followed by the next.
    pub max_size: u64,
    /// So many keys are kept in mind.
    pub history: u32,
}

/// Which transactions have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// None.
    None,
    /// Those that were given one, by another server or by a client (OFF_PERMISSIVE).
    Given,
    /// All that are not to have none (ON_PERMISSIVE and ON).
    All,
}

/// What was begun and has to be ended after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The file is being written.
    #[default]
    Open,
    /// The file has its last event: the next one is to be made.
    Stopped,
    /// All files are to be removed, and the first to be made anew.
    Reset,
}

/// All that decides what comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Set from outside.
    pub settings: Settings,
    /// The number of the file that is being written.
    pub file: u32,
    /// Bytes of it.
    pub position: u64,
    /// The number of the first file that is kept.
    pub first: u32,
    /// The log is to be read from here on.
    pub resume: Lsn,
    /// What was committed up to here is in files.
    pub done: Lsn,
    /// What is left to do.
    pub phase: Phase,
    /// The time of the last event, in seconds since 1970.
    pub seconds: u32,
    /// All transactions, those of files that are gone included.
    pub executed: GtidSet,
    /// Transactions that never were in a file here.
    pub purged: GtidSet,
    /// Who has changed what in this file.
    pub dependencies: Dependencies,
}

impl State {
    /// In front of the first file.
    pub fn new(settings: Settings, resume: Lsn) -> State {
        State {
            settings,
            file: 0,
            position: 0,
            first: 1,
            resume,
            done: Lsn::NONE,
            phase: Phase::Stopped,
            seconds: 0,
            executed: GtidSet::new(),
            purged: GtidSet::new(),
            dependencies: Dependencies::default(),
        }
    }

    /// What the next transaction is called, which has `foreign` as its name where another server has given it one.
    pub fn name(&self, foreign: Option<Gtid>) -> Option<Gtid> {
        if self.settings.names == Naming::None {
            return None;
        }
        // A name that is taken would make others leave the transaction out.
        if let Some(gtid) = foreign.filter(|g| !self.executed.has(*g)) {
            return Some(gtid);
        }
        if foreign.is_none() && self.settings.names == Naming::Given {
            return None;
        }
        let sid = self.settings.sid;
        let number = self.executed.next_free(sid);
        Some(Gtid { sid, number })
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_bytes(&MAGIC);
        out.put_u32(0);
        let s = &self.settings;
        out.put_u32(s.server_id);
        out.put_bytes(&s.sid.0);
        out.put_u32(s.version);
        out.put_lenenc_bytes(s.version_text.as_bytes());
        out.put_u8(s.checksum.code());
        out.put_u8(match s.names {
            Naming::None => 0,
            Naming::All => 1,
            Naming::Given => 2,
        });
        out.put_u64(s.max_size);
        out.put_u32(s.history);
        out.put_u32(self.file);
        out.put_u64(self.position);
        out.put_u32(self.first);
        out.put_u64(self.resume.0);
        out.put_u64(self.done.0);
        out.put_u8(match self.phase {
            Phase::Open => 0,
            Phase::Stopped => 1,
            Phase::Reset => 2,
        });
        out.put_u32(self.seconds);
        for set in [&self.executed, &self.purged] {
            let mut bytes = Vec::new();
            set.encode(&mut bytes);
            out.put_lenenc_bytes(&bytes);
        }
        self.dependencies.write(&mut out);
        let sum = crc32c(&out[12..]);
        out[8..12].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it is damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> ReadResult<State> {
        let mut r = Reader::new(bytes);
        let (magic, sum): ([u8; 8], u32) = (r.array()?, r.u32()?);
        if magic != MAGIC || sum != crc32c(&bytes[12..]) {
            return Err(ProtocolError::Malformed);
        }
        let settings = Settings {
            server_id: r.u32()?,
            sid: Sid(r.array()?),
            version: r.u32()?,
            version_text: String::from_utf8_lossy(r.lenenc_bytes()?).into_owned(),
            checksum: Checksum::by_code(r.u8()?).ok_or(ProtocolError::Malformed)?,
            names: match r.u8()? {
                0 => Naming::None,
                2 => Naming::Given,
                _ => Naming::All,
            },
            max_size: r.u64()?,
            history: r.u32()?,
        };
        let (file, position, first) = (r.u32()?, r.u64()?, r.u32()?);
        let (resume, done) = (Lsn(r.u64()?), Lsn(r.u64()?));
        let phase = match r.u8()? {
            0 => Phase::Open,
            1 => Phase::Stopped,
            2 => Phase::Reset,
            _ => return Err(ProtocolError::Malformed),
        };
        let seconds = r.u32()?;
        let mut set = || GtidSet::decode(r.lenenc_bytes()?).ok_or(ProtocolError::Malformed);
        let (executed, purged) = (set()?, set()?);
        let dependencies = Dependencies::read(&mut r)?;
        match r.is_empty() {
            true => Ok(State {
                settings,
                file,
                position,
                first,
                resume,
                done,
                phase,
                seconds,
                executed,
                purged,
                dependencies,
            }),
            false => Err(ProtocolError::Malformed),
        }
    }
}
