//! From what a client assigned to the value a variable takes: types, limits, words. Pure: knows the
//! definition and the input, not the session.

use super::charsets;
use super::def::{VarDef, VarDefault, VarKind};
use super::error::{VarError, VarWarning};
use super::sql_mode::SqlMode;
use super::value::VarValue;
use types::temporal::TimeZone;
use types::temporal::locale::Locale;

/// What SET gives a variable.
#[derive(Debug, Clone, PartialEq)]
pub enum VarInput {
    /// DEFAULT.
    Default,
    /// NULL.
    Null,
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A number with a fraction or exponent.
    Double(f64),
    /// A string or a bare word.
    Text(String),
}

impl VarInput {
    /// How an error message shows it.
    fn shown(&self) -> String {
        match self {
            VarInput::Default => "DEFAULT".to_owned(),
            VarInput::Null => "NULL".to_owned(),
            VarInput::Int(i) => i.to_string(),
            VarInput::Uint(u) => u.to_string(),
            VarInput::Double(d) => d.to_string(),
            VarInput::Text(t) => t.clone(),
        }
    }

    fn integer(&self) -> Option<i128> {
        match self {
            VarInput::Int(i) => Some(i128::from(*i)),
            VarInput::Uint(u) => Some(i128::from(*u)),
            _ => None,
        }
    }
}

/// The default of a variable as a value.
pub fn default_value(def: &VarDef) -> VarValue {
    match def.default {
        VarDefault::Bool(b) => VarValue::Bool(b),
        VarDefault::Int(i) => VarValue::Int(i),
        VarDefault::Uint(u) => VarValue::Uint(u),
        VarDefault::Double(d) => VarValue::Double(d),
        VarDefault::Null => VarValue::Null,
        VarDefault::Text(t) => match convert_any(def, &VarInput::Text(t.to_owned()), 0, false) {
            Ok((v, _)) => v,
            Err(_) => VarValue::text(t),
        },
    }
}

/// The value that `input` makes of the variable; `current` is the value it has (for switches), `strict`
/// turns a number out of limits from a warning into an error, as STRICT_ALL_TABLES does.
///
/// # Errors
/// 1231, 1232, and of the special kinds 1115, 1273, 1298, 1286.
pub fn convert(
    def: &VarDef,
    input: &VarInput,
    current: u64,
    strict: bool,
) -> Result<(VarValue, Option<VarWarning>), VarError> {
    let (value, warning) = convert_any(def, input, current, strict)?;
    match def.fixed && value != default_value(def) {
        true => Err(VarError::WrongValue(def.name, input.shown())),
        false => Ok((value, warning)),
    }
}

/// The same, also where the variable takes nothing but its default.
fn convert_any(
    def: &VarDef,
    input: &VarInput,
    current: u64,
    strict: bool,
) -> Result<(VarValue, Option<VarWarning>), VarError> {
    let wrong_value = || VarError::WrongValue(def.name, input.shown());
    match &def.kind {
        VarKind::Bool => to_bool(input)
            .ok_or_else(|| match input {
                VarInput::Double(_) => VarError::WrongType(def.name),
                _ => wrong_value(),
            })
            .map(|b| (VarValue::Bool(b), None)),
        VarKind::Int { min, max } => {
            let n = whole(def, input)?;
            let kept = n.clamp(i128::from(*min), i128::from(*max));
            let w = bounds(def, n, kept, input, strict)?;
            Ok((VarValue::Int(kept as i64), w))
        }
        VarKind::Uint { min, max, step } => {
            let n = whole(def, input)?;
            let kept = n.clamp(i128::from(*min), i128::from(*max));
            let kept = (kept - kept % i128::from(*step)).max(i128::from(*min));
            let w = bounds(def, n, kept, input, strict)?;
            Ok((VarValue::Uint(kept as u64), w))
        }
        VarKind::Double { min, max } => {
            let d = match input {
                VarInput::Double(d) => *d,
                VarInput::Int(i) => *i as f64,
                VarInput::Uint(u) => *u as f64,
                VarInput::Null => return Err(wrong_value()),
                _ => return Err(VarError::WrongType(def.name)),
            };
            let kept = d.clamp(*min, *max);
            if kept != d && strict {
                return Err(wrong_value());
            }
            let w = (kept != d).then(|| VarWarning::truncated(def.name, &input.shown()));
            Ok((VarValue::Double(kept), w))
        }
        VarKind::Enum(words) => match input {
            VarInput::Text(t) => {
                let yes_no = words.first() == Some(&"OFF") && words.get(1) == Some(&"ON");
                let t = match () {
                    () if yes_no && t.eq_ignore_ascii_case("true") => "ON",
                    () if yes_no && t.eq_ignore_ascii_case("false") => "OFF",
                    () => t.as_str(),
                };
                words
                    .iter()
                    .position(|w| w.eq_ignore_ascii_case(t))
                    .map(|i| (VarValue::Uint(i as u64), None))
                    .ok_or_else(wrong_value)
            }
            VarInput::Double(_) => Err(VarError::WrongType(def.name)),
            _ => match input.integer() {
                Some(n) if n >= 0 && (n as usize) < words.len() => {
                    Ok((VarValue::Uint(n as u64), None))
                }
                _ => Err(wrong_value()),
            },
        },
        VarKind::Set(words) => to_set(def, words, input),
        VarKind::SqlMode => {
            let mode = match input {
                VarInput::Text(t) => SqlMode::parse(t),
                VarInput::Double(_) => return Err(VarError::WrongType(def.name)),
                _ => match input.integer().and_then(|n| u64::try_from(n).ok()) {
                    Some(bits) => SqlMode::from_number(bits),
                    None => Err(input.shown()),
                },
            };
            mode.map(|m| (VarValue::Uint(m.bits()), None))
                .map_err(|word| VarError::WrongValue(def.name, word))
        }
        VarKind::Switches(words) => to_switches(def, words, input, current),
        _ => to_text(def, input).map(|v| (v, None)),
    }
}

fn to_bool(input: &VarInput) -> Option<bool> {
    match input {
        VarInput::Int(0) | VarInput::Uint(0) => Some(false),
        VarInput::Int(1) | VarInput::Uint(1) => Some(true),
        VarInput::Text(t) => match t.to_ascii_lowercase().as_str() {
            "on" | "true" => Some(true),
            "off" | "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn whole(def: &VarDef, input: &VarInput) -> Result<i128, VarError> {
    match input {
        VarInput::Null => Err(VarError::WrongValue(def.name, input.shown())),
        _ => input.integer().ok_or(VarError::WrongType(def.name)),
    }
}

fn bounds(
    def: &VarDef,
    given: i128,
    kept: i128,
    input: &VarInput,
    strict: bool,
) -> Result<Option<VarWarning>, VarError> {
    if given == kept {
        Ok(None)
    } else if strict {
        Err(VarError::WrongValue(def.name, input.shown()))
    } else {
        Ok(Some(VarWarning::truncated(def.name, &input.shown())))
    }
}

fn to_set(
    def: &VarDef,
    words: &[&str],
    input: &VarInput,
) -> Result<(VarValue, Option<VarWarning>), VarError> {
    if let VarInput::Text(t) = input {
        let mut bits = 0u64;
        for word in t.split(',').filter(|w| !w.is_empty()) {
            match words.iter().position(|w| w.eq_ignore_ascii_case(word)) {
                Some(i) => bits |= 1 << i,
                None => return Err(VarError::WrongValue(def.name, word.to_owned())),
            }
        }
        return Ok((VarValue::Uint(bits), None));
    }
    match input.integer() {
        Some(n) if n >= 0 && n >> words.len() == 0 => Ok((VarValue::Uint(n as u64), None)),
        None if matches!(input, VarInput::Double(_)) => Err(VarError::WrongType(def.name)),
        _ => Err(VarError::WrongValue(def.name, input.shown())),
    }
}

fn to_switches(
    def: &VarDef,
    words: &[&str],
    input: &VarInput,
    current: u64,
) -> Result<(VarValue, Option<VarWarning>), VarError> {
    let VarInput::Text(t) = input else {
        return Err(VarError::WrongType(def.name));
    };
    let default = match def.default {
        VarDefault::Text(d) if d != t => match default_value(def) {
            VarValue::Uint(bits) => bits,
            _ => 0,
        },
        _ => 0,
    };
    let mut bits = current;
    for part in t.split(',').filter(|p| !p.is_empty()) {
        let wrong = || VarError::WrongValue(def.name, part.to_owned());
        if part.eq_ignore_ascii_case("default") {
            bits = default;
            continue;
        }
        let (name, value) = part.split_once('=').ok_or_else(wrong)?;
        let i = words
            .iter()
            .position(|w| w.eq_ignore_ascii_case(name))
            .ok_or_else(wrong)?;
        let on = match value.to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            "default" => default >> i & 1 == 1,
            _ => return Err(wrong()),
        };
        bits = bits & !(1 << i) | u64::from(on) << i;
    }
    Ok((VarValue::Uint(bits), None))
}

/// Storage engine names that tables may ask for; all are served by the one engine.
const ENGINES: &[&str] = &["InnoDB", "MyISAM", "MEMORY", "CSV", "ARCHIVE", "BLACKHOLE"];

fn to_text(def: &VarDef, input: &VarInput) -> Result<VarValue, VarError> {
    let nullable = matches!(def.kind, VarKind::Text(true) | VarKind::Charset(true));
    let t = match input {
        VarInput::Null if nullable => return Ok(VarValue::Null),
        VarInput::Null => return Err(VarError::WrongValue(def.name, "NULL".to_owned())),
        VarInput::Text(t) => t.as_str(),
        VarInput::Int(id) if matches!(def.kind, VarKind::Charset(_) | VarKind::Collation) => {
            return by_collation_id(def, *id);
        }
        VarInput::Int(_) | VarInput::Uint(_) if matches!(def.kind, VarKind::Locale) => {
            let n = match input {
                VarInput::Int(n) => u64::try_from(*n).ok(),
                VarInput::Uint(n) => Some(*n),
                _ => None,
            };
            let found = n.and_then(Locale::by_number);
            return match found {
                Some(l) => Ok(VarValue::text(l.name)),
                None => Err(VarError::UnknownLocale(input.shown())),
            };
        }
        _ => return Err(VarError::WrongType(def.name)),
    };
    match def.kind {
        VarKind::Charset(_) => {
            // No statement can be read in these, which is said before that they are not here.
            if def.name == "character_set_client" && charsets::is_wide(t) {
                return Err(VarError::WrongValue(def.name, t.to_ascii_lowercase()));
            }
            let name =
                charsets::charset_name(t).ok_or_else(|| VarError::UnknownCharset(t.to_owned()))?;
            Ok(VarValue::text(name))
        }
        VarKind::Collation => charsets::collation_name(t)
            .map(VarValue::text)
            .ok_or_else(|| VarError::UnknownCollation(t.to_owned())),
        VarKind::Words(words) => {
            let known = |w: &str| words.iter().any(|k| k.eq_ignore_ascii_case(w.trim()));
            match t.split(',').all(known) {
                true => Ok(VarValue::text(t)),
                false => Err(VarError::WrongValue(def.name, t.to_owned())),
            }
        }
        VarKind::TimeZone => TimeZone::parse(t)
            .map(|z| VarValue::text(z.to_string()))
            .ok_or_else(|| VarError::UnknownTimeZone(t.to_owned())),
        VarKind::Locale => Locale::by_name(t.as_bytes())
            .map(|l| VarValue::text(l.name))
            .ok_or_else(|| VarError::UnknownLocale(t.to_owned())),
        _ if def.name.ends_with("storage_engine") => ENGINES
            .iter()
            .find(|e| e.eq_ignore_ascii_case(t))
            .map(|e| VarValue::text(*e))
            .ok_or_else(|| VarError::UnknownEngine(t.to_owned())),
        _ => Ok(VarValue::text(t)),
    }
}

fn by_collation_id(def: &VarDef, id: i64) -> Result<VarValue, VarError> {
    let found = u16::try_from(id).ok().and_then(charsets::names_by_id);
    match (found, def.kind) {
        (Some((charset, _)), VarKind::Charset(_)) => Ok(VarValue::text(charset)),
        (Some((_, collation)), _) => Ok(VarValue::text(collation)),
        (None, VarKind::Charset(_)) => Err(VarError::UnknownCharset(id.to_string())),
        (None, _) => Err(VarError::UnknownCollation(id.to_string())),
    }
}

/// Reads a value as it is written on a command line or in my.cnf: numbers with K, M, G, T, P, E
/// suffixes, words, and an empty text for a flag given without a value.
///
/// # Errors
/// As [`convert`].
pub fn parse_option(def: &VarDef, text: &str) -> Result<VarValue, VarError> {
    let t = text.trim();
    let input = match def.kind {
        VarKind::Bool if t.is_empty() => VarInput::Int(1),
        VarKind::Bool | VarKind::Enum(_) | VarKind::Set(_) => match t.parse::<i64>() {
            Ok(n) => VarInput::Int(n),
            Err(_) => VarInput::Text(t.to_owned()),
        },
        VarKind::Int { .. } | VarKind::Uint { .. } => scaled(t)
            .map(|n| match i64::try_from(n) {
                Ok(i) => VarInput::Int(i),
                Err(_) => VarInput::Uint(u64::try_from(n).unwrap_or(u64::MAX)),
            })
            .ok_or_else(|| VarError::WrongValue(def.name, t.to_owned()))?,
        VarKind::Double { .. } => t
            .parse()
            .map(VarInput::Double)
            .map_err(|_| VarError::WrongValue(def.name, t.to_owned()))?,
        _ => VarInput::Text(t.to_owned()),
    };
    let current = default_value(def).as_u64();
    convert(def, &input, current, false).map(|(v, _)| v)
}

fn scaled(t: &str) -> Option<i128> {
    let (digits, shift) = match t.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&t[..t.len() - 1], 10),
        b'M' => (&t[..t.len() - 1], 20),
        b'G' => (&t[..t.len() - 1], 30),
        b'T' => (&t[..t.len() - 1], 40),
        b'P' => (&t[..t.len() - 1], 50),
        b'E' => (&t[..t.len() - 1], 60),
        _ => (t, 0),
    };
    let n: i64 = match digits.parse() {
        Ok(n) => n,
        Err(_) => return digits.parse::<u64>().ok().map(i128::from),
    };
    Some(i128::from(n) << shift)
}
