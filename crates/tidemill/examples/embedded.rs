//! A database inside your own program: no server, no socket, a directory of files.
//!
//! `cargo run --example embedded [directory]`

use tidemill::{Database, Error, Result, Transaction};

fn main() -> Result<()> {
    let directory = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "./embedded-data".to_owned());

    // Makes the directory on the first run; recovers it if the last run was cut short.
    let database = Database::open(&directory)?;
    let connection = database.connect()?;

    connection.execute_batch(
        "CREATE DATABASE IF NOT EXISTS bank;
         USE bank;
         CREATE TABLE IF NOT EXISTS account (
             id      INT PRIMARY KEY,
             owner   VARCHAR(40) NOT NULL,
             balance DECIMAL(12,2) NOT NULL
         );
         REPLACE INTO account VALUES (1, 'Ada', 100.00), (2, 'Grace', 50.00);",
    )?;

    // Values never go into the text: `?` stands for them.
    transfer(&connection, 1, 2, "30.00")?;

    for row in connection.query("SELECT owner, balance FROM account ORDER BY id", ())? {
        let owner: String = row.get("owner")?;
        let balance: tidemill::Decimal = row.get("balance")?;
        println!("{owner:8} {balance:>8}");
    }

    // A statement for many rows is prepared once.
    let insert = connection.prepare("REPLACE INTO account VALUES (?, ?, ?)")?;
    for id in 100..110 {
        insert.execute((id, format!("customer {id}"), 0))?;
    }
    drop(insert);

    let count: i64 = match connection.query_row("SELECT COUNT(*) FROM account", ())? {
        Some(row) => row.get(0)?,
        None => 0,
    };
    println!("{count} accounts");

    // Errors carry MySQL's number, SQLSTATE and text.
    if let Err(e) = connection.execute("INSERT INTO account VALUES (1, 'Eve', 0)", ()) {
        println!("refused: {} {}", e.code(), e.message());
    }

    drop(connection);
    database.close()
}

/// Moves money, again from the start when another transaction was in the way.
fn transfer(connection: &tidemill::Connection, from: i64, to: i64, amount: &str) -> Result<()> {
    loop {
        let transaction = connection.transaction()?;
        match try_transfer(&transaction, from, to, amount) {
            Ok(()) => return transaction.commit(),
            // Dropped: rolled back.
            Err(e) if e.is_retryable() => continue,
            Err(e) => return Err(e),
        }
    }
}

fn try_transfer(
    transaction: &Transaction<'_>,
    from: i64,
    to: i64,
    amount: &str,
) -> std::result::Result<(), Error> {
    let update = transaction.prepare("UPDATE account SET balance = balance + ? WHERE id = ?")?;
    update.execute((format!("-{amount}"), from))?;
    update.execute((amount, to))?;
    Ok(())
}
