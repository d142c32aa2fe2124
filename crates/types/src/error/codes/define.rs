//! How a line of the table becomes a constant and an entry.

macro_rules! codes {
    ($($name:ident = $num:literal, $state:literal, $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "` (SQLSTATE ", $state, ").")] pub const $name: u16 = $num;)*

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

        /// Every known code, ascending by number.
        pub static CODES: &[CodeInfo] = &[
            $(CodeInfo { code: $num, symbol: stringify!($name), sqlstate: $state, template: $text },)*
        ];
    };
}
