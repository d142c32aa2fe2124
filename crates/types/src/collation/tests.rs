//! Collations against orders known from MySQL, and keys against comparison.

use super::*;
use proptest::prelude::*;
use std::collections::hash_map::DefaultHasher;

fn c(name: &str) -> CollationId {
    CollationId::by_name(name).unwrap_or_else(|| panic!("no collation {name}"))
}

#[test]
fn registry() {
    assert_eq!(c("UTF8MB4_GENERAL_CI"), CollationId(45));
    assert_eq!(c("utf8_general_ci"), CollationId(33));
    assert_eq!(CollationId::by_name("nope"), None);
    assert_eq!(CollationId(255).name(), "utf8mb4_0900_ai_ci");
    assert_eq!(CollationId(9999).name(), "binary");
    assert!(!CollationId(9999).is_known());
    assert!(COLLATIONS.windows(2).all(|w| w[0].id < w[1].id));
    for cs in Charset::ALL {
        assert_eq!(CollationId::default_of(cs).charset(), cs);
        assert_eq!(CollationId::bin_of(cs).charset(), cs);
        let defaults = COLLATIONS
            .iter()
            .filter(|i| i.charset == cs && i.is_default);
        assert_eq!(defaults.count(), 1);
    }
}

#[test]
fn orders() {
    use Ordering::{Equal, Greater, Less};
    for (coll, a, b, want) in [
        ("utf8mb4_general_ci", "abc", "ABC", Equal),
        ("utf8mb4_general_ci", "é", "E", Equal),
        ("utf8mb4_general_ci", "ß", "s", Equal),
        ("utf8mb4_general_ci", "ss", "ß", Greater),
        ("utf8mb4_general_ci", "a ", "a", Equal),
        ("utf8mb4_general_ci", "a\t", "a", Less),
        ("utf8mb4_general_ci", "a!", "a", Greater),
        ("utf8mb4_general_ci", "😀", "😁", Equal),
        ("utf8mb4_general_ci", "ё", "Е", Equal),
        ("utf8mb4_general_ci", "й", "и", Greater),
        ("utf8mb4_0900_ai_ci", "é", "E", Equal),
        ("utf8mb4_0900_ai_ci", "ss", "ß", Equal),
        ("utf8mb4_0900_ai_ci", "a ", "a", Greater),
        ("utf8mb4_0900_ai_ci", "Å", "a", Equal),
        ("utf8mb4_0900_ai_ci", "a\u{301}", "á", Equal),
        ("utf8mb4_0900_ai_ci", "a-b", "ab", Less),
        ("utf8mb4_0900_ai_ci", "_", "0", Less),
        ("utf8mb4_0900_ai_ci", "9", "a", Less),
        ("utf8mb4_0900_ai_ci", "z", "α", Less),
        ("utf8mb4_0900_ai_ci", "α", "Я", Less),
        ("utf8mb4_0900_ai_ci", "я", "あ", Less),
        ("utf8mb4_0900_ai_ci", "あ", "ア", Equal),
        ("utf8mb4_0900_ai_ci", "あ", "漢", Less),
        ("utf8mb4_0900_ai_ci", "一", "丁", Less),
        ("utf8mb4_0900_ai_ci", "가", "나", Less),
        ("utf8mb4_0900_ai_ci", "😀", "😁", Less),
        ("utf8mb4_0900_ai_ci", "æ", "ae", Equal),
        ("utf8mb4_0900_ai_ci", "a\0b", "ab", Equal),
        ("utf8mb4_0900_as_cs", "a", "A", Less),
        ("utf8mb4_0900_as_cs", "a", "á", Less),
        ("utf8mb4_0900_as_cs", "áb", "aB", Greater),
        ("utf8mb4_0900_as_ci", "a", "A", Equal),
        ("utf8mb4_0900_as_ci", "a", "á", Less),
        ("utf8mb4_de_pb_0900_ai_ci", "ä", "AE", Equal),
        ("utf8mb4_de_pb_0900_as_cs", "ä", "ae", Greater),
        ("utf8mb4_es_0900_ai_ci", "ñ", "nz", Greater),
        ("utf8mb4_es_0900_ai_ci", "ñ", "Ñ", Equal),
        ("utf8mb4_es_0900_as_cs", "ñ", "Ñ", Less),
        ("utf8mb4_es_0900_ai_ci", "ñ", "o", Less),
        ("utf8mb4_sv_0900_ai_ci", "å", "ä", Less),
        ("utf8mb4_sv_0900_ai_ci", "z", "å", Less),
        ("utf8mb4_sv_0900_ai_ci", "þ", "TH", Equal),
        ("utf8mb4_et_0900_ai_ci", "z", "t", Less),
        ("utf8mb4_is_0900_ai_ci", "az", "á", Less),
        ("utf8mb4_is_0900_ai_ci", "á", "b", Less),
        (
            "utf8mb4_lt_0900_as_cs",
            "i\u{307}\u{301}",
            "i\u{301}",
            Equal,
        ),
        ("utf8mb4_hu_0900_ai_ci", "ddzs", "dzsdzs", Equal),
        ("utf8mb4_hu_0900_ai_ci", "dzz", "dzs", Less),
        ("utf8mb4_ru_0900_ai_ci", "я", "a", Less),
        ("utf8mb4_ru_0900_ai_ci", "9", "а", Less),
        ("utf8mb4_ru_0900_as_cs", "ё", "Ё", Less),
        ("utf8mb4_hr_0900_ai_ci", "z", "а", Less),
        ("utf8mb4_hr_0900_ai_ci", "я", "α", Less),
        ("utf8mb4_hr_0900_ai_ci", "ǆ", "dž", Equal),
        ("utf8mb4_hr_0900_ai_ci", "džz", "đ", Less),
        ("utf8mb4_unicode_ci", "a ", "a", Equal),
        ("utf8mb4_unicode_ci", "ß", "SS", Equal),
        ("utf8mb4_bin", "a", "A", Greater),
        ("utf8mb4_bin", "a  ", "a", Equal),
        ("utf8mb4_bin", "a\u{1}", "a", Less),
        ("utf8mb4_bin", "\u{FFFD}", "😀", Less),
        ("utf8mb4_0900_bin", "a ", "a", Greater),
        ("ascii_general_ci", "a", "A", Equal),
        ("binary", "a", "a ", Less),
    ] {
        let coll = c(coll);
        assert_eq!(
            coll.compare(a.as_bytes(), b.as_bytes()),
            want,
            "{coll:?} {a:?} {b:?}"
        );
        assert_eq!(
            coll.compare(b.as_bytes(), a.as_bytes()),
            want.reverse(),
            "{coll:?} {b:?} {a:?}"
        );
        assert_eq!(coll.equal(a.as_bytes(), b.as_bytes()), want == Equal);
    }
    let sw = CollationId::LATIN1_SWEDISH_CI;
    // Z < Å < Ä = Æ < Ö; Ü = Y; É = E
    for (a, b, want) in [
        (0x5A, 0xC5, Less),
        (0xE5, 0xC4, Less),
        (0xC4, 0xE6, Equal),
        (0xE4, 0xF6, Less),
        (0xFC, b'y', Equal),
        (0xE9, b'E', Equal),
    ] {
        assert_eq!(sw.compare(&[a], &[b]), want, "{a:x} {b:x}");
    }
}

#[test]
fn latin1_general_tells_accents_apart() {
    use Ordering::{Equal, Greater, Less};
    let (ci, cs) = (c("latin1_general_ci"), c("latin1_general_cs"));
    for (a, b, in_ci, in_cs) in [
        (b'a', b'A', Equal, Greater),
        (b'a', 0xE4, Less, Less),
        (0xE4, 0xC4, Equal, Greater),
        (0xC4, b'b', Less, Less),
        (b'S', 0xDF, Less, Less),
        (0xDF, b't', Less, Less),
        (0xFF, b'y', Greater, Greater),
        (b'Z', b'[', Less, Less),
        (0xD7, 0xF7, Less, Less),
        (b'~', 0xD7, Less, Less),
        (0xF7, 0x7F, Less, Less),
    ] {
        assert_eq!(ci.compare(&[a], &[b]), in_ci, "{a:x} {b:x}");
        assert_eq!(cs.compare(&[a], &[b]), in_cs, "{a:x} {b:x}");
    }
    let mut out = Vec::new();
    ci.weight_string(b"aA\xE4\xC4\xDF\xBF", &mut out);
    assert_eq!(out, [0x41, 0x41, 0x4B, 0x4B, 0x97, 0xFF]);
    let distinct: std::collections::HashSet<u8> = (0..=255)
        .map(|b| {
            let mut out = Vec::new();
            cs.weight_string(&[b], &mut out);
            out[0]
        })
        .collect();
    assert_eq!(distinct.len(), 256);
}

#[test]
fn like_compares_bytes_of_latin1_by_weight() {
    let esc = Some(u32::from(b'\\'));
    for (name, text, pattern, want) in [
        ("latin1_swedish_ci", &b"\xD8"[..], &b"o"[..], false),
        ("latin1_swedish_ci", b"\xD8", b"\xF8", true),
        ("latin1_swedish_ci", b"\xC5", b"[", true),
        ("latin1_general_ci", b"ab_", b"AB\\_", true),
        ("latin1_general_ci", b"abc", b"a_C", true),
        ("latin1_general_ci", b"\xE4", b"a", false),
        ("latin1_general_cs", b"abc", b"%C", false),
        ("latin1_general_cs", b"abc", b"%c", true),
    ] {
        let got = c(name).like(text, pattern, esc);
        assert_eq!(got, want, "{name} {text:x?} {pattern:x?}");
    }
}

#[test]
fn weight_strings_of_general_ci() {
    for (s, want) in [
        ("aÉ", &[0, 0x41, 0, 0x45][..]),
        ("ß", &[0, 0x53]),
        ("й", &[4, 0x19]),
        ("😀", &[0xFF, 0xFD]),
    ] {
        let mut out = Vec::new();
        CollationId::UTF8MB4_GENERAL_CI.weight_string(s.as_bytes(), &mut out);
        assert_eq!(out, want, "{s}");
    }
}

/// As MySQL's manual has them, and the DUCET of Unicode 9.0.
#[test]
fn weight_strings_of_0900() {
    for (name, s, want) in [
        ("utf8mb4_0900_ai_ci", "AB", &[0x1C47, 0x1C60][..]),
        ("utf8mb4_0900_ai_ci", " ñ", &[0x209, 0x1DB9]),
        ("utf8mb4_0900_as_ci", "é", &[0x1CAA, 0, 0x20, 0x24]),
        ("utf8mb4_0900_as_cs", "A", &[0x1C47, 0, 0x20, 0, 8]),
        ("utf8mb4_es_0900_ai_ci", "ñ", &[0x1DB9, 0x54A5]),
        (
            "utf8mb4_es_0900_as_cs",
            "Ñ",
            &[0x1DB9, 0x54A5, 0, 0x20, 0, 8, 0x21],
        ),
    ] {
        let mut out = Vec::new();
        c(name).weight_string(s.as_bytes(), &mut out);
        let (pairs, _) = out.as_chunks::<2>();
        let got: Vec<u16> = pairs.iter().map(|b| u16::from_be_bytes(*b)).collect();
        assert_eq!(got, want, "{name} {s}");
    }
}

#[test]
fn like_matches() {
    let g = CollationId::UTF8MB4_GENERAL_CI;
    let bin = CollationId::UTF8MB4_BIN;
    let esc = Some(u32::from(b'\\'));
    for (coll, text, pattern, escape, want) in [
        (g, "David!", "David_", esc, true),
        (g, "David!", "%D%v%", esc, true),
        (g, "David_", "David\\_", esc, true),
        (g, "David!", "David\\_", esc, false),
        (g, "David_", "David|_", Some(u32::from(b'|')), true),
        (g, "abc", "ABC", esc, true),
        (bin, "abc", "ABC", esc, false),
        (g, "", "%", esc, true),
        (g, "", "_", esc, false),
        (g, "é", "_", esc, true),
        (g, "日本語", "_本%", esc, true),
        (g, "aaaaaaaaaaaaaaaaaaaaab", "%a%a%a%a%a%b", esc, true),
        (g, "aaaaaaaaaaaaaaaaaaaaa", "%a%a%a%a%a%b", esc, false),
        (g, "a ", "a", esc, false),
        (g, "a\\b", "a\\\\b", esc, true),
        (g, "a\\", "a\\", esc, true),
        (g, "10%", "10\\%", esc, true),
        (g, "10%", "10|%", None, false),
        (CollationId::DEFAULT, "É", "e", esc, true),
        (CollationId::DEFAULT, "ß", "ss", esc, false),
        (CollationId::BINARY, "\u{e9}", "__", esc, true),
    ] {
        assert_eq!(
            coll.like(text.as_bytes(), pattern.as_bytes(), escape),
            want,
            "{text} LIKE {pattern}"
        );
    }
}

#[test]
fn substring_search() {
    let g = CollationId::DEFAULT;
    assert_eq!(found(g, b"foobarBAR", b"BAR", 0), Some(3));
    assert_eq!(found(g, b"foobarBAR", b"bar", 4), Some(6));
    assert_eq!(found(g, "xéy".as_bytes(), b"Y", 0), Some(3));
    assert_eq!(found(g, b"abc", b"", 1), Some(1));
    assert_eq!(found(g, b"abc", b"z", 0), None);
    assert_eq!(
        found(CollationId::UTF8MB4_BIN, b"foobarBAR", b"BAR", 0),
        Some(6)
    );
}

#[test]
fn case_mapping() {
    let g = CollationId::DEFAULT;
    let (mut u, mut l) = (Vec::new(), Vec::new());
    g.upper("héllo ß я".as_bytes(), &mut u);
    g.lower("HÉLLO Я Σ".as_bytes(), &mut l);
    assert_eq!(String::from_utf8(u).unwrap(), "HÉLLO ß Я");
    assert_eq!(String::from_utf8(l).unwrap(), "héllo я σ");
    let mut b = Vec::new();
    CollationId::BINARY.upper(b"abc", &mut b);
    assert_eq!(b, b"abc");
    b.clear();
    CollationId::LATIN1_SWEDISH_CI.upper(b"\xE9a", &mut b);
    assert_eq!(b, b"\xC9A");
}

fn hash_of(c: CollationId, s: &[u8]) -> u64 {
    let mut h = DefaultHasher::new();
    c.hash(s, &mut h);
    h.finish()
}

fn key_of(c: CollationId, s: &[u8]) -> Vec<u8> {
    let mut k = Vec::new();
    c.write_key(s, &mut k);
    k
}

/// Text that meets itself often: few characters of many kinds.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let ch = prop::sample::select(vec![
        "a", "A", "b", "B", " ", "  ", "\t", "\u{1}", "\0", "!", "}", "~", "\u{7f}", "é", "E", "ß",
        "s", "\u{301}", "ö", "z", "я", "漢", "가", "각", "😀", "\u{FFFD}", "\u{FFFF}", "ﬁ", "ŋ",
        "ȼ", "-", "0", "\u{a0}", "\u{e000}",
    ]);
    prop_oneof![
        prop::collection::vec(ch, 0..6).prop_map(|v| v.concat().into_bytes()),
        any::<String>().prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..6),
    ]
}

proptest! {
    #![proptest_config(base::seeded!(2000))]

    #[test]
    fn keys_order_as_comparison(a in texts(), b in texts()) {
        for info in COLLATIONS {
            let c = CollationId(info.id);
            let (ka, kb) = (key_of(c, &a), key_of(c, &b));
            let want = c.compare(&a, &b);
            prop_assert_eq!(ka.cmp(&kb), want, "{} {:?} {:?} {:x?} {:x?}", info.name, &a, &b, &ka, &kb);
            prop_assert_eq!(c.key_len(&ka), Some(ka.len()), "{} {:?}", info.name, &a);
            prop_assert!(ka == kb || !kb.starts_with(&ka));
            if want == Ordering::Equal {
                prop_assert_eq!(hash_of(c, &a), hash_of(c, &b), "{}", info.name);
            }
            let mut joined = ka.clone();
            joined.extend_from_slice(&kb);
            prop_assert_eq!(c.key_len(&joined), Some(ka.len()));
        }
    }

    #[test]
    fn a_key_begins_with_its_head(a in texts(), b in "[ -~]{0,12}") {
        for info in COLLATIONS {
            let c = CollationId(info.id);
            for text in [[b.as_bytes(), &a].concat(), [&a, b.as_bytes()].concat()] {
                let begins = crate::keyenc::first_bytes(&key_of(c, &text));
                prop_assert!(c.key_head(&text).is_none_or(|h| h == begins), "{} {:x?}", info.name, &text);
            }
        }
    }

    #[test]
    fn the_head_of_a_key_is_known_from_eight_plain_letters(a in "[a-zA-Z0-9]{8,12}", b in texts()) {
        for name in ["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "latin1_swedish_ci", "utf8mb4_bin", "ascii_general_ci"] {
            let c = CollationId::by_name(name).unwrap();
            prop_assert!(c.key_head(&[a.as_bytes(), &b].concat()).is_some(), "{}", name);
        }
    }

    #[test]
    fn comparison_is_transitive(a in texts(), b in texts(), d in texts()) {
        for info in COLLATIONS {
            let c = CollationId(info.id);
            if c.compare(&a, &b).is_le() && c.compare(&b, &d).is_le() {
                prop_assert!(c.compare(&a, &d).is_le(), "{}", info.name);
            }
        }
    }

    #[test]
    fn a_search_finds_the_first_place(t in "[aAbB\u{e9}\u{c9}e \u{df}\u{1f600}\u{1}\u{200b}]{0,24}", n in "[aAbB\u{e9}e\u{df}\u{1f600}]{1,4}") {
        for info in COLLATIONS.iter().filter(|i| i.charset.is_utf8()) {
            let c = CollationId(info.id);
            let chars: Vec<char> = n.chars().collect();
            // As many bytes of as many characters that count as one.
            let alike = |at: usize| {
                let mut rest = t[at..].chars();
                let mut len = 0;
                chars.iter().all(|x| {
                    rest.next().is_some_and(|y| {
                        len += y.len_utf8();
                        c.like(y.to_string().as_bytes(), x.to_string().as_bytes(), None)
                    })
                }) && len == n.len()
            };
            let naive = t.char_indices().map(|(i, _)| i).find(|i| alike(*i));
            prop_assert_eq!(found(c, t.as_bytes(), n.as_bytes(), 0), naive, "{} {:?} {:?}", info.name, &t, &n);
        }
    }

    #[test]
    fn a_pattern_matches_where_some_places_of_its_parts_do(t in "[aAbB1 \u{e9}\u{c9}e]{0,12}", p in "[aAbB1 \u{e9}e%_]{0,6}") {
        fn naive(one: &dyn Fn(char, char) -> bool, t: &[char], p: &[char]) -> bool {
            match (p.first(), t.first()) {
                (None, None) => true,
                (Some('%'), _) => (0..=t.len()).any(|n| naive(one, &t[n..], &p[1..])),
                (Some('_'), Some(_)) => naive(one, &t[1..], &p[1..]),
                (Some(x), Some(y)) => one(*x, *y) && naive(one, &t[1..], &p[1..]),
                _ => false,
            }
        }
        for info in COLLATIONS.iter().filter(|i| i.charset.is_utf8()) {
            let c = CollationId(info.id);
            let one = |x: char, y: char| c.like(y.to_string().as_bytes(), x.to_string().as_bytes(), None);
            let (texts, parts): (Vec<char>, Vec<char>) = (t.chars().collect(), p.chars().collect());
            let expected = naive(&one, &texts, &parts);
            prop_assert_eq!(c.like(t.as_bytes(), p.as_bytes(), None), expected, "{} {:?} {:?}", info.name, &t, &p);
        }
    }

    #[test]
    fn like_is_total(t in texts(), p in texts()) {
        for id in [255, 45, 46, 63, 8] {
            CollationId(id).like(&t, &p, Some(92));
            prop_assert!(CollationId(id).like(&t, b"%", None));
        }
    }

    #[test]
    fn escaped_bytes_round_trip(b in prop::collection::vec(0u8..4, 0..12)) {
        let mut k = Vec::new();
        key::write_bytes(&b, &mut k);
        let n = k.len();
        k.push(9);
        let mut back = Vec::new();
        prop_assert_eq!(key::read_bytes(&k, &mut back), Some(n));
        prop_assert_eq!(back, b);
    }
}

fn found(c: CollationId, text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    c.find(text, needle, from, &Pace::unwatched()).unwrap()
}

#[test]
fn a_search_is_linear_under_every_collation() {
    let text = "a".repeat(1 << 20);
    let needle = "a".repeat(1 << 19) + "b";
    let begun = std::time::Instant::now();
    for info in COLLATIONS {
        let c = CollationId(info.id);
        assert_eq!(found(c, text.as_bytes(), needle.as_bytes(), 0), None);
        let there = format!("{text}b");
        assert_eq!(
            found(c, there.as_bytes(), needle.as_bytes(), 0),
            Some(1 << 19),
            "{}",
            info.name
        );
    }
    // By hand it is 2^38 comparisons for each.
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn long_work_is_ended() {
    struct Stop;
    impl crate::Watch for Stop {
        fn look(&self) -> Result<(), SqlError> {
            Err(SqlError::query_interrupted())
        }
    }
    let text = "a".repeat(1 << 20);
    let pattern = "%a%a%a%a%a%b".as_bytes();
    let c = CollationId::DEFAULT;
    let pace = Pace::new(Some(&Stop));
    let like = c.like_paced(text.as_bytes(), pattern, None, &pace);
    assert_eq!(like.unwrap_err().code, 1317);
    for id in [255, 45, 46, 63, 8] {
        let pace = Pace::new(Some(&Stop));
        let found = CollationId(id).find(text.as_bytes(), b"b", 0, &pace);
        assert_eq!(found.unwrap_err().code, 1317, "{id}");
    }
}
