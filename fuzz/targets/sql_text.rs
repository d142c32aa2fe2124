//! SQL text, statement after statement, as a session goes through it; and expressions, which are stored as text (defaults,
//! generated columns): what is printed parses again to what prints the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sql_parser::ast::Statement;
use sql_parser::{Options, is_blank, parse, parse_expr};
use types::Charset;

const NESTED_TOO_DEEPLY: u16 = 1436;

fuzz_target!(|data: &[u8]| {
    let Some((&modes, mut text)) = data.split_first() else {
        return;
    };
    let options = Options {
        ansi_quotes: modes & 1 != 0,
        pipes_as_concat: modes & 2 != 0,
        high_not_precedence: modes & 4 != 0,
        no_backslash_escapes: modes & 8 != 0,
        ignore_space: modes & 16 != 0,
        real_as_float: modes & 32 != 0,
        placeholders: true,
        charset: match modes & 128 {
            0 => Charset::Utf8mb4,
            _ => Charset::Latin1,
        },
        // The bits are all taken.
        mariadb: (modes & 48 == 48).then_some(101_100),
    };
    if modes & 64 != 0 {
        return expression(text, &options);
    }
    while !is_blank(text, &options) {
        let Ok(parsed) = parse(text, &options) else {
            return;
        };
        assert!(parsed.consumed > 0 && parsed.consumed <= text.len());
        if let Statement::Query(query) = &parsed.statement {
            let _ = query.to_string();
        }
        text = &text[parsed.consumed..];
    }
});

fn expression(text: &[u8], options: &Options) {
    // Other text is printed in hexadecimal, and a date in hexadecimal is none.
    if std::str::from_utf8(text).is_err() {
        return;
    }
    let Ok(expr) = parse_expr(text, options) else {
        return;
    };
    let printed = expr.to_string();
    let options = Options {
        placeholders: true,
        ..Options::default()
    };
    match parse_expr(printed.as_bytes(), &options) {
        Ok(again) => assert_eq!(again.to_string(), printed, "prints differently"),
        // What is printed has more parentheses.
        Err(why) if why.code() == NESTED_TOO_DEEPLY => {}
        Err(why) => panic!("{printed}: {why}"),
    }
}
