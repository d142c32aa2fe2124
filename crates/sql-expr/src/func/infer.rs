//! Result types that many functions share, and the conversion of text arguments to one character set.

use types::SqlError;
use types::collation::CollationId;
use types::error::codes;

use crate::collate::Collated;
use crate::ctx::EvalCtx;
use crate::node::{Expr, InferCx};
use crate::ty::{Coercibility, ExprType, Shape, StrKind};
use crate::unify;

type Inferred = Result<ExprType, SqlError>;

/// Longest text that has a length worth inferring.
const LONG: u64 = u32::MAX as u64;

fn any_null(args: &[Expr]) -> bool {
    args.iter().any(|a| a.ty.nullable)
}

impl<'c> InferCx<'c> {
    /// For a function of that name, in a text whose literals have this collation.
    pub fn new(cx: &'c EvalCtx<'c>, connection: CollationId, name: &'static str) -> InferCx<'c> {
        InferCx {
            cx,
            connection,
            name,
        }
    }

    /// The collation that holds for all of `args`, which are converted to its character set.
    pub fn unify<'e>(
        &self,
        args: impl IntoIterator<Item = &'e mut Expr>,
        compared: bool,
    ) -> Result<Collated, SqlError> {
        let mut args: Vec<&mut Expr> = args.into_iter().collect();
        unify::unify(&mut args, self.connection, compared, self.name)
    }

    /// Text of at most `chars` characters of the collation that holds for all of `args`.
    pub fn text(&self, args: &mut [Expr], chars: u64) -> Inferred {
        let nullable = any_null(args);
        let c = self.unify(args.iter_mut(), false)?;
        Ok(text_type(c, chars, nullable))
    }

    /// ASCII text of the connection's collation.
    pub fn ascii(&self, chars: u32, nullable: bool) -> ExprType {
        ExprType::text(chars, self.connection, Coercibility::Literal, nullable).ascii()
    }
}

/// The type of text with these collation facts.
pub(super) fn text_type(c: Collated, chars: u64, nullable: bool) -> ExprType {
    let mut ty = ExprType::text(
        chars.min(LONG) as u32,
        c.collation,
        c.coercibility,
        nullable,
    );
    ty.ascii = c.ascii;
    ty
}

/// A BIGINT of at most `N` characters, NULL where an argument is.
pub(super) fn int<const N: u8>(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::int(N, any_null(args)))
}

/// A BIGINT of at most `N` characters that may be NULL.
pub(super) fn int_or_null<const N: u8>(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::int(N, true))
}

/// A truth value, NULL where an argument is.
pub(super) fn truth(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::truth(any_null(args)))
}

/// A truth value that may be NULL.
pub(super) fn truth_or_null(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::truth(true))
}

/// A BIGINT of at most `N` characters that is never NULL.
pub(super) fn int_not_null<const N: u8>(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::int(N, false))
}

/// A BIGINT UNSIGNED, NULL where an argument is.
pub(super) fn uint(_: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(ExprType::uint(21, any_null(args)))
}

/// A double that may be NULL.
pub(super) fn double(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::double(true))
}

/// A double that is never NULL.
pub(super) fn double_not_null(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::double(false))
}

/// Text like the first argument, at most as long.
pub(super) fn like_first(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    let chars = u64::from(args[0].ty.chars());
    let nullable = any_null(args);
    let c = cx.unify(args.iter_mut().take(1), false)?;
    Ok(text_type(c, chars, nullable))
}

/// ASCII text of at most `N` characters, NULL where an argument is.
pub(super) fn ascii<const N: u32>(cx: &InferCx<'_>, args: &mut [Expr]) -> Inferred {
    Ok(cx.ascii(N, any_null(args)))
}

/// ASCII text of at most `N` characters that may be NULL.
pub(super) fn ascii_or_null<const N: u32>(cx: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(cx.ascii(N, true))
}

/// Facts of the session as text: utf8mb3, of coercibility 3.
pub(super) fn system<const N: u32>(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::text(
        N,
        CollationId::UTF8MB3_GENERAL_CI,
        Coercibility::System,
        true,
    ))
}

/// The name of a collation or a character set: utf8mb3, and no stronger than a literal.
pub(super) fn collation_name(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    let name = ExprType::text(
        64,
        CollationId::UTF8MB3_GENERAL_CI,
        Coercibility::Literal,
        true,
    );
    Ok(name.ascii())
}

/// Bytes of at most `N`, possibly NULL.
pub(super) fn bytes<const N: u32>(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::bytes(N, true))
}

/// Bytes or text as long as the session allows, possibly NULL.
pub(super) fn long_bytes(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(
        Shape::Str {
            chars: u32::MAX,
            kind: StrKind::Long,
        },
        true,
    ))
}

/// Text of the server's own as long as the session allows, possibly NULL.
pub(super) fn long_text(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::text(
        u32::MAX / 4,
        CollationId::UTF8MB3_GENERAL_CI,
        Coercibility::Implicit,
        true,
    ))
}

/// A JSON document, possibly NULL.
pub(super) fn json(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(json_type(true))
}

/// The type of a JSON document.
pub(crate) fn json_type(nullable: bool) -> ExprType {
    let mut ty = ExprType::plain(Shape::Json, nullable);
    ty.collation = CollationId::UTF8MB4_BIN;
    ty.coercibility = Coercibility::Implicit;
    ty.ascii = false;
    ty
}

/// A date, possibly NULL.
pub(super) fn date(_: &InferCx<'_>, _: &mut [Expr]) -> Inferred {
    Ok(ExprType::plain(Shape::Date, true))
}

/// The number of fraction digits that argument `i` asks for: a constant from 0 to 6.
///
/// # Errors
/// 1426 for more than 6.
pub(super) fn fsp_argument(cx: &InferCx<'_>, args: &[Expr], i: usize) -> Result<u8, SqlError> {
    use crate::val::Val;
    match args.get(i).map(Expr::as_const) {
        None => Ok(0),
        Some(Some(Val::Int(n @ 0..=6))) => Ok(*n as u8),
        Some(Some(Val::Uint(n @ 0..=6))) => Ok(*n as u8),
        Some(v) => Err(SqlError::new(
            codes::ER_TOO_BIG_PRECISION,
            format!(
                "Too-big precision {} specified for '{}'. Maximum is 6.",
                match v {
                    Some(Val::Int(n)) => n.to_string(),
                    _ => "-1".to_owned(),
                },
                cx.name
            ),
        )),
    }
}

/// Fraction digits of an argument taken as a time.
pub(super) fn fsp_of(e: &Expr) -> u8 {
    match e.ty.shape {
        Shape::Time(f) | Shape::DateTime(f) | Shape::Timestamp(f) => f,
        Shape::Decimal { scale, .. } => scale.min(6),
        _ if e.ty.is_text() => match e.as_const() {
            Some(crate::val::Val::Bytes(b)) => b
                .iter()
                .rposition(|&c| c == b'.')
                .map_or(0, |p| (b.len() - p - 1).min(6) as u8),
            _ => 6,
        },
        Shape::Double { .. } | Shape::Float { .. } => 6,
        _ => 0,
    }
}
