//! The leaves of the grammar: literals of every kind, columns, and words that are no expressions (units, character sets, types).

use super::node::{Kind, Node};
use harness::rng::Rng;
use wire::client::Value;

/// One of `all`.
pub fn pick<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

/// The same where it is not to be copied.
pub fn one<T>(rng: &mut Rng, all: &'static [T]) -> &'static T {
    &all[rng.below(all.len() as u64) as usize]
}

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "10",
    "12",
    "65",
    "99",
    "100",
    "127",
    "128",
    "-128",
    "255",
    "256",
    "1000",
    "32767",
    "65535",
    "65536",
    "20010203",
    "101112",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "TRUE",
    "FALSE",
];

const DECIMALS: &[&str] = &[
    "0.0",
    "0.5",
    "-0.5",
    "1.5",
    "2.5",
    "-1.5",
    "1.999",
    "0.25",
    "1.10",
    "12.345",
    "123.456",
    "99999.99999",
    "0.000001",
    ".5",
    "5.",
    "-99.99",
    "20010203101112.5",
    "12345678901234567890.123456789",
    "99999999999999999999999999",
    "18446744073709551616",
];

const DOUBLES: &[&str] = &[
    "0e0",
    "1e0",
    "1.5e0",
    "-2.5e3",
    "1e-5",
    "3.14159e0",
    "1e15",
    "1e16",
    "1e20",
    "-1e20",
    "9.5e18",
    "1e100",
    "2e0",
    "0.1e0",
];

const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'A'",
    "'b'",
    "'abc'",
    "' a '",
    "'a '",
    "'0'",
    "'1'",
    "'-1'",
    "'1.5'",
    "'1e2'",
    "'abc1'",
    "'12abc'",
    "' 12'",
    "'12 '",
    "'0x41'",
    "'a,b,c'",
    "'a%'",
    "'a_c'",
    "'it''s'",
    "'a\\nb'",
    "'YWJj'",
    "'616263'",
    "'9999999999999999999'",
    "'true'",
    "'null'",
    "'x' 'y'",
    "N'abc'",
    "_latin1'abc'",
    "_binary'abc'",
    "_utf8mb4'abc' COLLATE utf8mb4_general_ci",
];

/// Texts that need more than ASCII; written in the character set of the connection.
const WIDE_TEXTS: &[&str] = &["'ä'", "'Ä'", "'ß'", "'é'", "'aé'", "'Åa'", "'ÿ'"];
const WIDER_TEXTS: &[&str] = &["'日本'", "'😀'", "'ñ日'", "'a😀b'", "'Ω'", "'ё'"];

const BYTES: &[&str] = &[
    "0x41",
    "x'4142'",
    "0x00",
    "0xFF",
    "0x0102030405060708",
    "0x31",
    "0x6162",
    "0x0A",
    "b'1010'",
    "0b01",
    "b'01000001'",
    "b'11111111'",
];

const TIMES: &[&str] = &[
    "DATE'2001-02-03'",
    "DATE'2000-02-29'",
    "DATE'1999-12-31'",
    "TIME'10:11:12'",
    "TIME'-01:02:03.5'",
    "TIME'838:59:59'",
    "TIMESTAMP'2001-02-03 04:05:06'",
    "TIMESTAMP'2001-02-03 04:05:06.789'",
    "TIMESTAMP'2038-01-19 03:14:07'",
    "'2001-02-03'",
    "'2001-02-03 04:05:06'",
    "'2001-02-03 04:05:06.123456'",
    "'10:11:12'",
    "'10:11:12.5'",
    "'-10:11:12'",
    "'2001-02-30'",
    "'0000-00-00'",
    "'2001-00-01'",
    "'20010203'",
    "20010203",
    "20010203040506",
    "'1 10:11:12'",
    "'01-02-03'",
    "'2001-2-3'",
    "'99:99:99'",
    "'2001-02-03x'",
    "101112",
    "'2001.02.03'",
];

const JSON: &[&str] = &[
    "'{\"a\": 1, \"b\": [1, 2, {\"c\": \"x\"}]}'",
    "'[1, 2.5, \"a\", null, true]'",
    "'1'",
    "'\"a\"'",
    "'[]'",
    "'{}'",
    "'{\"a\": {\"b\": 2}}'",
    "'['",
];

const PATHS: &[&str] = &[
    "'$'",
    "'$.a'",
    "'$.b[1]'",
    "'$[0]'",
    "'$.b[2].c'",
    "'$[*]'",
    "'$.x'",
];

const FORMATS: &[&str] = &[
    "'%Y-%m-%d'",
    "'%H:%i:%s'",
    "'%Y-%m-%d %H:%i:%s.%f'",
    "'%W %M %e %y'",
    "'%j %U %u %V %v'",
    "'%a %b %D'",
    "'%h %p %r %T'",
    "'%X %x %w'",
    "'%d.%m.%Y'",
    "'%%x'",
    "'%k %l %I'",
    "'%c'",
];

const UNITS: &[&str] = &[
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
];

const COMPOUND_UNITS: &[&str] = &[
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_MICROSECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
    "DAY_MICROSECOND",
    "DAY_SECOND",
    "DAY_MINUTE",
    "DAY_HOUR",
    "YEAR_MONTH",
];

const PATTERNS: &[&str] = &[
    "'a'",
    "'^a'",
    "'b$'",
    "'[a-c]+'",
    "'a|b'",
    "'.'",
    "'^$'",
    "'[[:digit:]]+'",
    "'(ab)+'",
    "'a{2}'",
];

/// Columns of `v`.
const COLUMNS: &[(Kind, &[&str])] = &[
    (Kind::Number, &["i", "u", "de", "f", "db", "y", "bi"]),
    (Kind::Int, &["i", "u", "y", "bi"]),
    (Kind::Text, &["s", "l", "b", "e", "st"]),
    (Kind::Time, &["dt", "d", "t", "y"]),
];

/// The columns of `c`, which values are converted into.
pub const TARGETS: &[&str] = &[
    "c_tiny",
    "c_tinyu",
    "c_small",
    "c_int",
    "c_intu",
    "c_big",
    "c_bigu",
    "c_dec",
    "c_decu",
    "c_float",
    "c_double",
    "c_bit",
    "c_char",
    "c_varchar",
    "c_latin",
    "c_text",
    "c_binary",
    "c_varbinary",
    "c_blob",
    "c_date",
    "c_datetime",
    "c_datetime3",
    "c_timestamp",
    "c_time",
    "c_time2",
    "c_year",
    "c_enum",
    "c_set",
];

/// The table `c`.
pub const TARGET_TABLE: &str = "CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, c_tiny TINYINT, \
    c_tinyu TINYINT UNSIGNED, c_small SMALLINT, c_int INT, c_intu INT UNSIGNED, c_big BIGINT, c_bigu BIGINT UNSIGNED, \
    c_dec DECIMAL(6,2), c_decu DECIMAL(5,1) UNSIGNED, c_float FLOAT, c_double DOUBLE, c_bit BIT(10), \
    c_char CHAR(4), c_varchar VARCHAR(6), c_latin VARCHAR(6) CHARACTER SET latin1, c_text TEXT, c_binary BINARY(4), \
    c_varbinary VARBINARY(6), c_blob BLOB, c_date DATE, c_datetime DATETIME, c_datetime3 DATETIME(3), \
    c_timestamp TIMESTAMP NULL, c_time TIME, c_time2 TIME(2), c_year YEAR, c_enum ENUM('a','b','12'), \
    c_set SET('a','b','12')) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci";

/// The table `v`: a row for each kind of value that expressions are made over.
pub const VALUE_TABLE: &[&str] = &[
    "CREATE TABLE v (id INT PRIMARY KEY, i INT, u BIGINT UNSIGNED, de DECIMAL(10,3), f FLOAT, db DOUBLE, \
     s VARCHAR(20), l VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci, b VARBINARY(20), dt DATETIME(3), d DATE, \
     t TIME, y YEAR, bi BIT(10), e ENUM('a','b','c'), st SET('a','b','c'), KEY (i), KEY (s), KEY (dt)) \
     CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "INSERT INTO v VALUES (1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),\
     (2,0,0,0,0,0,'','','','2000-01-01','2000-01-01','00:00:00',2000,0,'a',''),\
     (3,1,1,1.5,1.5,1.5,'a','a','a','2001-02-03 04:05:06.789','2001-02-03','10:11:12',2001,b'1','a','a'),\
     (4,-1,18446744073709551615,-1.5,-0.25,-1e20,'A','A','A','1999-12-31 23:59:59','1999-12-31','-10:11:12',1999,\
     b'1111111111','b','a,b'),\
     (5,2147483647,9223372036854775807,9999999.999,100,1e15,'12abc','12abc','12abc','2038-01-19 03:14:07','2024-02-29',\
     '838:59:59',2155,b'101','c','a,b,c'),\
     (6,-2147483648,2,0.001,0.5,0.1,'1.5','1.5','1.5','2024-02-29 12:00:00','1970-01-01','00:00:01',1970,b'10','b','c')",
];

/// Field texts for LOAD DATA, as they stand in a file.
const FIELDS: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "300",
    "1.5",
    "2.55",
    "abc",
    "12abc",
    "a",
    "a,b",
    "12",
    "\\N",
    "NULL",
    "\"a\"",
    "\"\"",
    "2001-02-03",
    "2001-02-30",
    "2001-02-03 04:05:06",
    "10:11:12",
    "1e3",
    "a\\tb",
    "99999999999",
    "  7",
    "7  ",
    "ä",
    "abcdefgh",
    "0000-00-00",
    "2001",
    "\\0",
    "\\\\",
    "x\\",
];

/// Column definitions for a table with a DEFAULT.
const COLUMN_TYPES: &[&str] = &[
    "TINYINT",
    "INT",
    "BIGINT UNSIGNED",
    "DECIMAL(6,2)",
    "DOUBLE",
    "BIT(10)",
    "CHAR(4)",
    "VARCHAR(6)",
    "VARCHAR(6) CHARACTER SET latin1",
    "BINARY(4)",
    "VARBINARY(6)",
    "DATE",
    "DATETIME",
    "DATETIME(3)",
    "TIME",
    "YEAR",
    "ENUM('a','b','12')",
    "SET('a','b','12')",
];

/// What leaves may be made of.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// Columns of `v` may stand in expressions.
    pub columns: bool,
    /// The character set in which text is sent.
    pub charset: &'static str,
}

/// A leaf of `kind`.
pub fn leaf(rng: &mut Rng, kind: Kind, scope: Scope) -> Node {
    if let Some(words) = words_of(kind) {
        return Node::word(pick(rng, words), kind);
    }
    if scope.columns
        && rng.one_in(3)
        && let Some((_, names)) = COLUMNS
            .iter()
            .find(|(of, _)| *of == kind || (kind == Kind::Any && rng.one_in(3)))
    {
        return Node::word(pick(rng, names), kind);
    }
    if kind != Kind::Position && rng.one_in(16) {
        return Node::literal("NULL", kind, Some(Value::Null));
    }
    match kind {
        Kind::Position => integer(&(rng.below(12) as i64 - 2).to_string(), kind),
        Kind::Int if rng.one_in(8) => Node::literal(pick(rng, BYTES), kind, None),
        Kind::Int => integer(pick(rng, INTEGERS), kind),
        Kind::Number => number(rng),
        Kind::Time => time(pick(rng, TIMES), kind),
        Kind::Json => text(pick(rng, JSON), kind, scope),
        Kind::Text => some_text(rng, scope),
        Kind::Literal | Kind::Any | Kind::Truth => match rng.below(10) {
            0..4 => number(rng),
            4..7 => some_text(rng, scope),
            7 => Node::literal(pick(rng, BYTES), kind, None),
            _ => time(pick(rng, TIMES), kind),
        },
        _ => Node::literal("NULL", kind, Some(Value::Null)),
    }
}

/// The words of a kind that is no expression.
fn words_of(kind: Kind) -> Option<&'static [&'static str]> {
    Some(match kind {
        Kind::Unit => UNITS,
        Kind::CompoundUnit => COMPOUND_UNITS,
        Kind::Format => FORMATS,
        Kind::Pattern => PATTERNS,
        Kind::Path => PATHS,
        Kind::Charset => &["utf8mb4", "latin1", "binary", "utf8mb3", "ascii"],
        Kind::Address => &[
            "'1.2.3.4'",
            "'255.255.255.255'",
            "'1.2'",
            "'::1'",
            "'::ffff:1.2.3.4'",
            "'1:2'",
            "''",
        ],
        Kind::Length => &["0", "1", "2", "5", "10"],
        Kind::Target => TARGETS,
        Kind::Field => FIELDS,
        Kind::ColumnType => COLUMN_TYPES,
        _ => return None,
    })
}

fn integer(word: &str, kind: Kind) -> Node {
    let value = match word {
        "TRUE" => Some(Value::Int(1)),
        "FALSE" => Some(Value::Int(0)),
        _ => word.parse().map(Value::Int).ok(),
    };
    let value = value.or_else(|| word.parse().map(Value::UInt).ok());
    Node::literal(word, kind, value)
}

fn number(rng: &mut Rng) -> Node {
    match rng.below(10) {
        0..4 => integer(pick(rng, INTEGERS), Kind::Number),
        4..7 => Node::literal(pick(rng, DECIMALS), Kind::Number, None),
        7 => {
            let word = pick(rng, DOUBLES);
            Node::literal(word, Kind::Number, word.parse().map(Value::Double).ok())
        }
        8 => Node::literal(pick(rng, BYTES), Kind::Number, None),
        _ => Node::literal(
            pick(rng, &["'1'", "'1.5'", "'abc'", "'12abc'", "'-3'", "''"]),
            Kind::Number,
            None,
        ),
    }
}

fn some_text(rng: &mut Rng, scope: Scope) -> Node {
    let word = match rng.below(8) {
        0 if scope.charset != "ascii" => pick(rng, WIDE_TEXTS),
        1 if !matches!(scope.charset, "ascii" | "latin1") => pick(rng, WIDER_TEXTS),
        _ => pick(rng, TEXTS),
    };
    text(word, Kind::Text, scope)
}

/// A text in the bytes of the connection's character set.
fn text(word: &str, kind: Kind, scope: Scope) -> Node {
    let bytes: Vec<u8> = match scope.charset {
        "latin1" => word
            .chars()
            .map(|c| u8::try_from(c).unwrap_or(b'?'))
            .collect(),
        "utf8mb3" => word
            .chars()
            .map(|c| if c.len_utf8() < 4 { c } else { 'x' })
            .collect::<String>()
            .into_bytes(),
        _ => word.as_bytes().to_vec(),
    };
    // A text without an escape or a prefix is its own value.
    let plain = bytes
        .strip_prefix(b"'")
        .and_then(|rest| rest.strip_suffix(b"'"))
        .filter(|inner| !inner.contains(&b'\'') && !inner.contains(&b'\\'))
        .map(|inner| Value::Bytes(inner.to_vec()));
    Node::Leaf {
        text: bytes,
        kind,
        literal: true,
        value: plain,
    }
}

fn time(word: &str, kind: Kind) -> Node {
    if word.starts_with('\'') {
        let inner = word.trim_matches('\'');
        return Node::literal(word, kind, Some(Value::from(inner)));
    }
    Node::literal(word, kind, word.parse().map(Value::Int).ok())
}
