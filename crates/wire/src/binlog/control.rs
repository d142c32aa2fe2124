//! Events of few fields. Each has a function that appends its body and one that reads it.

use crate::error::ProtocolError;
use crate::read::{ReadResult, Reader};
use crate::write::Put;
use types::gtid::{Gtid, GtidSet, LAST, Sid};

/// Microseconds have 55 bits.
const MICROS: u64 = (1 << 55) - 1;
/// Behind the commit's time on the first server follows that on this one; likewise of the versions.
const TWO_TIMES: u64 = 1 << 55;
const TWO_VERSIONS: u32 = 1 << 31;
/// The logical clock is there.
const LOGICAL_CLOCK: u8 = 2;

/// The next event is in another file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotate<'a> {
    /// The file.
    pub file: &'a [u8],
    /// Where in it.
    pub position: u64,
}

impl<'a> Rotate<'a> {
    /// Appends the body.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u64(self.position);
        out.put_bytes(self.file);
    }

    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early.
    pub fn read(body: &'a [u8]) -> ReadResult<Rotate<'a>> {
        let mut r = Reader::new(body);
        let position = r.u64()?;
        let file = r.take_rest();
        Ok(Rotate { file, position })
    }
}

/// What a transaction is called, and what it depends on. Its event stands in front of the transaction's others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    /// Its name; `None`: anonymous.
    pub gtid: Option<Gtid>,
    /// It may have events with statements.
    pub statements: bool,
    /// It depends on no transaction of the same file behind this one; 0: on none.
    pub last_committed: i64,
    /// Its place in the file, from 1 on.
    pub sequence_number: i64,
    /// When it was committed first, in microseconds since 1970; 0 where the server is older than that.
    pub original_commit_micros: u64,
    /// When it was committed on the server that sends it.
    pub immediate_commit_micros: u64,
    /// Bytes of all its events, this one included; 0 where the server is older than that.
    pub length: u64,
    /// The version of the server where it was committed first, such as 80035; 999999 where that is not known.
    pub original_version: u32,
    /// That of the server that sends it.
    pub immediate_version: u32,
}

impl Transaction {
    /// Appends the body of GTID and of ANONYMOUS_GTID.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.put_u8(u8::from(self.statements));
        let (sid, number) = self.gtid.map_or((Sid::default(), 0), |g| (g.sid, g.number));
        out.put_bytes(&sid.0);
        out.put_u64(number);
        out.put_u8(LOGICAL_CLOCK);
        out.put_u64(self.last_committed as u64);
        out.put_u64(self.sequence_number as u64);
        let (immediate, original) = (self.immediate_commit_micros, self.original_commit_micros);
        let mut micros = |n: u64| out.extend_from_slice(&n.to_le_bytes()[..7]);
        if immediate == original {
            micros(immediate & MICROS);
        } else {
            micros(immediate & MICROS | TWO_TIMES);
            micros(original & MICROS);
        }
        out.put_lenenc_int(self.length);
        if self.immediate_version == self.original_version {
            out.put_u32(self.immediate_version & !TWO_VERSIONS);
        } else {
            out.put_u32(self.immediate_version | TWO_VERSIONS);
            out.put_u32(self.original_version);
        }
    }

    /// Reads the body; `anonymous`: of ANONYMOUS_GTID.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or its number cannot be one.
    pub fn read(body: &[u8], anonymous: bool) -> ReadResult<Transaction> {
        let mut r = Reader::new(body);
        let statements = r.u8()? & 1 != 0;
        let sid = Sid(r.array()?);
        let number = r.u64()?;
        let gtid = match anonymous {
            true => None,
            false if (1..=LAST).contains(&number) => Some(Gtid { sid, number }),
            false => return Err(ProtocolError::Malformed),
        };
        let mut t = Transaction {
            gtid,
            statements,
            last_committed: 0,
            sequence_number: 0,
            original_commit_micros: 0,
            immediate_commit_micros: 0,
            length: 0,
            original_version: 999_999,
            immediate_version: 999_999,
        };
        if r.is_empty() || r.u8()? != LOGICAL_CLOCK {
            return Ok(t);
        }
        t.last_committed = r.u64()? as i64;
        t.sequence_number = r.u64()? as i64;
        if r.is_empty() {
            return Ok(t);
        }
        let mut micros = || -> ReadResult<u64> {
            let low = r.u32()?;
            Ok(u64::from(low) | u64::from(r.u24()?) << 32)
        };
        let immediate = micros()?;
        t.immediate_commit_micros = immediate & MICROS;
        t.original_commit_micros = match immediate & TWO_TIMES != 0 {
            true => micros()? & MICROS,
            false => immediate & MICROS,
        };
        if r.is_empty() {
            return Ok(t);
        }
        t.length = r.lenenc_int()?;
        if r.is_empty() {
            return Ok(t);
        }
        let immediate = r.u32()?;
        t.immediate_version = immediate & !TWO_VERSIONS;
        t.original_version = match immediate & TWO_VERSIONS != 0 {
            true => r.u32()?,
            false => immediate,
        };
        Ok(t)
    }
}

/// Reads the body of PREVIOUS_GTIDS, which is that of [`GtidSet::encode`]: what all files before this one have.
///
/// # Errors
/// [`ProtocolError::Malformed`]: it is no set.
pub fn read_previous_gtids(body: &[u8]) -> ReadResult<GtidSet> {
    GtidSet::decode(body).ok_or(ProtocolError::Malformed)
}

/// Reads the body of XID: the number of the transaction that commits here.
///
/// # Errors
/// [`ProtocolError::Malformed`]: it ends early.
pub fn read_xid(body: &[u8]) -> ReadResult<u64> {
    Reader::new(body).u64()
}

/// Appends the body of ROWS_QUERY: the statement whose rows follow.
pub fn put_rows_query(statement: &[u8], out: &mut Vec<u8>) {
    // A length in one byte that no reader heeds.
    out.put_u8(statement.len().min(255) as u8);
    out.put_bytes(statement);
}

/// Reads it.
///
/// # Errors
/// [`ProtocolError::Malformed`]: it ends early.
pub fn read_rows_query(body: &[u8]) -> ReadResult<&[u8]> {
    let mut r = Reader::new(body);
    r.u8()?;
    Ok(r.take_rest())
}

/// Nothing has happened for a while; the source is there, and has come so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// The file that the source sends from.
    pub file: &'a [u8],
    /// Where in it, where that does not fit the header; 0: it is in the header.
    pub position: u64,
}

impl<'a> Heartbeat<'a> {
    /// Appends the body of HEARTBEAT_V2.
    pub fn write_v2(&self, out: &mut Vec<u8>) {
        out.put_u8(1);
        out.put_lenenc_bytes(self.file);
        if self.position != 0 {
            let mut position = Vec::with_capacity(9);
            position.put_lenenc_int(self.position);
            out.put_u8(2);
            out.put_lenenc_bytes(&position);
        }
        out.put_u8(0);
    }

    /// Reads the body of HEARTBEAT, which is the name of the file alone, or with `v2` that of HEARTBEAT_V2.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early.
    pub fn read(body: &'a [u8], v2: bool) -> ReadResult<Heartbeat<'a>> {
        let mut h = Heartbeat {
            file: body,
            position: 0,
        };
        if !v2 {
            return Ok(h);
        }
        h.file = &[];
        let mut r = Reader::new(body);
        while !r.is_empty() {
            match r.u8()? {
                0 => break,
                1 => h.file = r.lenenc_bytes()?,
                2 => h.position = Reader::new(r.lenenc_bytes()?).lenenc_int()?,
                _ => {
                    r.lenenc_bytes()?;
                }
            }
        }
        Ok(h)
    }
}

/// A value that the next statement uses.
#[derive(Debug, Clone, PartialEq)]
pub enum Context<'a> {
    /// LAST_INSERT_ID().
    LastInsertId(u64),
    /// The first generated value of an AUTO_INCREMENT column.
    InsertId(u64),
    /// The seeds of RAND().
    Rand(u64, u64),
    /// A user variable.
    Variable {
        /// Without `@`.
        name: &'a [u8],
        /// NULL, or what it is.
        value: Option<VariableValue<'a>>,
    },
}

/// What a user variable is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VariableValue<'a> {
    /// A text in the character set of this collation.
    Text(&'a [u8], u32),
    /// A DOUBLE.
    Real(f64),
    /// A BIGINT.
    Int(i64),
    /// A BIGINT UNSIGNED.
    UInt(u64),
    /// A DECIMAL: precision, scale and its digits in the form of [`super::column`].
    Decimal(&'a [u8]),
}

impl<'a> Context<'a> {
    /// Reads the body of INTVAR.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or is of no kind that is known.
    pub fn read_intvar(body: &'a [u8]) -> ReadResult<Context<'a>> {
        let mut r = Reader::new(body);
        match (r.u8()?, r.u64()?) {
            (1, id) => Ok(Context::LastInsertId(id)),
            (2, id) => Ok(Context::InsertId(id)),
            _ => Err(ProtocolError::Malformed),
        }
    }

    /// Reads the body of RAND.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early.
    pub fn read_rand(body: &'a [u8]) -> ReadResult<Context<'a>> {
        let mut r = Reader::new(body);
        Ok(Context::Rand(r.u64()?, r.u64()?))
    }

    /// Reads the body of USER_VAR.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or its value is of no type that is known.
    pub fn read_variable(body: &'a [u8]) -> ReadResult<Context<'a>> {
        let mut r = Reader::new(body);
        let length = r.u32()? as usize;
        let name = r.read_bytes(length)?;
        if r.u8()? != 0 {
            return Ok(Context::Variable { name, value: None });
        }
        let (kind, collation, length) = (r.u8()?, r.u32()?, r.u32()? as usize);
        let bytes = r.read_bytes(length)?;
        let unsigned = !r.is_empty() && r.u8()? & 1 != 0;
        let mut of = Reader::new(bytes);
        let value = match kind {
            0 => VariableValue::Text(bytes, collation),
            1 => VariableValue::Real(f64::from_bits(of.u64()?)),
            2 if unsigned => VariableValue::UInt(of.u64()?),
            2 => VariableValue::Int(of.u64()? as i64),
            4 => VariableValue::Decimal(bytes),
            _ => return Err(ProtocolError::Malformed),
        };
        let value = Some(value);
        Ok(Context::Variable { name, value })
    }

    /// Appends the body of its event: INTVAR, RAND or USER_VAR.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Context::LastInsertId(id) => {
                out.put_u8(1);
                out.put_u64(id);
            }
            Context::InsertId(id) => {
                out.put_u8(2);
                out.put_u64(id);
            }
            Context::Rand(a, b) => {
                out.put_u64(a);
                out.put_u64(b);
            }
            Context::Variable { name, value } => {
                out.put_u32(name.len() as u32);
                out.put_bytes(name);
                out.put_u8(u8::from(value.is_none()));
                if let Some(value) = value {
                    value.write(out);
                }
            }
        }
    }
}

impl VariableValue<'_> {
    fn write(self, out: &mut Vec<u8>) {
        /// The collation of what is no text: binary.
        const NO_TEXT: u32 = 63;
        let eight = |v: u64| v.to_le_bytes();
        let (kind, collation, bytes, unsigned) = match self {
            VariableValue::Text(bytes, collation) => (0, collation, bytes, 0),
            VariableValue::Real(v) => (1, NO_TEXT, &eight(v.to_bits())[..], 0),
            VariableValue::Int(v) => (2, NO_TEXT, &eight(v as u64)[..], 0),
            VariableValue::UInt(v) => (2, NO_TEXT, &eight(v)[..], 1),
            VariableValue::Decimal(bytes) => (4, NO_TEXT, bytes, 0),
        };
        out.put_u8(kind);
        out.put_u32(collation);
        out.put_u32(bytes.len() as u32);
        out.put_bytes(bytes);
        out.put_u8(unsigned);
    }
}

/// A transaction's name as MariaDB writes it: its event opens the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MariaGtid<'a> {
    /// Its number among those of the domain.
    pub sequence: u64,
    /// The domain.
    pub domain: u32,
    /// A statement of its own: no commit follows.
    pub standalone: bool,
    /// It can be taken back.
    pub transactional: bool,
    /// It is a change of definitions.
    pub ddl: bool,
    /// Transactions of one group committed together.
    pub group: Option<u64>,
    /// It is a part of a distributed transaction: of which, and whether it is what is prepared, and not its end.
    pub branch: Option<(BranchName<'a>, bool)>,
}

/// The name of a branch of a distributed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchName<'a> {
    /// How its maker reads the parts.
    pub format: u32,
    /// The global transaction.
    pub gtrid: &'a [u8],
    /// The branch.
    pub bqual: &'a [u8],
}

/// The end of a branch's changes: with it they are prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XaPrepare<'a> {
    /// It is committed with it (`XA COMMIT .. ONE PHASE`).
    pub one_phase: bool,
    /// Of which branch.
    pub name: BranchName<'a>,
}

/// Bytes of either part of a branch's name, at most.
const BRANCH_PART_MAX: u32 = 64;

impl<'a> XaPrepare<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early, or the name is too long.
    pub fn read(body: &'a [u8]) -> ReadResult<XaPrepare<'a>> {
        let mut r = Reader::new(body);
        let one_phase = r.u8()? != 0;
        let (format, gtrid, bqual) = (r.u32()?, r.u32()?, r.u32()?);
        if gtrid > BRANCH_PART_MAX || bqual > BRANCH_PART_MAX {
            return Err(ProtocolError::Malformed);
        }
        let name = BranchName {
            format,
            gtrid: r.read_bytes(gtrid as usize)?,
            bqual: r.read_bytes(bqual as usize)?,
        };
        Ok(XaPrepare { one_phase, name })
    }

    /// Appends the body.
    pub fn write(&self, out: &mut Vec<u8>) {
        let name = &self.name;
        out.put_u8(u8::from(self.one_phase));
        out.put_u32(name.format);
        out.put_u32(name.gtrid.len() as u32);
        out.put_u32(name.bqual.len() as u32);
        out.put_bytes(name.gtrid);
        out.put_bytes(name.bqual);
    }
}

impl<'a> MariaGtid<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ProtocolError::Malformed`]: it ends early.
    pub fn read(body: &'a [u8]) -> ReadResult<MariaGtid<'a>> {
        const PREPARED: u8 = 0x40;
        const COMPLETED: u8 = 0x80;
        let mut r = Reader::new(body);
        let (sequence, domain, flags) = (r.u64()?, r.u32()?, r.u8()?);
        let group = match flags & 2 != 0 {
            true => Some(r.u64()?),
            false => None,
        };
        let branch = match flags & (PREPARED | COMPLETED) {
            0 => None,
            of => {
                let (format, gtrid, bqual) = (r.u32()?, r.u8()?, r.u8()?);
                let name = BranchName {
                    format,
                    gtrid: r.read_bytes(gtrid.into())?,
                    bqual: r.read_bytes(bqual.into())?,
                };
                Some((name, of & PREPARED != 0))
            }
        };
        Ok(MariaGtid {
            sequence,
            domain,
            standalone: flags & 1 != 0,
            transactional: flags & 4 != 0,
            ddl: flags & 0x20 != 0,
            group,
            branch,
        })
    }
}

/// Reads the body of MariaDB's list of GTIDs: domain, server, sequence number of each.
///
/// # Errors
/// [`ProtocolError::Malformed`]: it ends early.
pub fn read_maria_gtid_list(body: &[u8]) -> ReadResult<Vec<(u32, u32, u64)>> {
    let mut r = Reader::new(body);
    let n = r.u32()? & 0x0FFF_FFFF;
    let mut list = Vec::new();
    for _ in 0..n {
        list.push((r.u32()?, r.u32()?, r.u64()?));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn transaction() -> Transaction {
        Transaction {
            gtid: Some(Gtid {
                sid: Sid([7; 16]),
                number: 5,
            }),
            statements: true,
            last_committed: 3,
            sequence_number: 4,
            original_commit_micros: 1_700_000_000_000_000,
            immediate_commit_micros: 1_700_000_000_000_000,
            length: 300,
            original_version: 80035,
            immediate_version: 80035,
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let one = transaction();
        let two = Transaction {
            original_commit_micros: 5,
            original_version: 80011,
            ..one
        };
        for (t, len) in [(one, 42 + 7 + 3 + 4), (two, 42 + 14 + 3 + 8)] {
            let mut body = Vec::new();
            t.write(&mut body);
            assert_eq!(body.len(), len);
            assert_eq!(Transaction::read(&body, false), Ok(t));
            for cut in 0..17 {
                assert!(Transaction::read(&body[..cut], false).is_err());
            }
        }
        let anonymous = Transaction { gtid: None, ..one };
        let mut body = Vec::new();
        anonymous.write(&mut body);
        assert_eq!(Transaction::read(&body, true), Ok(anonymous));
        assert!(Transaction::read(&body, false).is_err(), "number 0");

        let mut body = Vec::new();
        let h = Heartbeat {
            file: b"binlog.000002",
            position: 1 << 40,
        };
        h.write_v2(&mut body);
        assert_eq!(Heartbeat::read(&body, true), Ok(h));
        let plain = Heartbeat::read(b"binlog.000002", false).unwrap();
        assert_eq!(plain.file, b"binlog.000002");

        let mut body = Vec::new();
        put_rows_query(b"INSERT INTO t VALUES (1)", &mut body);
        assert_eq!(read_rows_query(&body), Ok(&b"INSERT INTO t VALUES (1)"[..]));
    }

    #[test]
    fn what_a_statement_uses() {
        let name = &b"a"[..];
        let variable = |value| Context::Variable { name, value };
        for (context, kind) in [
            (Context::LastInsertId(7), 0),
            (Context::InsertId(9), 0),
            (Context::Rand(1, 2), 1),
            (variable(None), 2),
            (variable(Some(VariableValue::Text(b"x", 255))), 2),
            (variable(Some(VariableValue::Real(1.5))), 2),
            (variable(Some(VariableValue::Int(-1))), 2),
            (variable(Some(VariableValue::UInt(u64::MAX))), 2),
            (variable(Some(VariableValue::Decimal(&[3, 1, 0x80, 5]))), 2),
        ] {
            let mut body = Vec::new();
            context.write(&mut body);
            let read = match kind {
                0 => Context::read_intvar(&body),
                1 => Context::read_rand(&body),
                _ => Context::read_variable(&body),
            };
            assert_eq!(read, Ok(context));
        }
    }

    proptest! {
        #![proptest_config(base::seeded!())]

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let _ = Rotate::read(&bytes);
            let _ = Transaction::read(&bytes, bytes.len() % 2 == 0);
            let _ = read_previous_gtids(&bytes);
            let _ = read_xid(&bytes);
            let _ = read_rows_query(&bytes);
            let _ = Heartbeat::read(&bytes, true);
            let _ = Context::read_intvar(&bytes);
            let _ = Context::read_rand(&bytes);
            let _ = Context::read_variable(&bytes);
            let _ = MariaGtid::read(&bytes);
            let _ = XaPrepare::read(&bytes);
            let _ = read_maria_gtid_list(&bytes);
        }
    }
}
