//! The transactions of connections as others see them (`information_schema.INNODB_TRX`).

use base::TxnId;
use engine::PreparedFact;
use types::Isolation;

use super::process::ProcessRow;

/// A connection's open transaction.
pub struct TransactionRow {
    /// Its number, once it has written or locked.
    pub txid: Option<TxnId>,
    /// When it began, in microseconds since 1970; that of a statement of its own, to the second.
    pub begun_us: i64,
    /// The connection, and what it is doing.
    pub process: ProcessRow,
    /// Its level.
    pub isolation: Isolation,
    /// It may not write.
    pub read_only: bool,
    /// Rows that it has written.
    pub changes: u64,
    /// It is prepared, and no connection's: `process` stands for none.
    pub prepared: bool,
    /// Locks that it has in the lock table, and what they take.
    pub locks: (u64, u64),
}

impl TransactionRow {
    /// One that is prepared.
    pub(super) fn prepared(p: PreparedFact, locks: (u64, u64)) -> TransactionRow {
        TransactionRow {
            txid: Some(p.txid),
            begun_us: p.begun_us,
            process: ProcessRow::nobody(),
            isolation: p.isolation,
            read_only: false,
            changes: p.changes,
            prepared: true,
            locks,
        }
    }

    /// What it is called: a transaction without a number is named by its connection, far above all numbers, as MySQL does it.
    pub fn number(&self) -> u64 {
        match self.txid {
            Some(t) => t.0,
            None => (1 << 48) + self.process.id,
        }
    }

    /// The running statement's text, as far as it is shown.
    pub fn statement(&self) -> Option<String> {
        self.process.info.as_deref().map(shown)
    }
}

/// Bytes of a statement that are shown.
const SHOWN: usize = 1024;

/// A statement's text for reports and for others to see. Statements that may hold a password are not shown: who reads a report is not who
/// wrote them.
pub(crate) fn shown(text: &[u8]) -> String {
    let words = text.split(|b| !b.is_ascii_alphanumeric() && *b != b'_');
    let mut words = words.filter(|w| !w.is_empty());
    let is = |w: &[u8], list: &[&str]| list.iter().any(|l| w.eq_ignore_ascii_case(l.as_bytes()));
    let on_rows = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "LOAD", "TABLE", "VALUES",
    ];
    let harmless = words.clone().next().is_none_or(|w| is(w, &on_rows));
    if !harmless && words.any(|w| is(w, &["IDENTIFIED", "PASSWORD"])) {
        return "<a statement that may hold a password>".to_owned();
    }
    let cut = text.len().min(SHOWN);
    String::from_utf8_lossy(&text[..cut]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn passwords_are_not_shown() {
        for text in [
            "CREATE USER a IDENTIFIED BY 'secret'",
            "/* x */ alter user a identified by 'secret'",
            "SET PASSWORD = 'secret'",
            "PREPARE s FROM 'CREATE USER a IDENTIFIED BY \'secret\''",
        ] {
            assert!(!shown(text.as_bytes()).contains("secret"), "{text}");
        }
        for text in ["UPDATE t SET password = 1", "BEGIN", "", "(SELECT 1)"] {
            assert_eq!(shown(text.as_bytes()), text);
        }
    }
}
