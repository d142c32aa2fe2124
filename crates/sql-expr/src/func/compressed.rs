//! COMPRESS, UNCOMPRESS and UNCOMPRESSED_LENGTH.
//!
//! A compressed value is the length of what it holds, in four bytes with the least one first, and a zlib stream. Nothing here may trust either: what
//! clients hand in becomes NULL with MySQL's warning, and is never given more room than a packet may have.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use types::SqlError;
use types::error::codes;

use super::{FuncDef, def, some};
use crate::node::{Args, Expr, InferCx};
use crate::ty::ExprType;
use crate::val::Val;

type Out<'a> = Result<Val<'a>, SqlError>;

/// The table.
pub(super) const TABLE: &[FuncDef] = &[
    def("compress", 1, 1, infer_compress, compress),
    def("uncompress", 1, 1, infer_uncompress, uncompress),
    def(
        "uncompressed_length",
        1,
        1,
        infer_length,
        uncompressed_length,
    ),
];

/// Bytes of the length.
const HEAD: usize = 4;

/// The two highest bits of the length say nothing of it.
const LENGTH: u32 = 0x3FFF_FFFF;

/// Bytes that are put into a stream, or taken out of one, before somebody looks whether the statement is to end.
const STEP: usize = 64 << 10;

/// Steps of work that a byte takes.
const WORK: usize = 8;

fn infer_compress(_: &InferCx<'_>, args: &mut [Expr]) -> Result<ExprType, SqlError> {
    let t = &args[0].ty;
    let bytes = u64::from(t.chars()) * t.charset().max_len() as u64;
    // What cannot be compressed grows by a thousandth and twelve, as zlib has it.
    let most = bytes + bytes / 1000 + 12 + 5;
    Ok(ExprType::bytes(
        u32::try_from(most).unwrap_or(u32::MAX),
        true,
    ))
}

fn infer_uncompress(_: &InferCx<'_>, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::bytes(1 << 24, true))
}

fn infer_length(_: &InferCx<'_>, _: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::int(10, true))
}

fn compress(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    if t.is_empty() {
        return Ok(Val::owned(Vec::new()));
    }
    a.room(t.len() + t.len() / 1000 + 64)?;
    let mut out = (t.len() as u32 & LENGTH).to_le_bytes().to_vec();
    let mut stream = ZlibEncoder::new(&mut out, Compression::default());
    let failed = |e: std::io::Error| SqlError::internal(&e.to_string());
    for some in t.chunks(STEP) {
        a.cx.tick(WORK * some.len())?;
        stream.write_all(some).map_err(failed)?;
    }
    stream.finish().map_err(failed)?;
    // A space at the end would be lost in a CHAR.
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(Val::owned(out))
}

/// The length and the stream; none, with a warning, where there is no room for both.
fn parts<'t>(a: Args<'_>, t: &'t [u8]) -> Option<(usize, &'t [u8])> {
    match t.split_first_chunk::<HEAD>() {
        Some((head, stream)) if !stream.is_empty() => {
            Some(((u32::from_le_bytes(*head) & LENGTH) as usize, stream))
        }
        _ => {
            a.cx.warn_error(corrupted());
            None
        }
    }
}

fn corrupted() -> SqlError {
    SqlError::new(codes::ER_ZLIB_Z_DATA_ERROR, "ZLIB: Input data corrupted")
}

fn uncompress(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    if t.is_empty() {
        return Ok(Val::owned(Vec::new()));
    }
    let (len, stream) = some!(parts(a, &t));
    if len as u64 > a.cx.max_packet {
        a.cx.warn_error(SqlError::new(
            codes::ER_TOO_BIG_FOR_UNCOMPRESS,
            format!("Uncompressed data size too large; the maximum size is {} (probably, length of uncompressed data was corrupted)", a.cx.max_packet),
        ));
        return Ok(Val::Null);
    }
    // The length is only what somebody says: room is taken as bytes come.
    let mut decoder = ZlibDecoder::new(stream).take(len as u64 + 1);
    let mut out = Vec::new();
    loop {
        let had = out.len();
        a.cx.tick(WORK * STEP)?;
        a.room(STEP.min(len + 1))?;
        let mut step = decoder.by_ref().take(STEP as u64);
        if step.read_to_end(&mut out).is_err() {
            a.cx.warn_error(corrupted());
            return Ok(Val::Null);
        }
        if out.len() == had {
            break;
        }
    }
    if out.len() > len {
        a.cx.warn_error(SqlError::new(
            codes::ER_ZLIB_Z_BUF_ERROR,
            "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data was corrupted)",
        ));
        return Ok(Val::Null);
    }
    Ok(Val::owned(out))
}

fn uncompressed_length(a: Args<'_>) -> Out<'_> {
    let t = some!(a.text(0)?);
    if t.is_empty() {
        return Ok(Val::Int(0));
    }
    let (len, _) = some!(parts(a, &t));
    Ok(Val::Int(len as i64))
}
