//! The type that an expression has by MySQL 8.0's rules: what the rules of the list of documented differences speak of.

use super::catalog::Form;
use super::node::{Kind, Node};

/// A type, as fine as the reasons for differences need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// A signed integer.
    Int,
    /// An unsigned one.
    Unsigned,
    /// DECIMAL.
    Decimal,
    /// FLOAT and DOUBLE.
    Real,
    /// A condition, which is an integer.
    Truth,
    /// YEAR.
    Year,
    /// Text of a character set.
    Text,
    /// Bytes.
    Bytes,
    /// A literal of bits: bytes, or a number where one is asked for.
    Bits,
    /// BIT.
    Bit,
    /// ENUM and SET.
    Label,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME and TIMESTAMP.
    DateTime,
    /// JSON.
    Json,
    /// NULL, and what can be nothing else.
    Null,
    /// A word that is no expression.
    Word,
}

use Typed::{
    Bit, Bits, Bytes, Date, DateTime, Decimal, Int, Json, Label, Null, Real, Text, Time, Truth,
    Unsigned, Word, Year,
};

/// How the type of a form's result follows from those of its places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// It is always this.
    Is(Typed),
    /// That of a place.
    Place(usize),
    /// A number like those it is made of: floating point beside floating point and text, else exact.
    Number,
    /// The same of a quotient: never an integer.
    Quotient,
    /// The same without a fraction.
    Whole,
    /// The same of SUM and AVG: of integers a decimal.
    Sum,
    /// BIGINT UNSIGNED, or bytes of bytes.
    Bitwise,
    /// Text, or bytes where bytes are among its places.
    String,
    /// A date and time, a time, or text: as the first place.
    AddTime,
    /// A date, a time or text as the place says.
    AddInterval(usize),
    /// What holds all of these places.
    Mix(&'static [usize]),
}

impl Typed {
    /// The type by the word of the list.
    pub fn named(word: &str) -> Option<&'static [Typed]> {
        Some(match word {
            "int" => &[Int, Truth],
            "unsigned" => &[Unsigned],
            "decimal" => &[Decimal],
            "real" => &[Real],
            "truth" => &[Truth],
            "year" => &[Year],
            "text" => &[Text],
            "bytes" => &[Bytes],
            "bits" => &[Bits],
            "bit" => &[Bit],
            "label" => &[Label],
            "date" => &[Date],
            "time" => &[Time],
            "datetime" => &[DateTime],
            "json" => &[Json],
            "null" => &[Null],
            "number" => &[Int, Unsigned, Decimal, Real, Truth, Year],
            "whole" => &[Int, Unsigned, Truth, Year],
            "string" => &[Text, Bytes, Bits, Label],
            "temporal" => &[Date, Time, DateTime],
            "dated" => &[Date, DateTime],
            _ => return None,
        })
    }

    fn is_number(self) -> bool {
        matches!(self, Int | Unsigned | Decimal | Real | Truth | Year | Bit)
    }
}

/// The type of a tree.
pub fn of(node: &Node) -> Typed {
    match node {
        Node::Leaf { kind, .. } if word(*kind) => Word,
        Node::Leaf { text, .. } => leaf(text),
        Node::Form { form, places, .. } => result(form, places),
    }
}

/// Whether what stands in a place of this kind is no expression.
fn word(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Unit
            | Kind::CompoundUnit
            | Kind::Charset
            | Kind::ColumnType
            | Kind::Field
            | Kind::Length
    )
}

fn leaf(text: &[u8]) -> Typed {
    let sql = std::str::from_utf8(text).unwrap_or("'");
    match sql {
        "NULL" => return Null,
        "TRUE" | "FALSE" => return Truth,
        _ => {}
    }
    if let Some(typed) = column(sql) {
        return typed;
    }
    match text {
        [b'0', b'x' | b'b', ..] | [b'b' | b'x', b'\'', ..] => Bits,
        [b'D', b'A', ..] => Date,
        [b'T', b'I', b'M', b'E', b'\'', ..] => Time,
        [b'T', b'I', ..] => DateTime,
        _ if sql.starts_with("_binary") => Bytes,
        [b'0'..=b'9' | b'-' | b'.', ..] => number(sql),
        _ => Text,
    }
}

fn number(sql: &str) -> Typed {
    if sql.contains('e') {
        Real
    } else if sql.parse::<i64>().is_ok() {
        Int
    } else if sql.parse::<u64>().is_ok() {
        Unsigned
    } else {
        Decimal
    }
}

/// The columns of `v` and `c`, by the names that `words` gives them.
fn column(name: &str) -> Option<Typed> {
    Some(match name {
        "i" | "id" | "c_tiny" | "c_small" | "c_int" | "c_big" => Int,
        "u" | "c_tinyu" | "c_intu" | "c_bigu" => Unsigned,
        "de" | "c_dec" | "c_decu" => Decimal,
        "f" | "db" | "c_float" | "c_double" => Real,
        "y" | "c_year" => Year,
        "bi" | "c_bit" => Bit,
        "s" | "l" | "c_char" | "c_varchar" | "c_latin" | "c_text" => Text,
        "b" | "c_binary" | "c_varbinary" | "c_blob" => Bytes,
        "e" | "st" | "c_enum" | "c_set" => Label,
        "dt" | "c_datetime" | "c_datetime3" | "c_timestamp" => DateTime,
        "d" | "c_date" => Date,
        "t" | "c_time" | "c_time2" => Time,
        _ => return None,
    })
}

fn result(form: &Form, places: &[Node]) -> Typed {
    let all = || places.iter().map(of).filter(|t| *t != Word);
    let at = |place: usize| places.get(place).map_or(Null, of);
    match form.gives {
        Gives::Is(typed) => typed,
        Gives::Place(place) => at(place),
        Gives::Number => all().map(as_number).reduce(wider).unwrap_or(Null),
        Gives::Quotient => match all().map(as_number).reduce(wider) {
            Some(Real) => Real,
            _ => Decimal,
        },
        Gives::Whole => match as_number(at(0)) {
            Decimal => Int,
            typed => typed,
        },
        Gives::Sum => match as_number(at(0)) {
            Real => Real,
            _ => Decimal,
        },
        Gives::Bitwise => {
            let bytes = all().any(|t| t == Bytes) && all().all(|t| matches!(t, Bytes | Bits));
            if bytes { Bytes } else { Unsigned }
        }
        Gives::String => {
            let bytes = all().any(|t| matches!(t, Bytes | Bits | Bit));
            if bytes { Bytes } else { Text }
        }
        Gives::AddTime => match at(0) {
            Time => Time,
            Date | DateTime => DateTime,
            _ => Text,
        },
        Gives::AddInterval(place) => match at(place) {
            typed @ (Date | Time | DateTime) => typed,
            _ => Text,
        },
        Gives::Mix(mixed) => mixed.iter().map(|p| at(*p)).reduce(holds).unwrap_or(Null),
    }
}

/// What a value of this type is to arithmetic.
fn as_number(typed: Typed) -> Typed {
    match typed {
        Int | Truth | Date | Time | DateTime | Null => Int,
        Unsigned | Year | Bits | Bit => Unsigned,
        Decimal => Decimal,
        _ => Real,
    }
}

fn wider(a: Typed, b: Typed) -> Typed {
    [Real, Decimal, Unsigned]
        .into_iter()
        .find(|t| a == *t || b == *t)
        .unwrap_or(Int)
}

/// The type of a column that holds both.
fn holds(a: Typed, b: Typed) -> Typed {
    match (a, b) {
        (Null, other) | (other, Null) => other,
        (a, b) if a == b => match a {
            Label => Text,
            a => a,
        },
        (Int | Unsigned | Truth | Year, Int | Unsigned | Truth | Year) => match (a, b) {
            (Unsigned, _) | (_, Unsigned) => Decimal,
            _ => Int,
        },
        (a, b) if a.is_number() && b.is_number() => wider(as_number(a), as_number(b)),
        (Date | Time | DateTime, Date | Time | DateTime) => DateTime,
        (Json, _) | (_, Json) => Text,
        (Bytes | Bits | Bit, _) | (_, Bytes | Bits | Bit) => Bytes,
        _ => Text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalog;
    use super::super::words::Scope;
    use super::*;
    use harness::rng::Rng;

    fn filled(text: &str, places: &[&str]) -> Typed {
        let mut forms = catalog::FORMS.iter().flat_map(|(_, forms)| *forms);
        let form = forms.find(|f| f.text == text).unwrap();
        let scope = Scope {
            columns: true,
            charset: "utf8mb4",
        };
        let mut node = Node::fill(&mut Rng::new(1), form, 0, scope, false);
        if let Node::Form { places: of, .. } = &mut node {
            for (place, text) in of.iter_mut().zip(places) {
                *place = Node::literal(text, Kind::Any, None);
            }
        }
        super::of(&node)
    }

    #[test]
    fn results() {
        assert_eq!(filled("{num} + {num}", &["1", "1.5"]), Decimal);
        assert_eq!(filled("{num} + {num}", &["1", "'a'"]), Real);
        assert_eq!(filled("{num} / {num}", &["1", "1"]), Decimal);
        assert_eq!(filled("CONCAT({any}, {any})", &["1", "0x41"]), Bytes);
        assert_eq!(filled("ADDTIME({time}, {time})", &["1", "t"]), Text);
        assert_eq!(filled("IFNULL({any}, {any})", &["NULL", "d"]), Date);
        assert_eq!(filled("IFNULL({any}, {any})", &["1", "'a'"]), Text);
        assert_eq!(
            filled("IF({any}, {any}, {any})", &["'a'", "1", "u"]),
            Decimal
        );
        assert_eq!(filled("NULLIF({any}, {any})", &["e", "1"]), Label);
        assert_eq!(filled("{int} & {int}", &["b", "0x41"]), Bytes);
        assert_eq!(
            filled("TIMESTAMPADD({unit}, {int}, {time})", &["DAY", "1", "dt"]),
            DateTime
        );
    }

    #[test]
    fn literals() {
        assert_eq!(leaf(b"-1"), Int);
        assert_eq!(leaf(b"18446744073709551615"), Unsigned);
        assert_eq!(leaf(b"18446744073709551616"), Decimal);
        assert_eq!(leaf(b"1e5"), Real);
        assert_eq!(leaf(b"x'41'"), Bits);
        assert_eq!(leaf(b"N'a'"), Text);
        assert_eq!(leaf(b"TIMESTAMP'2001-02-03 04:05:06'"), DateTime);
    }
}
