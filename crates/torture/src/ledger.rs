//! A client that writes down what the server promised, and later holds the server to it.
//!
//! Every transaction has a number and writes several rows that carry it: transfers between accounts whose sum is
//! zero, the journal rows that explain them, now and then a long text, now and then the exact undoing of an
//! earlier transaction. What a transaction must have written is a function of its number (and of the one it
//! undoes), so the book outside of the server holds no more than one outcome per transaction. After a crash:
//!
//! - an acknowledged transaction is there, every row and byte of it;
//! - one that was rolled back, or that the server refused, is not there;
//! - one whose answer never came is there entirely or not at all, and from then on its outcome is fixed;
//! - each account's balance and count of moves is what the journal says, so nothing was applied twice or in part.

use harness::client::{Conn, Fault};
use harness::queries;
use harness::rng::Rng;
use harness::server::Setup;
use harness::step::Outcome;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};

/// The database the ledger lives in.
const DATABASE: &str = "ledger";

/// Its tables.
const TABLES: &[&str] = &["account", "journal"];

const ACCOUNTS: u64 = 512;
const OPENING_BALANCE: i64 = 1_000_000;

/// A transaction's number: the client in the upper half, a count in the lower.
pub type Txn = u64;

fn number(client: u32, count: u32) -> Txn {
    (u64::from(client) << 32) | u64::from(count)
}

/// One journal row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    account: u64,
    delta: i64,
    pad: String,
}

/// What a transaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// Moves money between accounts, as [`transfer_rows`] says.
    Transfer,
    /// Removes the journal rows of an earlier transfer and gives the money back.
    Undo(Txn),
}

/// What became of a transaction, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxnOutcome {
    /// The server acknowledged the commit: its rows must be there.
    There,
    /// Rolled back, refused, undone, or found absent after a crash: no row may be there.
    Absent,
    /// The answer to the commit never came.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    deed: Deed,
    outcome: TxnOutcome,
}

/// The rows that transfer `txn` of the run with this seed writes, accounts ascending, sum zero.
fn transfer_rows(seed: u64, txn: Txn) -> Vec<Row> {
    let mut rng = Rng::new(seed ^ txn.wrapping_mul(0xd6e8_feb8_6659_fd93));
    let parts = 2 + rng.below(4) as usize;
    let mut accounts: Vec<u64> = Vec::with_capacity(parts);
    while accounts.len() < parts {
        let account = rng.below(ACCOUNTS);
        if !accounts.contains(&account) {
            accounts.push(account);
        }
    }
    accounts.sort_unstable();
    let mut rest = 0;
    let mut rows: Vec<Row> = accounts
        .into_iter()
        .map(|account| {
            let delta = rng.below(200) as i64 - 100;
            rest -= delta;
            let pad = pad(&mut rng);
            Row {
                account,
                delta,
                pad,
            }
        })
        .collect();
    if let Some(last) = rows.last_mut() {
        last.delta += rest;
    }
    rows
}

/// Mostly a short text; one in 400 is longer than a page.
fn pad(rng: &mut Rng) -> String {
    let len = if rng.one_in(400) {
        17_000 + rng.below(20_000)
    } else {
        rng.below(60)
    };
    let mut text = String::with_capacity(len as usize + 16);
    while text.len() < len as usize {
        text.push_str(&format!("{:016x}", rng.next_u64()));
    }
    text.truncate(len as usize);
    text
}

/// The rows that must be there if the transaction is.
fn rows_of(seed: u64, txn: Txn, deed: Deed) -> Vec<Row> {
    match deed {
        Deed::Transfer => transfer_rows(seed, txn),
        Deed::Undo(victim) => vec![Row {
            account: transfer_rows(seed, victim)[0].account,
            delta: 0,
            pad: format!("undoes {victim}"),
        }],
    }
}

/// One connection's part of the book.
#[derive(Debug)]
pub struct Client {
    id: u32,
    seed: u64,
    next: u32,
    rng: Rng,
    entries: BTreeMap<Txn, Entry>,
    /// Own transfers that are there and not undone.
    standing: Vec<Txn>,
}

/// How a client's run ended, apart from the server going away.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    /// Commits acknowledged.
    pub acknowledged: u64,
    /// Transactions the server refused with a conflict, or the client rolled back on purpose.
    pub refused: u64,
    /// Commits without an answer.
    pub unknown: u64,
}

/// Errors after which a client tries something else: deadlock, lock wait timeout, changed since the snapshot.
const CONFLICTS: &[u16] = &[1213, 1205, 1020];

impl Client {
    fn new(seed: u64, id: u32) -> Client {
        Client {
            id,
            seed,
            next: 1,
            rng: Rng::new(seed ^ (u64::from(id) << 48) ^ 0xc11e),
            entries: BTreeMap::new(),
            standing: Vec::new(),
        }
    }

    /// Writes until the connection is lost or `stop` is set; an error is one that a client must never see.
    pub fn write(&mut self, setup: &Setup, stop: &AtomicBool) -> Outcome<Tally> {
        let mut tally = Tally::default();
        let opened = setup.connect();
        let Ok(mut conn) = opened else {
            return Ok(tally);
        };
        match conn.run(&format!("USE {DATABASE}")) {
            Ok(_) => {}
            Err(Fault::Server { code, text, .. }) => return Err(format!("USE: {code} {text}")),
            Err(_) => return Ok(tally),
        }
        while !stop.load(Ordering::Relaxed) {
            let txn = number(self.id, self.next);
            self.next += 1;
            let deed = if self.rng.one_in(8) && !self.standing.is_empty() {
                let n = self.rng.below(self.standing.len() as u64) as usize;
                Deed::Undo(self.standing[n])
            } else {
                Deed::Transfer
            };
            let give_up = self.rng.one_in(16);
            match self.attempt(conn.as_mut(), txn, deed, give_up) {
                Ok(()) if give_up => {
                    tally.refused += 1;
                    self.record(txn, deed, TxnOutcome::Absent);
                }
                Ok(()) => {
                    tally.acknowledged += 1;
                    self.record(txn, deed, TxnOutcome::There);
                }
                Err((Fault::Server { code, .. }, _)) if CONFLICTS.contains(&code) => {
                    tally.refused += 1;
                    self.record(txn, deed, TxnOutcome::Absent);
                    if conn.run("ROLLBACK").is_err() {
                        return Ok(tally);
                    }
                }
                Err((Fault::Lost(_) | Fault::Waiting, committing)) => {
                    tally.unknown += u64::from(committing);
                    let outcome = if committing {
                        TxnOutcome::Unknown
                    } else {
                        TxnOutcome::Absent
                    };
                    self.record(txn, deed, outcome);
                    return Ok(tally);
                }
                Err((fault, _)) => return Err(format!("transaction {txn} {deed:?}: {fault}")),
            }
        }
        Ok(tally)
    }

    /// Sends one transaction; on a fault, also whether its commit was already on the way.
    fn attempt(
        &self,
        conn: &mut dyn Conn,
        txn: Txn,
        deed: Deed,
        give_up: bool,
    ) -> Result<(), (Fault, bool)> {
        let before_commit = |fault| (fault, false);
        conn.run("BEGIN").map_err(before_commit)?;
        for sql in self.statements(txn, deed) {
            conn.run(&sql).map_err(before_commit)?;
        }
        if give_up {
            conn.run("ROLLBACK").map_err(before_commit)?;
            return Ok(());
        }
        conn.run("COMMIT").map(drop).map_err(|fault| (fault, true))
    }

    fn statements(&self, txn: Txn, deed: Deed) -> Vec<String> {
        let mut moves: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        let mut statements = Vec::new();
        let rows = rows_of(self.seed, txn, deed);
        for row in &rows {
            let entry = moves.entry(row.account).or_default();
            entry.0 += row.delta;
            entry.1 += 1;
        }
        if let Deed::Undo(victim) = deed {
            for row in transfer_rows(self.seed, victim) {
                let entry = moves.entry(row.account).or_default();
                entry.0 -= row.delta;
                entry.1 -= 1;
            }
        }
        // Ascending accounts: clients of the ledger do not deadlock among themselves.
        for (account, (delta, count)) in moves {
            statements.push(format!(
                "UPDATE account SET balance = balance + ({delta}), moves = moves + ({count}) \
                 WHERE id = {account}"
            ));
        }
        if let Deed::Undo(victim) = deed {
            statements.push(format!("DELETE FROM journal WHERE txn = {victim}"));
        }
        let values: Vec<String> = rows
            .iter()
            .enumerate()
            .map(|(part, row)| {
                format!(
                    "({txn}, {part}, {}, {}, '{}')",
                    row.account, row.delta, row.pad
                )
            })
            .collect();
        statements.push(format!(
            "INSERT INTO journal (txn, part, account, delta, pad) VALUES {}",
            values.join(", ")
        ));
        statements
    }

    /// Writes down what became of `txn`.
    fn record(&mut self, txn: Txn, deed: Deed, outcome: TxnOutcome) {
        self.entries.insert(txn, Entry { deed, outcome });
        match (deed, outcome) {
            (Deed::Transfer, TxnOutcome::There) => self.standing.push(txn),
            (Deed::Undo(victim), TxnOutcome::There | TxnOutcome::Unknown) => {
                self.standing.retain(|t| *t != victim);
                if let Some(entry) = self.entries.get_mut(&victim) {
                    entry.outcome = if outcome == TxnOutcome::There {
                        TxnOutcome::Absent
                    } else {
                        TxnOutcome::Unknown
                    };
                }
            }
            _ => {}
        }
    }

    /// Compares the journal rows of this client with its part of the book, and fixes the outcomes left open.
    fn verify(&mut self, found: &BTreeMap<Txn, Vec<(u64, Row)>>) -> Outcome<()> {
        for (txn, rows) in found {
            let entry = self
                .entries
                .get(txn)
                .ok_or_else(|| format!("transaction {txn} is there, but was never begun"))?;
            let expected: Vec<(u64, Row)> =
                (0..).zip(rows_of(self.seed, *txn, entry.deed)).collect();
            if *rows != expected {
                return Err(format!(
                    "transaction {txn} ({entry:?}) is half there or altered: {} rows found, {} \
                     expected",
                    rows.len(),
                    expected.len()
                ));
            }
        }
        // An undoing and what it undoes share one outcome: exactly one of the two is there.
        let undone: HashMap<Txn, Txn> = self
            .entries
            .iter()
            .filter_map(|(txn, entry)| match (entry.deed, entry.outcome) {
                (Deed::Undo(victim), TxnOutcome::Unknown) => Some((victim, *txn)),
                _ => None,
            })
            .collect();
        for (victim, undoing) in &undone {
            match (found.contains_key(victim), found.contains_key(undoing)) {
                (true, true) => {
                    return Err(format!(
                        "transaction {undoing} undoes {victim}, and both are there"
                    ));
                }
                // Only what has been acknowledged is undone.
                (false, false) => {
                    return Err(format!(
                        "ACKNOWLEDGED transaction {victim} is missing, and so is {undoing}, which undoes it"
                    ));
                }
                _ => {}
            }
        }
        for (txn, entry) in &mut self.entries {
            let is_there = found.contains_key(txn);
            match (entry.outcome, is_there) {
                (TxnOutcome::There, false) => {
                    return Err(format!("ACKNOWLEDGED transaction {txn} is missing"));
                }
                (TxnOutcome::Absent, true) => {
                    return Err(format!(
                        "transaction {txn} ({:?}) was rolled back or undone, but is there",
                        entry.deed
                    ));
                }
                (TxnOutcome::Unknown, _) => {
                    entry.outcome = if is_there {
                        TxnOutcome::There
                    } else {
                        TxnOutcome::Absent
                    };
                    if is_there && entry.deed == Deed::Transfer {
                        self.standing.push(*txn);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The whole book: every client's part.
#[derive(Debug)]
pub struct Book {
    /// One a connection.
    clients: Vec<Client>,
}

impl Book {
    /// An empty book for this many connections.
    pub fn new(seed: u64, clients: u32) -> Book {
        Book {
            clients: (0..clients).map(|id| Client::new(seed, id)).collect(),
        }
    }

    /// Makes the ledger's tables.
    pub fn create(&self, conn: &mut dyn Conn) -> Outcome<()> {
        let mut run = |sql: String| {
            conn.run(&sql)
                .map(drop)
                .map_err(|e| format!("{}: {e}", &sql[..sql.len().min(80)]))
        };
        run(format!("CREATE DATABASE {DATABASE}"))?;
        run(format!("USE {DATABASE}"))?;
        run(
            "CREATE TABLE account (id INT NOT NULL, balance BIGINT NOT NULL, \
             moves BIGINT NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB"
                .to_owned(),
        )?;
        run(
            "CREATE TABLE journal (txn BIGINT NOT NULL, part INT NOT NULL, account INT NOT NULL, \
             delta BIGINT NOT NULL, pad TEXT NOT NULL, PRIMARY KEY (txn, part), \
             KEY by_account (account)) ENGINE=InnoDB"
                .to_owned(),
        )?;
        let values: Vec<String> = (0..ACCOUNTS)
            .map(|id| format!("({id}, {OPENING_BALANCE}, 0)"))
            .collect();
        run(format!("INSERT INTO account VALUES {}", values.join(", ")))
    }

    /// All clients write while `act` is at work, which ends with the server's death and may tell the clients before that it is time to stop. What they
    /// counted in all, and what `act` gives.
    pub fn write_while<T>(
        &mut self,
        setup: &Setup,
        act: impl FnOnce(&AtomicBool) -> Outcome<T>,
    ) -> Outcome<(Tally, T)> {
        let stop = AtomicBool::new(false);
        let (tallies, acted) = std::thread::scope(|scope| {
            let clients = self.clients.iter_mut();
            let writers: Vec<_> = clients
                .map(|client| scope.spawn(|| client.write(setup, &stop)))
                .collect();
            let acted = act(&stop);
            stop.store(true, Ordering::Relaxed);
            let ended = |_| Err("a ledger client panicked".to_owned());
            let joined = writers.into_iter().map(|w| w.join().unwrap_or_else(ended));
            (joined.collect::<Vec<Outcome<Tally>>>(), acted)
        });
        let mut sum = Tally::default();
        for tally in tallies {
            let tally = tally?;
            sum.acknowledged += tally.acknowledged;
            sum.refused += tally.refused;
            sum.unknown += tally.unknown;
        }
        Ok((sum, acted?))
    }

    /// Checks the server's tables against the book, and has the server check them; the number of transactions found there.
    pub fn verify(&mut self, conn: &mut dyn Conn) -> Outcome<u64> {
        let there = self.compare(conn)?;
        let tables: Vec<String> = TABLES.iter().map(|t| (*t).to_owned()).collect();
        queries::check_tables(conn, DATABASE, &tables)?;
        Ok(there)
    }

    fn compare(&mut self, conn: &mut dyn Conn) -> Outcome<u64> {
        let mut ask = |sql: &str| conn.run(sql).map_err(|e| format!("{sql}: {e}"));
        ask(&format!("USE {DATABASE}"))?;
        let mut sums: BTreeMap<u64, (i64, i64)> =
            (0..ACCOUNTS).map(|id| (id, (OPENING_BALANCE, 0))).collect();
        let mut there = 0;
        for client in &mut self.clients {
            let rows = ask(&format!(
                "SELECT txn, part, account, delta, pad FROM journal \
                 WHERE txn >= {} AND txn < {} ORDER BY txn, part",
                number(client.id, 0),
                number(client.id + 1, 0)
            ))?;
            let mut found: BTreeMap<Txn, Vec<(u64, Row)>> = BTreeMap::new();
            for row in &rows {
                let (txn, part, row) = parse_row(row)?;
                if let Some(sum) = sums.get_mut(&row.account) {
                    sum.0 += row.delta;
                    sum.1 += 1;
                }
                found.entry(txn).or_default().push((part, row));
            }
            there += found.len() as u64;
            client.verify(&found)?;
        }
        let accounts = ask("SELECT id, balance, moves FROM account ORDER BY id")?;
        let expected: Vec<Vec<String>> = sums
            .iter()
            .map(|(id, (balance, moves))| {
                vec![id.to_string(), balance.to_string(), moves.to_string()]
            })
            .collect();
        if let Some((have, want)) = accounts.iter().zip(&expected).find(|(a, b)| a != b) {
            return Err(format!(
                "account is {have:?}, the journal says {want:?} (id, balance, moves)"
            ));
        }
        if accounts.len() != expected.len() {
            return Err(format!(
                "{} accounts, not {}",
                accounts.len(),
                expected.len()
            ));
        }
        // The same through the secondary index.
        let grouped =
            ask("SELECT account, COUNT(*) FROM journal GROUP BY account ORDER BY account")?;
        let counted: Vec<Vec<String>> = sums
            .iter()
            .filter(|(_, (_, moves))| *moves > 0)
            .map(|(id, (_, moves))| vec![id.to_string(), moves.to_string()])
            .collect();
        if grouped != counted {
            return Err("the journal's index by account and its rows disagree".to_owned());
        }
        Ok(there)
    }
}

fn parse_row(cells: &[String]) -> Outcome<(Txn, u64, Row)> {
    let odd = || format!("a journal row reads {cells:?}");
    let [txn, part, account, delta, pad] = cells else {
        return Err(odd());
    };
    Ok((
        txn.parse().map_err(|_| odd())?,
        part.parse().map_err(|_| odd())?,
        Row {
            account: account.parse().map_err(|_| odd())?,
            delta: delta.parse().map_err(|_| odd())?,
            pad: pad.clone(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(seed: u64, txns: &[(Txn, Deed)]) -> BTreeMap<Txn, Vec<(u64, Row)>> {
        txns.iter()
            .map(|(txn, deed)| (*txn, (0..).zip(rows_of(seed, *txn, *deed)).collect()))
            .collect()
    }

    #[test]
    fn transfers_conserve_money_and_repeat() {
        for count in 1..2000 {
            let rows = transfer_rows(7, number(1, count));
            assert_eq!(rows.iter().map(|r| r.delta).sum::<i64>(), 0);
            assert!((2..=5).contains(&rows.len()));
            assert!(rows.windows(2).all(|w| w[0].account < w[1].account));
            assert_eq!(rows, transfer_rows(7, number(1, count)));
        }
    }

    #[test]
    fn a_missing_acknowledged_transaction_is_noticed() {
        let mut client = Client::new(7, 0);
        client.record(1, Deed::Transfer, TxnOutcome::There);
        client.record(2, Deed::Transfer, TxnOutcome::Unknown);
        assert!(client.verify(&found(7, &[])).is_err());
        assert!(client.verify(&found(7, &[(1, Deed::Transfer)])).is_ok());
        // Its outcome was found to be absence: it must not come back.
        let both = found(7, &[(1, Deed::Transfer), (2, Deed::Transfer)]);
        assert!(client.verify(&both).is_err());
    }

    #[test]
    fn a_half_transaction_is_noticed() {
        let mut client = Client::new(7, 0);
        client.record(1, Deed::Transfer, TxnOutcome::Unknown);
        let mut half = found(7, &[(1, Deed::Transfer)]);
        half.get_mut(&1).unwrap().pop();
        assert!(client.verify(&half).is_err());
    }

    #[test]
    fn an_undoing_of_unknown_fate_takes_its_victim_along() {
        let book = || {
            let mut client = Client::new(7, 0);
            client.record(1, Deed::Transfer, TxnOutcome::There);
            client.record(2, Deed::Undo(1), TxnOutcome::Unknown);
            client
        };
        assert!(book().verify(&found(7, &[(1, Deed::Transfer)])).is_ok());
        assert!(book().verify(&found(7, &[(2, Deed::Undo(1))])).is_ok());
        // What was acknowledged is lost then.
        let lost = book().verify(&found(7, &[])).unwrap_err();
        assert!(lost.starts_with("ACKNOWLEDGED transaction 1 "), "{lost}");
        let both = found(7, &[(1, Deed::Transfer), (2, Deed::Undo(1))]);
        assert!(book().verify(&both).is_err());
    }
}
