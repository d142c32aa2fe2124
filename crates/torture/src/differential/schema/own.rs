//! What must hold of our tables alone: CHECK TABLE finds nothing, an index has the rows that a scan finds, a generated column is what its
//! expression says, and an enforced constraint holds for each row.

use super::judge::Difference;
use super::side::Side;
use super::world::{Table, World};
use harness::step::Outcome;

/// Looks at all tables of the world that are there. No transaction is open, since CHECK TABLE ends it.
pub fn look(ours: &mut Side, world: &World) -> Outcome<Option<Difference>> {
    let there = ours.tables()?;
    for table in world.tables.iter().filter(|t| there.contains(&t.name)) {
        let sql = format!("CHECK TABLE {} EXTENDED", table.name);
        let said = ours.ask(&sql, false)?;
        if said.rows.len() != 1 || !said.rows[0].ends_with("| OK") {
            let all = format!("{} {}", said.error(), said.rows.join(" / "));
            return Ok(wrong(&sql, all, "OK"));
        }
        if let Some(found) = rules(ours, table)? {
            return Ok(Some(found));
        }
        if let Some(found) = indexes(ours, table)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn wrong(sql: &str, ours: String, should: &str) -> Option<Difference> {
    Some(Difference {
        aspect: "own",
        sql: sql.to_owned(),
        ours,
        theirs: should.to_owned(),
    })
}

fn rules(ours: &mut Side, table: &Table) -> Outcome<Option<Difference>> {
    let generated = table.columns.iter().filter_map(|c| {
        let text = &c.generated.as_ref()?.text;
        Some(format!("{} <=> ({text})", c.name))
    });
    let checks = table.checks.iter().filter(|c| c.enforced);
    let rules = generated.chain(checks.map(|c| format!("IFNULL({}, TRUE)", c.condition)));
    for rule in rules.collect::<Vec<_>>() {
        let sql = format!("SELECT * FROM {} WHERE NOT ({rule})", table.name);
        let said = ours.ask(&sql, false)?;
        if said.code != 0 || !said.rows.is_empty() {
            let all = format!("{} {}", said.error(), said.rows.join(" / "));
            return Ok(wrong(&sql, all, "no rows"));
        }
    }
    Ok(None)
}

fn indexes(ours: &mut Side, table: &Table) -> Outcome<Option<Difference>> {
    let name = &table.name;
    let all = ours.must(&format!(
        "SELECT index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index) FROM information_schema.statistics \
         WHERE table_schema = DATABASE() AND table_name = '{name}' GROUP BY index_name"
    ))?;
    let names: Vec<&str> = all
        .rows
        .iter()
        .filter_map(|r| Some(r.split_once(" | ")?.0))
        .collect();
    let list = names.join(", ");
    for row in &all.rows {
        let Some((index, columns)) = row.split_once(" | ") else {
            continue;
        };
        let first = columns.split(',').next().unwrap_or_default();
        for condition in [
            format!("{first} IS NULL"),
            format!("{first} IS NOT NULL"),
            format!("{first} <= 4"),
            format!("{first} >= 'a'"),
        ] {
            // The columns of the index alone, so that an index that covers them gives what it has.
            let by =
                format!("SELECT {columns} FROM {name} FORCE INDEX ({index}) WHERE {condition}");
            let scan =
                format!("SELECT {columns} FROM {name} IGNORE INDEX ({list}) WHERE {condition}");
            let (by_said, scan_said) = (ours.ask(&by, false)?, ours.ask(&scan, false)?);
            if by_said.code != scan_said.code || by_said.rows != scan_said.rows {
                return Ok(wrong(
                    &by,
                    by_said.rows.join(" / "),
                    &scan_said.rows.join(" / "),
                ));
            }
        }
    }
    Ok(None)
}
