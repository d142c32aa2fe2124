//! LIKE.

use types::SqlError;
use types::error::codes;

use super::conv;
use super::ctx::{EvalCtx, RowSource};
use super::node::{Expr, LikeNode};
use super::ty::ExprType;
use super::val::Val;

/// The character that a value of ESCAPE is; NULL is the backslash, and an empty text none.
///
/// # Errors
/// 1210 for more than one character.
pub(super) fn escape_of(v: &Val<'_>, ty: &ExprType) -> Result<Option<u32>, SqlError> {
    if v.is_null() {
        return Ok(Some(u32::from(b'\\')));
    }
    let t = conv::text_of(v, ty);
    match ty.charset().next_char(&t) {
        None => Ok(None),
        Some((c, n)) if n == t.len() => Ok(Some(c)),
        Some(_) => Err(SqlError::new(
            codes::ER_WRONG_ARGUMENTS,
            "Incorrect arguments to ESCAPE",
        )),
    }
}

impl LikeNode {
    pub(super) fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(&self.text);
        f(&self.pattern);
        self.given.iter().for_each(f);
    }

    /// The text every match starts with, escapes resolved, and whether nothing but it matches; `None` where the
    /// pattern or what escapes in it is no constant.
    pub fn prefix(&self) -> Option<(Vec<u8>, bool)> {
        if self.given.is_some() {
            return None;
        }
        let Val::Bytes(p) = self.pattern.as_const()? else {
            return None;
        };
        Some(self.prefix_of(p))
    }

    /// As [`prefix`](Self::prefix), for the pattern that an execution has; `None` for NULL.
    ///
    /// # Errors
    /// Those of evaluating the pattern.
    pub fn prefix_now(
        &self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<Option<(Vec<u8>, bool)>, SqlError> {
        let p = self.pattern.eval(cx, row)?;
        if p.is_null() {
            return Ok(None);
        }
        Ok(Some(self.prefix_of(&conv::text_of(&p, &self.pattern.ty))))
    }

    fn prefix_of(&self, pattern: &[u8]) -> (Vec<u8>, bool) {
        let charset = self.collation.charset();
        let mut out = Vec::new();
        let mut rest = pattern;
        while let Some((c, n)) = charset.next_char(rest) {
            if Some(c) == self.escape && rest.len() > n {
                rest = &rest[n..];
                let n = charset.next_char(rest).map_or(1, |(_, n)| n);
                out.extend_from_slice(&rest[..n]);
                rest = &rest[n..];
                continue;
            }
            if c == u32::from(b'%') || c == u32::from(b'_') {
                return (out, false);
            }
            out.extend_from_slice(&rest[..n]);
            rest = &rest[n..];
        }
        (out, true)
    }

    pub(super) fn truth(
        &self,
        cx: &EvalCtx<'_>,
        row: &dyn RowSource,
    ) -> Result<Option<bool>, SqlError> {
        let t = self.text.eval(cx, row)?;
        let p = self.pattern.eval(cx, row)?;
        match &self.given {
            None => self.matches(&t, &p, cx),
            Some(e) => {
                let escape = escape_of(&e.eval(cx, row)?, &e.ty)?;
                self.matches_by(&t, &p, escape, cx)
            }
        }
    }

    /// Whether a text is like a pattern; NULL where one is.
    pub(super) fn matches(
        &self,
        t: &Val<'_>,
        p: &Val<'_>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<bool>, SqlError> {
        self.matches_by(t, p, self.escape, cx)
    }

    fn matches_by(
        &self,
        t: &Val<'_>,
        p: &Val<'_>,
        escape: Option<u32>,
        cx: &EvalCtx<'_>,
    ) -> Result<Option<bool>, SqlError> {
        if t.is_null() || p.is_null() {
            return Ok(None);
        }
        let t = conv::text_of(t, &self.text.ty);
        let p = conv::text_of(p, &self.pattern.ty);
        let like = self.collation.like_paced(&t, &p, escape, cx.pace())?;
        Ok(Some(like != self.negated))
    }
}
