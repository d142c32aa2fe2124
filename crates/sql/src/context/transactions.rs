//! The transactions of connections as others see them (`information_schema.INNODB_TRX`).

use base::TxnId;
use types::Isolation;

use super::instance::Instance;
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
    /// Locks that it has in the lock table, and what they take.
    pub locks: (u64, u64),
}

impl Instance {
    /// The open transactions of all connections, by connection.
    pub(crate) fn transactions(&self) -> Vec<TransactionRow> {
        self.transactions_where(|_| true)
    }

    /// Those of them whose numbers are wanted.
    pub(crate) fn transactions_where(
        &self,
        wanted: impl Fn(Option<TxnId>) -> bool,
    ) -> Vec<TransactionRow> {
        let (now, wall) = (self.now_us(), self.wall_us());
        let open = self.processes.all().into_iter().filter_map(|p| {
            let standing = &p.interrupt().standing;
            let (txid, begun) = (p.interrupt().txid(), standing.begun_us());
            if txid.is_none() && begun.is_none() || !wanted(txid) {
                return None;
            }
            let process = p.row(now);
            Some(TransactionRow {
                txid,
                begun_us: begun.unwrap_or(wall - process.seconds as i64 * 1_000_000),
                process,
                isolation: standing.isolation(),
                read_only: standing.is_read_only(),
                changes: standing.changes(),
                locks: txid.map_or((0, 0), |t| self.engine.locks().figures_of(t)),
            })
        });
        open.collect()
    }
}

impl TransactionRow {
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
