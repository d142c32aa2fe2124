//! The binary form against bytes that MySQL writes, back and forth, and against bytes that nobody writes.

use super::{binary, text};
use base::SplitMix64;
use proptest::prelude::*;

fn bytes(document: &str) -> Vec<u8> {
    let mut out = Vec::new();
    binary(document.as_bytes(), &mut out).unwrap_or_else(|_| panic!("{document}"));
    out
}

fn read(bytes: &[u8]) -> String {
    String::from_utf8(text(bytes).unwrap_or_else(|e| panic!("{bytes:x?}: {e}"))).unwrap()
}

/// What MySQL 8.0 writes for these, by its description of the form (sql-common/json_binary.h).
#[test]
fn the_bytes_are_those_of_mysql() {
    let cases: &[(&str, &[u8])] = &[
        ("null", &[4, 0]),
        ("true", &[4, 1]),
        ("false", &[4, 2]),
        ("1", &[5, 1, 0]),
        ("-1", &[5, 0xFF, 0xFF]),
        ("32768", &[7, 0, 0x80, 0, 0]),
        ("-2147483648", &[7, 0, 0, 0, 0x80]),
        ("2147483648", &[9, 0, 0, 0, 0x80, 0, 0, 0, 0]),
        (
            "18446744073709551615",
            &[10, 255, 255, 255, 255, 255, 255, 255, 255],
        ),
        ("1.5", &[11, 0, 0, 0, 0, 0, 0, 0xF8, 0x3F]),
        ("\"abc\"", &[12, 3, b'a', b'b', b'c']),
        ("{}", &[0, 0, 0, 4, 0]),
        ("[]", &[2, 0, 0, 4, 0]),
        ("{\"a\": 1}", &[0, 1, 0, 12, 0, 11, 0, 1, 0, 5, 1, 0, b'a']),
        (
            "{\"b\": null, \"aa\": \"x\"}",
            &[
                0, 2, 0, 23, 0, 18, 0, 1, 0, 19, 0, 2, 0, 4, 0, 0, 12, 21, 0, b'b', b'a', b'a', 1,
                b'x',
            ],
        ),
        // What does not fit into two bytes stands behind.
        (
            "[1, 70000, [true]]",
            &[
                2, 3, 0, 24, 0, 5, 1, 0, 7, 13, 0, 2, 17, 0, 0x70, 0x11, 1, 0, 1, 0, 7, 0, 4, 1, 0,
            ],
        ),
        // A DECIMAL(3,2).
        ("1.10", &[15, 246, 4, 3, 2, 0x81, 0x0A]),
    ];
    for (document, expected) in cases {
        assert_eq!(bytes(document), *expected, "{document}");
        assert_eq!(read(expected), *document);
    }
}

#[test]
fn what_is_sql_and_no_json_is_read_as_mysql_shows_it() {
    let cases: &[(&[u8], &str)] = &[
        // 2015-01-15 23:24:25 as a DATETIME, its date as a DATE, its time as a TIME.
        (
            &[15, 12, 8, 0, 0, 0, 0x19, 0x76, 0x1F, 0x95, 0x19],
            "\"2015-01-15 23:24:25.000000\"",
        ),
        (
            &[15, 10, 8, 0, 0, 0, 0, 0, 0x1E, 0x95, 0x19],
            "\"2015-01-15\"",
        ),
        (
            &[15, 11, 8, 0, 0, 0, 0x19, 0x76, 1, 0, 0],
            "\"23:24:25.000000\"",
        ),
        (&[15, 16, 2, 0xC0, 0xFF], "\"base64:type16:wP8=\""),
        (&[15, 252, 0], "\"base64:type252:\""),
        // Short numbers that have no sign, and no bytes at all.
        (&[6, 0xFF, 0xFF], "65535"),
        (&[8, 255, 255, 255, 255], "4294967295"),
        (&[], "null"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(read(bytes), *expected);
    }
}

#[test]
fn a_container_is_as_wide_as_it_needs_to_be() {
    // Four bytes in front, three for the value, two of a length of 300 and more.
    let fits = |n: usize| format!("[\"{}\"]", "x".repeat(n));
    let largest = usize::from(u16::MAX) - 4 - 3 - 3;
    let small = bytes(&fits(largest));
    assert_eq!((small[0], small.len()), (2, usize::from(u16::MAX) + 1));
    let large = bytes(&fits(largest + 1));
    assert_eq!((large[0], large.len()), (3, 1 + 8 + 5 + 3 + largest + 1));
    for (b, n) in [(&small, largest), (&large, largest + 1)] {
        assert_eq!(read(b), fits(n));
    }
    // A number of 32 bits stands in front there, and what is in it may be small again.
    let document = format!("[70000, [70000], \"{}\"]", "x".repeat(70_000));
    let b = bytes(&document);
    assert_eq!(
        b[..14],
        [3, 3, 0, 0, 0, 0x95, 0x11, 1, 0, 7, 0x70, 0x11, 1, 0]
    );
    assert_eq!((b[14], read(&b) == document), (2, true));
    let key = "k".repeat(65_535);
    let document = format!("{{\"{key}\": [1]}}");
    assert_eq!(read(&bytes(&document)), document);
    let document = format!("{{\"{key}k\": 1}}");
    assert!(binary(document.as_bytes(), &mut Vec::new()).is_err());
}

#[test]
fn documents_that_are_not_stored_are_put_in_order_or_refused() {
    assert_eq!(
        bytes("{\"b\":1,\"a\":2, \"b\":3}"),
        bytes("{\"a\": 2, \"b\": 3}")
    );
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(read(&bytes(&deep(100))), deep(100));
    let bad = [
        "",
        " ",
        "{",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "\"\\x\"",
        "\"\\",
        "nul",
        "1 2",
        "+1",
        "--1",
        "1e999",
        "[1}",
        "\"\\ud800\"",
    ];
    for text in bad.map(str::to_owned).into_iter().chain([deep(101)]) {
        let mut out = vec![7];
        assert!(binary(text.as_bytes(), &mut out).is_err(), "{text}");
        assert_eq!(out, [7]);
    }
}

#[test]
fn bytes_that_lead_in_circles_or_say_too_much_end_in_an_error() {
    // An array whose only value is itself.
    assert!(text(&[2, 1, 0, 7, 0, 2, 0, 0]).is_err());
    // Each of ten values is the next array, and so on: 10^20 values of 2 KiB.
    let mut b = vec![2];
    for level in 0..20u16 {
        let front = 4 + 30u16;
        let rest = (19 - level) * front + 4;
        b.extend_from_slice(&10u16.to_le_bytes());
        b.extend_from_slice(&(front + rest).to_le_bytes());
        for _ in 0..10 {
            b.push(2);
            b.extend_from_slice(&front.to_le_bytes());
        }
    }
    b.extend_from_slice(&[0, 0, 4, 0]);
    assert!(text(&b).is_err());
    // Keys out of order, or twice.
    for keys in [b"ba", b"aa"] {
        let mut b = vec![0, 2, 0, 20, 0, 18, 0, 1, 0, 19, 0, 1, 0, 4, 0, 0, 4, 0, 0];
        b.extend_from_slice(keys);
        assert!(text(&b).is_err());
    }
    // No number, no text, no date.
    assert!(text(&[11, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F]).is_err());
    assert!(text(&[12, 1, 0xFF]).is_err());
    assert!(text(&[15, 12, 8, 255, 255, 255, 255, 255, 255, 255, 255]).is_err());
    assert!(text(&[4, 3]).is_err());
}

/// A text between quotes, and the bytes that it stands for.
fn word(r: &mut SplitMix64) -> (String, Vec<u8>) {
    let n = r.below(9);
    let parts = ["a", "é", "\n", "\u{1}", "😀", "\\", "\"", "Z"];
    let plain: String = (0..n).map(|_| r.pick(&parts)).collect();
    let mut quoted = Vec::new();
    let json = sql_expr::json::Json::Str(plain.clone());
    json.write(&mut quoted).unwrap();
    (String::from_utf8(quoted).unwrap(), plain.into_bytes())
}

/// A document with all that there can be, as it is stored.
fn document(r: &mut SplitMix64, depth: usize) -> String {
    match r.below(if depth > 5 { 9 } else { 13 }) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => (r.next() as i64 >> r.below(64)).to_string(),
        3 => (r.next() >> r.below(64)).to_string(),
        4 => {
            let d = sql_expr::json::Json::Double(f64::from(r.next() as u32) / 1024.0);
            let mut out = Vec::new();
            d.write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        }
        5 => format!("{}.{:04}0", r.next(), r.below(10_000)),
        6 => format!("\"{}\"", "long ".repeat(r.below(9000) as usize)),
        7 | 8 => word(r).0,
        9 | 10 => {
            let parts: Vec<String> = (0..r.below(6)).map(|_| document(r, depth + 1)).collect();
            format!("[{}]", parts.join(", "))
        }
        _ => {
            let mut keys: Vec<(String, Vec<u8>)> = (0..r.below(6)).map(|_| word(r)).collect();
            keys.sort_by_key(|(_, plain)| (plain.len(), plain.clone()));
            keys.dedup();
            let members = keys.iter();
            let members = members.map(|(key, _)| format!("{key}: {}", document(r, depth + 1)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut r = SplitMix64::new(31);
    let (mut large, mut containers) = (0, 0);
    for _ in 0..3000 {
        let stored = document(&mut r, 0);
        let b = bytes(&stored);
        assert_eq!(read(&b), stored);
        large += u32::from(matches!(b[0], 1 | 3));
        containers += u32::from(b[0] < 4);
        // Whatever becomes of it ends, in a text that is one or in an error.
        for _ in 0..10 {
            let mut other = b.clone();
            let at = r.below(other.len() as u64) as usize;
            other[at] ^= 1 << r.below(8);
            if r.one_in(4) {
                other.truncate(at);
            }
            if let Ok(t) = text_of(&other) {
                assert!(sql_expr::json::parse(&t).is_ok(), "{t}");
            }
        }
    }
    assert!(large > 50 && containers > 500, "{large} {containers}");
}

fn text_of(b: &[u8]) -> Result<String, wire::ProtocolError> {
    text(b).map(|t| String::from_utf8(t).expect("text"))
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn any_bytes_are_read_without_panic(bytes: Vec<u8>, of in 0u8..4, more in any::<[u8; 4]>()) {
        let _ = text(&bytes);
        // Such as begin like a container.
        let all = [&[of, more[0] & 7, 0, 40, 0, more[1] & 63, 0, 1, 0, more[2] & 15, more[3] & 63, 0][..], &bytes].concat();
        if let Ok(t) = text_of(&all) {
            prop_assert!(sql_expr::json::parse(&t).is_ok());
        }
    }

    #[test]
    fn any_text_is_written_without_panic(text: String, bytes: Vec<u8>) {
        let _ = binary(text.as_bytes(), &mut Vec::new());
        let _ = binary(&bytes, &mut Vec::new());
    }
}
