//! Texts of several expressions brought to one collation, where they can be.

use types::SqlError;
use types::charset::{self, Charset};
use types::collation::CollationId;

use super::collate::{Collated, aggregate, illegal_mix};
use super::node::{Expr, Node};
use super::ty::Coercibility;
use super::val::Val;
use super::walk::transcode;

/// The collation facts that hold for all of `texts`, which are converted to its character set.
///
/// # Errors
/// As [`aggregate`]; also for a text that cannot be converted.
pub fn unify(
    texts: &mut [&mut Expr],
    connection: CollationId,
    compared: bool,
    op: &str,
) -> Result<Collated, SqlError> {
    let found = aggregate(texts.iter().map(|e| &e.ty), connection, compared, op)?;
    convertible(texts.iter().map(|e| &**e), found.collation, connection, op)?;
    for e in texts {
        transcode(e, found.collation);
    }
    Ok(found)
}

/// Whether all of `texts` can be converted to a collation's character set.
///
/// # Errors
/// As [`aggregate`], where one cannot.
pub fn convertible<'e>(
    texts: impl Iterator<Item = &'e Expr> + Clone,
    to: CollationId,
    connection: CollationId,
    op: &str,
) -> Result<(), SqlError> {
    if texts.clone().all(|e| converts(e, to.charset())) {
        return Ok(());
    }
    let all: Vec<Collated> = texts.map(|e| Collated::of(&e.ty, connection)).collect();
    Err(illegal_mix(&all, op))
}

/// Whether a text can be converted without loss: a constant where nothing is lost, anything else to Unicode.
fn converts(e: &Expr, to: Charset) -> bool {
    let from = e.ty.charset();
    if !e.ty.is_text() || e.ty.is_ascii() || from == to {
        return true;
    }
    if from == Charset::Binary || to == Charset::Binary {
        return true;
    }
    match e.as_const() {
        Some(Val::Bytes(b)) => !charset::convert(from, to, b, &mut Vec::with_capacity(b.len())),
        Some(_) => true,
        // What a parameter holds is not known yet; what names a fact of the session is as good as a constant.
        None => {
            to.is_utf8()
                || e.any(&|e| matches!(e.node, Node::Param(..)))
                || e.ty.coercibility >= Coercibility::System && e.is_row_constant()
        }
    }
}
