//! Whatever the bytes: no panic, no endless loop, no stack overflow.

use proptest::prelude::*;

use super::{Options, PREPARED, ast, parse};

/// Runs `work` on a thread with 1 MiB of stack, as much as MySQL gives a connection by default.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 19).spawn(work);
    assert!(thread.is_ok_and(|thread| thread.join().is_ok()));
}

/// The outcome of a statement: `None` if it parses, else the error's number.
fn outcome(sql: &str) -> Option<u16> {
    parse(sql.as_bytes(), &PREPARED).err().map(|e| e.code())
}

#[test]
fn deep_nesting_is_an_error_not_an_overflow() {
    on_a_small_stack(|| {
        let n = 100_000;
        for (open, close) in [
            ("(", ")"),
            ("-", ""),
            ("NOT ", ""),
            ("!", ""),
            ("f(", ")"),
            ("(SELECT ", ")"),
            ("CASE WHEN ", " THEN 1 END"),
            ("INTERVAL(", ",1)"),
            ("1 + (", ")"),
            ("1 IN (", ")"),
            ("EXISTS (SELECT ", ")"),
            ("@a := ", ""),
            ("CAST(", " AS CHAR)"),
            ("1 = ANY (SELECT ", ")"),
        ] {
            let sql = format!("SELECT {}1{}", open.repeat(n), close.repeat(n));
            assert_eq!(outcome(&sql), Some(1436), "{open}");
        }
        for (open, middle, close) in [
            ("(", "SELECT 1", ")"),
            ("EXPLAIN ", "SELECT 1", ""),
            ("SELECT * FROM (", "t", ") x"),
            ("SELECT * FROM t JOIN (", "t", ")"),
        ] {
            let sql = format!("{}{middle}{}", open.repeat(n), close.repeat(n));
            assert!(outcome(&sql).is_some(), "{open}");
        }
        let joins = format!("SELECT * FROM t{}", " JOIN t".repeat(n));
        assert_eq!(outcome(&joins), Some(1436));
        let joins = format!("SELECT * FROM t{}", " JOIN t ON 1".repeat(n));
        assert_eq!(outcome(&joins), Some(1436));
        let parens = format!("SELECT * FROM {}t{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(outcome(&parens), Some(1436));
        let blocks = format!("CREATE PROCEDURE p() {}", "BEGIN ".repeat(n));
        assert_eq!(outcome(&blocks), Some(1436));
        let sums = format!("SELECT 1{}", "+1".repeat(n));
        assert_eq!(outcome(&sums), Some(1436));
        let nested = format!(
            "SELECT * FROM JSON_TABLE('', '' {}",
            "COLUMNS (NESTED '' ".repeat(n)
        );
        assert_eq!(outcome(&nested), Some(1436));
    });
}

#[test]
fn trees_as_high_as_they_may_be_can_be_walked_and_dropped() {
    on_a_small_stack(|| {
        let mut deepest = None;
        for n in 1..400 {
            // Sums inside sums: the height of every level adds to the one around it.
            let text = format!("{}1{}", "(".repeat(n), " + 1 + 1 + 1)".repeat(n));
            match super::parse_expr(text.as_bytes(), &PREPARED) {
                Ok(expr) => deepest = Some(expr),
                Err(e) => {
                    assert_eq!(e.code(), 1436);
                    break;
                }
            }
        }
        let printed = deepest.map(|expr| expr.to_string()).unwrap_or_default();
        assert!(printed.len() > 1000);
    });
}

#[test]
fn long_chains_that_clients_send_are_fine() {
    on_a_small_stack(|| {
        let n = 20_000;
        for sql in [
            format!("SELECT 1 WHERE a = 1{}", " OR a = 1".repeat(n)),
            format!("SELECT 1 WHERE a = 1{}", " AND a = 1".repeat(n)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n)),
            format!("SELECT 1 WHERE a IN (1{})", ",1".repeat(n)),
            format!("INSERT INTO t VALUES (1){}", ",(1)".repeat(n)),
            format!("SELECT CASE{} END", " WHEN 1 THEN 2".repeat(n)),
            format!("SELECT 'a'{}", " 'a'".repeat(n)),
        ] {
            assert_eq!(outcome(&sql), None, "{:.60}", sql);
        }
    });
}

/// Pieces of statements in random order find more paths than random bytes.
fn pieces() -> impl Strategy<Value = String> {
    let words: Vec<&str> = "SELECT FROM WHERE ( ) , . ; * a t `x` 'y' 1 2.5 1e3 ? @ @v @@x := = < > \
        + - / % ^ | & ! ~ || && NOT AND OR XOR IN LIKE BETWEEN IS NULL CASE WHEN THEN ELSE END INTERVAL DAY \
        CAST AS CHAR INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INT PRIMARY KEY DEFAULT ALTER ADD DROP \
        INDEX JOIN LEFT ON USING UNION ALL ORDER BY GROUP LIMIT SHOW BEGIN IF LOOP DECLARE CURSOR FOR \
        WITH RECURSIVE OVER PARTITION ROWS EXISTS ANY count( sum( now( f( date 'z _utf8mb4 x'41' 0x4 /* */ /*! \
        -> ->> { } : GRANT REVOKE USER TO LOAD DATA INFILE FIELDS TERMINATED EXPLAIN"
        .split_whitespace()
        .collect();
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.join(" "))
}

/// Text of expressions, most of which are in the grammar.
fn expressions() -> impl Strategy<Value = String> {
    let leaves = vec![
        "a",
        "t.b",
        "`c d`",
        "1",
        "2.5",
        "1e3",
        "'x'",
        "NULL",
        "TRUE",
        "?",
        "@v",
        "@@x",
        "x'41'",
        "b'1'",
        "_latin1'y'",
        "DATE '2020-01-01'",
        "now(3)",
        "count(*)",
        "(select 1)",
        "j->'$.a'",
    ];
    let infix = vec![
        "+",
        "-",
        "*",
        "/",
        "DIV",
        "%",
        "^",
        "|",
        "&",
        "<<",
        ">>",
        "=",
        "<=>",
        "<",
        ">=",
        "<>",
        "AND",
        "OR",
        "XOR",
        "||",
        "&&",
        "LIKE",
        "NOT LIKE",
        "REGEXP",
        "SOUNDS LIKE",
    ];
    let around = vec![
        "-#",
        "!#",
        "~#",
        "NOT #",
        "BINARY #",
        "(#)",
        "# IS NULL",
        "# IS NOT TRUE",
        "# COLLATE c",
        "# + INTERVAL 1 DAY",
        "INTERVAL # HOUR + d",
        "@w := #",
        "f(#)",
        "sum(#) OVER w",
        "CAST(# AS CHAR(3))",
        "CASE # WHEN 1 THEN 2 END",
        "# IN (1, 2)",
        "# NOT IN (SELECT 1)",
        "# BETWEEN 1 AND 2",
        "EXISTS (SELECT #)",
        "trim(both 'x' from #)",
        "extract(day from #)",
        "(#, 1)",
        "# MEMBER OF (j)",
        "# > ALL (SELECT 1)",
    ];
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    leaf.prop_recursive(6, 24, 2, move |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(infix.clone()),
                inner.clone()
            )
                .prop_map(|(left, op, right)| format!("{left} {op} {right}")),
            (prop::sample::select(around.clone()), inner)
                .prop_map(|(around, inner)| around.replacen('#', &inner, 1)),
        ]
    })
}

/// What MariaDB says and MySQL cannot is given in words that MySQL reads.
fn in_mysqls_words(text: &[u8], options: &Options) {
    let Ok(parsed) = parse(text, options) else {
        return;
    };
    let Some(said) = parsed.mariadb else {
        return;
    };
    if matches!(parsed.statement, ast::Statement::Unsupported(_)) {
        return;
    }
    let mysql = Options {
        mariadb: None,
        ..*options
    };
    for odd in [false, true] {
        if let Some(text) = said.text(text, |n| odd || n % 2 == 0) {
            let read = parse(&text, &mysql);
            assert!(read.is_ok(), "{}: {read:?}", String::from_utf8_lossy(&text));
        }
    }
}

proptest! {
    #![proptest_config(base::seeded!(3000))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, &PREPARED);
    }

    #[test]
    fn random_pieces_never_panic(text in pieces(), ansi: bool, pipes: bool, raw: bool) {
        let options = Options {
            ansi_quotes: ansi,
            pipes_as_concat: pipes,
            no_backslash_escapes: raw,
            ..PREPARED
        };
        let _ = parse(text.as_bytes(), &options);
        let mariadb = Options {
            mariadb: Some(101_100),
            ..options
        };
        in_mysqls_words(text.as_bytes(), &mariadb);
        let _ = super::parse_expr(text.as_bytes(), &options);
    }

    #[test]
    fn damaged_statements_never_panic(
        which in 0usize..400,
        cut in 0usize..300,
        bytes in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let text = include_str!("../testdata/grammar.sql");
        let line = text.lines().nth(which).unwrap_or_default().as_bytes();
        let cut = cut.min(line.len());
        let damaged = [&line[..cut], &bytes, &line[cut..]].concat();
        let _ = parse(&damaged, &PREPARED);
        let _ = parse(&line[..cut], &PREPARED);
    }

    #[test]
    fn what_parses_prints_to_a_fixed_point(text in expressions()) {
        let options = PREPARED;
        if let Ok(expr) = super::parse_expr(text.as_bytes(), &options) {
            let once = expr.to_string();
            let again = super::parse_expr(once.as_bytes(), &options);
            prop_assert!(again.is_ok(), "{text} -> {once}");
            if let Ok(again) = again {
                prop_assert_eq!(again.to_string(), once);
            }
        }
    }
}
