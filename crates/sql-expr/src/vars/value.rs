//! The value of a system variable and its two faces: text for SHOW VARIABLES, a typed value for SELECT @@x.
//! Never decides whether a value is allowed; `assign` does that.

use std::fmt::Write;
use std::sync::Arc;

use super::def::{VarDef, VarKind};
use super::sql_mode::SqlMode;

/// The value a variable has.
#[derive(Debug, Clone, PartialEq)]
pub enum VarValue {
    /// NULL.
    Null,
    /// Of a [`VarKind::Bool`].
    Bool(bool),
    /// Of a [`VarKind::Int`].
    Int(i64),
    /// Of a [`VarKind::Uint`]; the ordinal of the word of a [`VarKind::Enum`]; the bits of a [`VarKind::Set`],
    /// of `sql_mode` and of [`VarKind::Switches`].
    Uint(u64),
    /// Of a [`VarKind::Double`].
    Double(f64),
    /// Everything that is text.
    Text(Arc<str>),
}

impl VarValue {
    /// Text from anything that can become it.
    pub fn text(s: impl Into<Arc<str>>) -> VarValue {
        VarValue::Text(s.into())
    }

    /// The number in it, 0 where there is none.
    pub fn as_u64(&self) -> u64 {
        match self {
            VarValue::Bool(b) => u64::from(*b),
            VarValue::Int(i) => u64::try_from(*i).unwrap_or(0),
            VarValue::Uint(u) => *u,
            VarValue::Double(d) => *d as u64,
            VarValue::Null | VarValue::Text(_) => 0,
        }
    }

    /// The text in it, where it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            VarValue::Text(t) => Some(t),
            _ => None,
        }
    }

    /// What SELECT @@x returns: numbers stay numbers, a bool becomes 1 or 0, words become text.
    pub fn selected(&self, def: &VarDef) -> VarValue {
        match (&def.kind, self) {
            (VarKind::Bool, v) => VarValue::Int(v.as_u64() as i64),
            (
                VarKind::Enum(_) | VarKind::Set(_) | VarKind::SqlMode | VarKind::Switches(_),
                VarValue::Uint(_),
            ) => VarValue::text(self.shown(def)),
            (_, v) => v.clone(),
        }
    }

    /// What SHOW VARIABLES prints. NULL is shown as the empty text.
    pub fn shown(&self, def: &VarDef) -> String {
        match (&def.kind, self) {
            (VarKind::Enum(words), VarValue::Uint(i)) => {
                words.get(*i as usize).copied().unwrap_or("").to_owned()
            }
            (VarKind::Set(words), VarValue::Uint(bits)) => join_bits(words, *bits),
            (VarKind::SqlMode, VarValue::Uint(bits)) => SqlMode::from_bits(*bits).to_string(),
            (VarKind::Switches(words), VarValue::Uint(bits)) => {
                let mut out = String::with_capacity(words.len() * 24);
                for (i, w) in words.iter().enumerate() {
                    let sep = if i == 0 { "" } else { "," };
                    let on = if bits >> i & 1 == 1 { "on" } else { "off" };
                    let _ = write!(out, "{sep}{w}={on}");
                }
                out
            }
            (_, VarValue::Null) => String::new(),
            (_, VarValue::Bool(b)) => if *b { "ON" } else { "OFF" }.to_owned(),
            (_, VarValue::Int(i)) => i.to_string(),
            (_, VarValue::Uint(u)) => u.to_string(),
            (_, VarValue::Double(d)) => format!("{d:.6}"),
            (_, VarValue::Text(t)) => t.to_string(),
        }
    }
}

fn join_bits(words: &[&str], bits: u64) -> String {
    let mut out = String::new();
    for (i, w) in words.iter().enumerate() {
        if bits >> i & 1 == 1 {
            if !out.is_empty() {
                out.push(',');
            }
            out.push_str(w);
        }
    }
    out
}
