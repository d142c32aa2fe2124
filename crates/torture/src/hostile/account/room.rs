//! What takes temporary room: temporary tables, many and large, and statements whose operators spill. All of it is allowed; what it may take is not
//! more than the account's share.

use super::abuse::{Abuses, digits};

/// All of them, with their names.
pub const ABUSES: Abuses = &[
    ("many empty temporary tables", |a| {
        let from = a.turn * 1000;
        for n in from..from + 400 {
            a.run(&format!(
                "CREATE TEMPORARY TABLE hostile.e{n} (a INT PRIMARY KEY, b INT, c INT, UNIQUE KEY (b), KEY (c))"
            ))?;
        }
        Ok(())
    }),
    ("a temporary table that doubles", |a| {
        let name = format!("hostile.d{}", a.turn);
        a.run(&format!(
            "CREATE TEMPORARY TABLE {name} (id BIGINT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(2000), KEY (a))"
        ))?;
        a.run(&format!(
            "INSERT INTO {name} (a) VALUES (REPEAT('x', 2000))"
        ))?;
        for _ in 0..20 {
            a.run(&format!("INSERT INTO {name} (a) SELECT a FROM {name}"))?;
        }
        Ok(())
    }),
    ("long values in a temporary table", |a| {
        let name = format!("hostile.l{}", a.turn);
        a.run(&format!("CREATE TEMPORARY TABLE {name} (a LONGTEXT)"))?;
        for _ in 0..200 {
            a.run(&format!("INSERT INTO {name} VALUES (REPEAT('y', 4000000))"))?;
        }
        Ok(())
    }),
    ("a temporary table made from a query", |a| {
        a.run(&format!(
            "CREATE TEMPORARY TABLE hostile.q{} SELECT a.n, REPEAT('z', 300) t FROM {}",
            a.turn,
            digits(6)
        ))
    }),
    ("a temporary table that is made anew", |a| {
        let name = format!("hostile.r{}", a.turn);
        a.run(&format!(
            "CREATE TEMPORARY TABLE {name} SELECT a.n, REPEAT('z', 300) t FROM {}",
            digits(4)
        ))?;
        for n in 0..50 {
            a.run(&format!(
                "ALTER TABLE {name} ADD COLUMN c{n} INT, ADD KEY (c{n})"
            ))?;
        }
        Ok(())
    }),
    ("tables that come and go", |a| {
        for n in 0..100 {
            a.run(&format!("CREATE TEMPORARY TABLE hostile.g{n} (a INT)"))?;
            a.run(&format!("INSERT INTO hostile.g{n} VALUES (1), (2)"))?;
            a.run(&format!("DROP TEMPORARY TABLE hostile.g{n}"))?;
        }
        Ok(())
    }),
    ("changes that are not committed", |a| {
        let name = format!("hostile.u{}", a.turn);
        a.run(&format!(
            "CREATE TEMPORARY TABLE {name} SELECT a.n, REPEAT('z', 300) t FROM {}",
            digits(4)
        ))?;
        a.run("BEGIN")?;
        for n in 0..50 {
            a.run(&format!("UPDATE {name} SET n = {n}"))?;
        }
        a.run("ROLLBACK")
    }),
    ("a sort that spills", |a| {
        a.run(&format!(
            "SELECT a.n, b.n, REPEAT('x', 1000) y FROM {} ORDER BY 3, 2, 1 LIMIT 900000, 1",
            digits(6)
        ))
    }),
    ("information_schema crossed with itself, and sorted", |a| {
        a.run(
            "SELECT a.*, b.* FROM information_schema.columns a, information_schema.columns b ORDER BY a.column_name, b.column_name \
             LIMIT 10000000, 1",
        )
    }),
    ("a hash join that spills", |a| {
        let side = |name: &str| {
            format!(
                "(SELECT CONCAT(a.n, b.n, c.n, d.n, e.n, f.n) k, REPEAT('{name}', 400) t FROM {})",
                digits(6)
            )
        };
        a.run(&format!(
            "SELECT COUNT(*), MAX(x.t), MAX(y.t) FROM {} x JOIN {} y ON x.k = y.k",
            side("x"),
            side("y")
        ))
    }),
    ("groups that spill", |a| {
        a.run(&format!(
            "SELECT COUNT(*) FROM (SELECT CONCAT(a.n, b.n, c.n, d.n, e.n, f.n) k, MAX(REPEAT('g', 500)) m FROM {} GROUP BY k) z",
            digits(6)
        ))
    }),
    ("distinct rows that spill", |a| {
        a.run(&format!(
            "SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(a.n, b.n, c.n, d.n, e.n, f.n) k, REPEAT('d', 500) m FROM {}) z",
            digits(6)
        ))
    }),
    ("a common table that is read twice", |a| {
        a.run(&format!(
            "WITH c AS (SELECT CONCAT(a.n, b.n, c.n, d.n, e.n) k, REPEAT('c', 3000) t FROM {}) \
             SELECT COUNT(*) FROM c x JOIN c y ON x.k = y.k WHERE x.t > 'a'",
            digits(5)
        ))
    }),
    ("files of many small operators", |a| {
        a.run("SET SESSION sort_buffer_size = 32768, tmp_table_size = 1024, max_heap_table_size = 16384, join_buffer_size = 128")?;
        let part = format!(
            "(SELECT a.n, b.n m, c.n o, REPEAT('s', 2000) t FROM {} ORDER BY 4, 3)",
            digits(4)
        );
        let parts = vec![part; 8].join(" UNION ");
        a.run(&format!("SELECT COUNT(*) FROM ({parts}) z"))
    }),
];
