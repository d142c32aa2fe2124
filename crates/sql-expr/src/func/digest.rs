//! Digests: MD5, SHA1, SHA2, and RANDOM_BYTES, whose bytes come from outside.

use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use types::SqlError;
use types::error::codes;

use super::infer::ascii;
use super::{FuncDef, def, some};
use crate::node::Args;
use crate::node::Expr;
use crate::node::InferCx;
use crate::ty::ExprType;
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("md5", 1, 1, ascii::<32>, md5).light(),
    def("sha1", 1, 1, ascii::<40>, sha1).light(),
    def("sha", 1, 1, ascii::<40>, sha1).light(),
    def("sha2", 2, 2, infer_sha2, sha2),
    def("random_bytes", 1, 1, infer_random, random_bytes)
        .light()
        .per_row(),
];

/// Two small digits a byte.
fn hex(b: &[u8]) -> Val<'static> {
    let mut out = super::bits::hex_of(b);
    out.make_ascii_lowercase();
    Val::owned(out)
}

fn md5(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(hex(&Md5::digest(&t)))
}

fn sha1(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(hex(&Sha1::digest(&t)))
}

fn infer_sha2(cx: &InferCx<'_>, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(cx.ascii(128, true))
}

fn sha2(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    Ok(match some!(a.i64(1)?) {
        224 => hex(&Sha224::digest(&t)),
        0 | 256 => hex(&Sha256::digest(&t)),
        384 => hex(&Sha384::digest(&t)),
        512 => hex(&Sha512::digest(&t)),
        _ => Val::Null,
    })
}

fn infer_random(_: &InferCx<'_>, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::bytes(1024, true))
}

fn random_bytes(a: Args<'_>) -> Out<'_> {
    let n = some!(a.i64(0)?);
    match usize::try_from(n) {
        Ok(n @ 1..=1024) => Ok(Val::owned(a.cx.random_bytes(n))),
        _ => Err(SqlError::new(
            codes::ER_DATA_OUT_OF_RANGE,
            "length value is out of range in 'random_bytes'",
        )),
    }
}
