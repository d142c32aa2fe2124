//! Comments, literals, identifiers, and the `sql_mode` switches that change them.

use super::ast::*;
use super::{Options, canonical, parse_expr, statement};

fn expr(text: &str) -> Expr {
    parse_expr(text.as_bytes(), &Options::default()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn string(text: &str) -> Vec<u8> {
    match expr(text) {
        Expr::Str(bytes) => bytes.into_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn version_comments_count_for_versions_up_to_ours() {
    let plain = |text: &str| canonical(text, &Options::default());
    assert_eq!(plain("1 /*! + 1 */"), "(1 + 1)");
    assert_eq!(plain("1 /*!80041 + 1 */"), "(1 + 1)");
    assert_eq!(plain("1 /*!80042 + 1 */"), "1");
    assert_eq!(plain("1 /*!080041 + 1 */"), "(1 + 1)");
    assert_eq!(plain("1 /*!100100 + 1 */"), "1");
    assert_eq!(plain("1 /*!99999 + /* 2 */ 3 */"), "1");
    assert_eq!(plain("1 /*M! + 1 */"), "1");
    assert_eq!(plain("1 /*!50000 + /* 5 */ 2 */ + 3"), "((1 + 2) + 3)");
    assert_eq!(plain("1 /*+ hint */ + 1"), "(1 + 1)");
}

#[test]
fn what_is_printed_parses_again() {
    for text in ["@''", "@'' := 1", "@a", "@`a``b`"] {
        let printed = canonical(text, &Options::default());
        assert_eq!(canonical(&printed, &Options::default()), printed, "{text}");
    }
}

#[test]
fn dashes_are_a_comment_only_before_a_blank() {
    let plain = |text: &str| canonical(text, &Options::default());
    assert_eq!(plain("5--3"), "(5 - -(3))");
    assert_eq!(plain("5-- 3"), "5");
    assert_eq!(plain("5 --\n+ 3"), "(5 + 3)");
    assert_eq!(plain("5 # x\n+ 3"), "(5 + 3)");
}

#[test]
fn strings_resolve_escapes() {
    assert_eq!(
        string(r"'a\'b\\c\nd\te\0f\Zg\bh\r\x'"),
        b"a'b\\c\nd\te\0f\x1Ag\x08h\rx"
    );
    assert_eq!(string(r"'100\%\_'"), br"100\%\_");
    assert_eq!(string("'it''s'"), b"it's");
    assert_eq!(string(r#""say ""x""""#), br#"say "x""#);
    assert_eq!(string("'a' \"b\" 'c'"), b"abc");
    let raw = Options {
        no_backslash_escapes: true,
        ..Options::default()
    };
    assert_eq!(parse_expr(br"'a\'", &raw), Ok(Expr::Str(br"a\"[..].into())));
    // Bytes that are no UTF-8 pass through strings.
    assert_eq!(
        parse_expr(b"'\xff\x00\xfe'", &raw),
        Ok(Expr::Str(b"\xff\x00\xfe"[..].into()))
    );
}

#[test]
fn numbers_have_the_kind_they_look_like() {
    assert_eq!(expr("18446744073709551615"), Expr::Int(u64::MAX));
    assert_eq!(
        expr("18446744073709551616"),
        Expr::Decimal("18446744073709551616".into())
    );
    assert_eq!(expr("007"), Expr::Int(7));
    assert_eq!(expr("1.50"), Expr::Decimal("1.50".into()));
    assert_eq!(expr(".5"), Expr::Decimal(".5".into()));
    assert_eq!(expr("1."), Expr::Decimal("1.".into()));
    assert_eq!(expr("1e3"), Expr::Float(1000.0));
    assert_eq!(expr("1.5E-1"), Expr::Float(0.15));
    assert_eq!(expr("0x4d4"), Expr::Hex(b"\x04\xd4"[..].into()));
    assert_eq!(expr("X'4d'"), Expr::Hex(b"M"[..].into()));
    assert_eq!(expr("0b100000001"), Expr::Bit(b"\x01\x01"[..].into()));
    assert!(matches!(expr("0X1"), Expr::Column(_)));
    assert!(matches!(expr("1e"), Expr::Column(_)));
    assert!(matches!(expr("0xg"), Expr::Column(_)));
    assert!(matches!(expr("1a2"), Expr::Column(_)));
}

#[test]
fn introducers_need_a_known_charset() {
    assert!(matches!(expr("_utf8mb4'x'"), Expr::Introduced(lit)
        if &*lit.charset == "utf8mb4" && lit.form == LiteralForm::Text));
    assert!(matches!(expr("_BINARY x'00'"), Expr::Introduced(lit)
        if &*lit.charset == "binary" && lit.form == LiteralForm::Hex));
    assert!(matches!(expr("N'x'"), Expr::Introduced(lit) if &*lit.charset == "utf8mb3"));
    assert!(matches!(expr("_utf8mb4"), Expr::Column(_)));
    assert!(matches!(expr("_other"), Expr::Column(_)));
}

#[test]
fn ansi_quotes_make_identifiers() {
    let ansi = Options {
        ansi_quotes: true,
        ..Options::default()
    };
    assert_eq!(canonical("\"a\"\"b\" = 'c'", &ansi), "(`a\"b` = 'c')");
    assert_eq!(string("\"a\""), b"a");
}

#[test]
fn ignore_space_lets_a_blank_stand_before_the_parenthesis() {
    let options = Options {
        ignore_space: true,
        ..Options::default()
    };
    assert_eq!(canonical("count (*)", &options), "count(0)");
    assert!(parse_expr(b"count (*)", &Options::default()).is_err());
    assert!(matches!(expr("count (a)"), Expr::Call(_)));
    assert!(matches!(expr("now"), Expr::Column(_)));
    assert!(matches!(expr("avg (a)"), Expr::Aggregate(_)));
}

#[test]
fn words_behind_a_dot_are_names() {
    assert_eq!(canonical("t.select", &Options::default()), "`t`.`select`");
    assert_eq!(canonical("t.1", &Options::default()), "`t`.`1`");
    assert_eq!(canonical("a.b.from", &Options::default()), "`a`.`b`.`from`");
    statement("SELECT * FROM db.order");
}

#[test]
fn user_variables_may_hold_dots_and_quotes() {
    assert_eq!(expr("@a.b$c"), Expr::UserVar("a.b$c".into()));
    assert_eq!(expr("@`x y`"), Expr::UserVar("x y".into()));
    assert_eq!(expr("@'q'"), Expr::UserVar("q".into()));
    assert_eq!(expr("@select"), Expr::UserVar("select".into()));
    assert!(parse_expr(b"@ a", &Options::default()).is_err());
}

#[test]
fn free_keywords_are_identifiers() {
    for word in [
        "date", "status", "value", "count", "offset", "json", "user", "names",
    ] {
        assert!(matches!(expr(word), Expr::Column(_)), "{word}");
    }
    for word in [
        "select", "rank", "groups", "system", "lateral", "of", "rows",
    ] {
        assert!(
            parse_expr(word.as_bytes(), &Options::default()).is_err(),
            "{word}"
        );
    }
}
