//! What a number is to a column of FLOAT(M,D) or DOUBLE(M,D) that it is compared with: where it has no more digits than the column keeps,
//! it is the value that the column stores for it (13.33 beside FLOAT(5,2) is the nearest single precision number), so that equal
//! numbers are equal and an index finds them. MySQL folds its constants so (`sql_const_folding.cc` of the server).
//!
//! Never here: rounding to the column. A number with more digits stays what it is, and is equal to nothing that the column holds.

use types::SqlError;
use types::collation::CollationId;

use super::def;
use super::def::some;
use crate::compare::Comparer;
use crate::conv;
use crate::node::{Args, Call, Expr, FuncDef, InferCx, Node};
use crate::ty::{ExprType, NOT_FIXED, Shape};
use crate::val::Val;

/// The digits that a column keeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Digits {
    scale: u8,
    single: bool,
}

/// What fits a value that is known only when the statement runs; it has no name that a statement could call it by.
static FIT: FuncDef = def("", 3, 3, infer_fit, fit);

impl Digits {
    /// Those of a column; `None` for any other expression, and where the value decides.
    pub(crate) fn of_column(e: &Expr) -> Option<Digits> {
        e.as_column()?;
        match e.ty.shape {
            Shape::Float { scale } if scale < NOT_FIXED => Some(Digits {
                scale,
                single: true,
            }),
            Shape::Double { scale } if scale < NOT_FIXED => Some(Digits {
                scale,
                single: false,
            }),
            _ => None,
        }
    }

    /// The value that stands for the number in such a column; the number itself where the column has none for it.
    fn fit(self, d: f64) -> f64 {
        let unit = 10f64.powi(i32::from(self.scale));
        let rounded = (d * unit).round_ties_even() / unit;
        let (stored, given) = match self.single {
            true => (f64::from(rounded as f32), f64::from(d as f32)),
            false => (rounded, d),
        };
        match stored.is_finite() && stored == given {
            true => stored,
            false => d,
        }
    }

    /// Brings what is compared with such a column, and is the same for every row, to what the column stores. Text that is no
    /// number stays, for whoever reads it warns of it.
    pub(crate) fn bring(self, e: &mut Expr) {
        let fitted = match e.as_const() {
            None => {
                let given = std::mem::replace(e, Expr::null());
                let ty = ExprType::double(given.ty.nullable);
                let number = |n: u8| Expr::constant(Val::Int(n.into()), ExprType::int(2, false));
                let args = vec![given, number(self.scale), number(self.single.into())];
                let node = Node::Call(Call { def: &FIT, args });
                *e = Expr { node, ty };
                return;
            }
            Some(Val::Bytes(b)) => match conv::parse_double(b) {
                (d, true) => self.fit(d),
                _ => return,
            },
            Some(Val::Int(i)) => self.fit(*i as f64),
            Some(Val::Uint(u)) => self.fit(*u as f64),
            Some(Val::Decimal(d)) => self.fit(d.to_f64()),
            Some(Val::Double(d)) => self.fit(*d),
            Some(_) => return,
        };
        *e = Expr::constant(Val::Double(fitted), ExprType::double(false));
    }
}

impl Comparer {
    /// The way an operator compares two expressions.
    ///
    /// # Errors
    /// As [`choose`](Self::choose).
    pub fn of_operator(
        a: &Expr,
        b: &Expr,
        connection: CollationId,
        op: &str,
    ) -> Result<Comparer, SqlError> {
        let how = Self::choose(&a.ty, &b.ty, connection, op)?;
        // What columns of one kind store for equal numbers is equal, and so it is for whole numbers.
        let column = |e: &Expr| e.as_column().is_some();
        let kind = std::mem::discriminant::<Shape>;
        let alike = kind(&a.ty.shape) == kind(&b.ty.shape);
        Ok(
            match column(a) && column(b) && (alike || a.ty.is_integer() || b.ty.is_integer()) {
                true => how,
                false => how.by_digits(&a.ty, &b.ty),
            },
        )
    }
}

fn infer_fit(_: &InferCx<'_>, args: &mut [Expr]) -> Result<ExprType, SqlError> {
    Ok(ExprType::double(args[0].ty.nullable))
}

fn fit(a: Args<'_>) -> Result<Val<'_>, SqlError> {
    let d = some!(a.f64(0)?);
    let (scale, single) = (a.i64_or(1, 0)?, a.i64_or(2, 0)?);
    let digits = Digits {
        scale: scale.unwrap_or_default().clamp(0, 30) as u8,
        single: single == Some(1),
    };
    Ok(Val::Double(digits.fit(d)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_what_the_column_stores_for_it() {
        let (single, double) = (
            Digits {
                scale: 2,
                single: true,
            },
            Digits {
                scale: 3,
                single: false,
            },
        );
        assert_eq!(single.fit(13.33), f64::from(13.33f32));
        assert_eq!(single.fit(-0.1), f64::from(-0.1f32));
        assert_eq!(single.fit(13.331), 13.331);
        assert_eq!(single.fit(1e300), 1e300);
        assert_eq!(double.fit(7.7), 7.7);
        assert_eq!(double.fit(0.1 + 0.2), 0.1 + 0.2);
    }
}
