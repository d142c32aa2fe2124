//! By which rules a statement converts values to the types of columns.

use types::convert::{ConvertMode, Today};

use sql_expr::EvalCtx;
use sql_expr::vars::SqlMode;

/// How values are converted for a statement.
pub(crate) fn convert_mode(cx: &EvalCtx<'_>, ignore: bool) -> ConvertMode {
    ConvertMode {
        strict: cx.sql_mode.strict() && !ignore,
        no_zero_date: cx.sql_mode.has(SqlMode::NO_ZERO_DATE),
        no_zero_in_date: cx.sql_mode.has(SqlMode::NO_ZERO_IN_DATE),
        invalid_dates: cx.sql_mode.has(SqlMode::ALLOW_INVALID_DATES),
        cut_fractions: cx.sql_mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL),
        zone: cx.zone,
        today: Today::At(cx.now_micros),
    }
}
