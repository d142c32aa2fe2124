//! The tables of the specification (chapter 2): columns as DuckDB has them, keys as the specification has them, in MySQL's types.

use super::packages;
use crate::query_comparison::Part;
use harness::step::Outcome;
use std::collections::BTreeMap;
use std::path::Path;

/// The primary keys that are not the first column.
const KEYS: &[(&str, &[&str])] = &[
    ("catalog_returns", &["cr_item_sk", "cr_order_number"]),
    ("catalog_sales", &["cs_item_sk", "cs_order_number"]),
    (
        "inventory",
        &["inv_date_sk", "inv_item_sk", "inv_warehouse_sk"],
    ),
    ("store_returns", &["sr_item_sk", "sr_ticket_number"]),
    ("store_sales", &["ss_item_sk", "ss_ticket_number"]),
    ("web_returns", &["wr_item_sk", "wr_order_number"]),
    ("web_sales", &["ws_item_sk", "ws_order_number"]),
];

/// A column: its name, DuckDB's type, the most characters of a value.
type Column = (String, String, u32);

/// The tables, with the files of their rows in `dir`.
pub(super) fn all(dir: &Path, indexed: bool) -> Outcome<Vec<Part>> {
    let tables: BTreeMap<String, Vec<Column>> = packages::read(&dir.join("columns.json"))?;
    let part = |(table, columns): (&String, &Vec<Column>)| Part {
        table: table.clone(),
        create: create(table, columns, indexed),
        files: vec![dir.join(format!("{table}.tbl"))],
        later: Vec::new(),
    };
    Ok(tables.iter().map(part).collect())
}

/// CREATE TABLE. Texts are ordered by their bytes, as DuckDB orders them; a column that ends in `_sk` points to another table.
fn create(table: &str, columns: &[Column], indexed: bool) -> String {
    let own = KEYS.iter().find(|(name, _)| *name == table).map(|k| k.1);
    let first: Vec<&str> = columns.iter().take(1).map(|c| c.0.as_str()).collect();
    let primary = own.unwrap_or(&first);
    let column = |(name, kind, width): &Column| {
        let kind = match kind.as_str() {
            "VARCHAR" => format!("VARCHAR({})", (*width).max(1)),
            other => other.to_owned(),
        };
        let not_null = match primary.contains(&name.as_str()) {
            true => " NOT NULL",
            false => "",
        };
        format!("{name} {kind}{not_null}")
    };
    let points = |c: &&Column| indexed && c.0.ends_with("_sk") && c.0 != primary[0];
    let mut parts: Vec<String> = columns.iter().map(column).collect();
    parts.push(format!("PRIMARY KEY ({})", primary.join(", ")));
    parts.extend(
        columns
            .iter()
            .filter(points)
            .map(|c| format!("KEY ({})", c.0)),
    );
    format!(
        "CREATE TABLE {table} ({}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_keys_of_the_specification() {
        let column = |name: &str, kind: &str, width| (name.to_owned(), kind.to_owned(), width);
        let store = [
            column("s_store_sk", "BIGINT", 2),
            column("s_closed_date_sk", "BIGINT", 7),
            column("s_name", "VARCHAR", 5),
        ];
        assert_eq!(
            create("store", &store, true),
            "CREATE TABLE store (s_store_sk BIGINT NOT NULL, s_closed_date_sk BIGINT, s_name VARCHAR(5), \
             PRIMARY KEY (s_store_sk), KEY (s_closed_date_sk)) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        );
        let sales = [
            column("ss_sold_date_sk", "BIGINT", 7),
            column("ss_item_sk", "BIGINT", 4),
            column("ss_ticket_number", "BIGINT", 5),
        ];
        let sales = create("store_sales", &sales, false);
        assert!(
            sales.contains("PRIMARY KEY (ss_item_sk, ss_ticket_number)"),
            "{sales}"
        );
        assert!(!sales.contains("KEY (ss_sold_date_sk)"), "{sales}");
    }
}
