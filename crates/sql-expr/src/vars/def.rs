//! What a system variable is: its name, scope, kind, limits and default. Pure data; the tables are in
//! `defs_*`, the look-up in `registry`, the values in `store`. Nothing here holds a value of a running server.

/// Where a variable may be read and set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VarScope {
    /// One value for the server.
    Global,
    /// A value of each session only, with no global twin.
    Session,
    /// A global value that new sessions start from, and a value of each session.
    Both,
}

/// The kind of value a variable takes, with its limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VarKind {
    /// ON/OFF, shown as such by SHOW and as 1/0 by SELECT.
    Bool,
    /// A signed whole number within limits.
    Int {
        /// Smallest value; what lies below is raised to it with a warning.
        min: i64,
        /// Largest value; what lies above is lowered to it with a warning.
        max: i64,
    },
    /// An unsigned whole number within limits, rounded down to a multiple of `step`.
    Uint {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
        /// Block size the value is a multiple of; 1 for none.
        step: u64,
    },
    /// A floating point number within limits.
    Double {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// One of a list of words; the number of the word is accepted too.
    Enum(&'static [&'static str]),
    /// Words separated by commas; the bit mask is accepted too.
    Set(&'static [&'static str]),
    /// `sql_mode`: a set with combination words such as TRADITIONAL.
    SqlMode,
    /// Words of the form `name=on|off|default` separated by commas.
    Switches(&'static [&'static str]),
    /// `SYSTEM`, an offset such as `+02:00`, or a zone's name.
    TimeZone,
    /// The name of a locale; its number is accepted too.
    Locale,
    /// The name of a character set; `true` where NULL is a value too.
    Charset(bool),
    /// The name of a collation.
    Collation,
    /// One or more of a list of words, separated by commas, kept as they were written.
    Words(&'static [&'static str]),
    /// Text; `true` where NULL is a value too.
    Text(bool),
}

/// A default, as the tables write it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VarDefault {
    /// Of a [`VarKind::Bool`].
    Bool(bool),
    /// Of a [`VarKind::Int`].
    Int(i64),
    /// Of a [`VarKind::Uint`].
    Uint(u64),
    /// Of a [`VarKind::Double`].
    Double(f64),
    /// Of every kind of word or text, parsed as SET would parse it.
    Text(&'static str),
    /// NULL.
    Null,
}

/// One system variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarDef {
    /// The name in lower case with underscores.
    pub name: &'static str,
    /// Where it may be read and set.
    pub scope: VarScope,
    /// What it takes.
    pub kind: VarKind,
    /// What it starts from.
    pub default: VarDefault,
    /// SET is refused with error 1238.
    pub read_only: bool,
    /// Accepted and shown, but there is nothing left for it to tune here.
    pub inert: bool,
    /// Any value but the default is refused with error 1231.
    pub fixed: bool,
    /// The value comes from the session's state (`warning_count`, `last_insert_id` …), not from the store.
    pub computed: bool,
    /// The server's value changes by itself.
    pub live: bool,
    /// Left out of SHOW VARIABLES, as MySQL does with session-only bookkeeping.
    pub hidden: bool,
}

pub use VarScope::{Both, Global, Session};

const fn def(name: &'static str, scope: VarScope, kind: VarKind, default: VarDefault) -> VarDef {
    VarDef {
        name,
        scope,
        kind,
        default,
        read_only: false,
        inert: false,
        fixed: false,
        computed: false,
        live: false,
        hidden: false,
    }
}

/// An ON/OFF variable.
pub const fn flag(name: &'static str, scope: VarScope, default: bool) -> VarDef {
    def(name, scope, VarKind::Bool, VarDefault::Bool(default))
}

/// An unsigned number.
pub const fn uint(name: &'static str, scope: VarScope, default: u64, min: u64, max: u64) -> VarDef {
    def(
        name,
        scope,
        VarKind::Uint { min, max, step: 1 },
        VarDefault::Uint(default),
    )
}

/// An unsigned number, a multiple of `step`.
pub const fn blocks(
    name: &'static str,
    scope: VarScope,
    default: u64,
    min: u64,
    max: u64,
    step: u64,
) -> VarDef {
    def(
        name,
        scope,
        VarKind::Uint { min, max, step },
        VarDefault::Uint(default),
    )
}

/// A signed number.
pub const fn int(name: &'static str, scope: VarScope, default: i64, min: i64, max: i64) -> VarDef {
    def(
        name,
        scope,
        VarKind::Int { min, max },
        VarDefault::Int(default),
    )
}

/// A floating point number.
pub const fn double(
    name: &'static str,
    scope: VarScope,
    default: f64,
    min: f64,
    max: f64,
) -> VarDef {
    def(
        name,
        scope,
        VarKind::Double { min, max },
        VarDefault::Double(default),
    )
}

/// One word of a list.
pub const fn word(
    name: &'static str,
    scope: VarScope,
    default: &'static str,
    words: &'static [&'static str],
) -> VarDef {
    def(name, scope, VarKind::Enum(words), VarDefault::Text(default))
}

/// A set of words.
pub const fn set(
    name: &'static str,
    scope: VarScope,
    default: &'static str,
    words: &'static [&'static str],
) -> VarDef {
    def(name, scope, VarKind::Set(words), VarDefault::Text(default))
}

/// Text that is never NULL.
pub const fn text(name: &'static str, scope: VarScope, default: &'static str) -> VarDef {
    def(name, scope, VarKind::Text(false), VarDefault::Text(default))
}

/// Text that starts as NULL.
pub const fn nullable(name: &'static str, scope: VarScope) -> VarDef {
    def(name, scope, VarKind::Text(true), VarDefault::Null)
}

/// A variable of one of the special kinds.
pub const fn special(
    name: &'static str,
    scope: VarScope,
    kind: VarKind,
    default: &'static str,
) -> VarDef {
    def(name, scope, kind, VarDefault::Text(default))
}

impl VarDef {
    /// The same, not settable at run time.
    pub const fn ro(mut self) -> VarDef {
        self.read_only = true;
        self
    }

    /// The same, with nothing left to tune.
    pub const fn inert(mut self) -> VarDef {
        self.inert = true;
        self
    }

    /// The same, taking nothing but its default: what MySQL does with another value is not done here.
    pub const fn fixed(mut self) -> VarDef {
        self.fixed = true;
        self
    }

    /// The same, its value taken from the session's state.
    pub const fn computed(mut self) -> VarDef {
        self.computed = true;
        self
    }

    /// The same, its value on the server changing by itself.
    pub const fn live(mut self) -> VarDef {
        self.live = true;
        self
    }

    /// The same, left out of SHOW VARIABLES.
    pub const fn hidden(mut self) -> VarDef {
        self.hidden = true;
        self
    }

    /// Whether a session has a value of its own.
    pub fn has_session(&self) -> bool {
        self.scope != VarScope::Global
    }

    /// Whether there is a value of the server.
    pub fn has_global(&self) -> bool {
        self.scope != VarScope::Session
    }
}
