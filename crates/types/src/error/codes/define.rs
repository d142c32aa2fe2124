//! How a line of the table becomes a constant and an entry.

/// One line of the error table.
#[derive(Debug, Clone, Copy)]
pub struct CodeInfo {
    /// MySQL's error number.
    pub code: u16,
    /// MySQL's symbol, such as `ER_DUP_ENTRY`.
    pub symbol: &'static str,
    /// Five characters of SQLSTATE.
    pub sqlstate: &'static str,
    /// Message template with `printf` placeholders.
    pub template: &'static str,
}

macro_rules! codes {
    ($table:ident; $($name:ident = $num:literal, $state:literal, $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "` (SQLSTATE ", $state, ").")] pub const $name: u16 = $num;)*

        /// These codes, ascending by number.
        pub(super) static $table: &[CodeInfo] = &[
            $(CodeInfo { code: $num, symbol: stringify!($name), sqlstate: $state, template: $text },)*
        ];
    };
}
