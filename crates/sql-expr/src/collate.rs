//! Which collation holds when texts meet: MySQL's coercibility rules, and error 1267/1270/1271 where none does.

use types::SqlError;
use types::charset::Charset;
use types::collation::CollationId;
use types::error::codes;

use super::ty::{Coercibility, ExprType, Shape};

/// The collation facts of one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collated {
    /// The collation.
    pub collation: CollationId,
    /// How strongly it holds.
    pub coercibility: Coercibility,
    /// ASCII whatever the character set says.
    pub ascii: bool,
}

impl Collated {
    /// Those of an expression, where numbers and times count as text of the connection's collation.
    pub fn of(ty: &ExprType, connection: CollationId) -> Collated {
        if let Shape::Bit(_) = ty.shape {
            // Its bytes, which are of a column.
            Collated {
                collation: CollationId::BINARY,
                coercibility: Coercibility::Implicit,
                ascii: false,
            }
        } else if ty.is_text() || ty.shape == Shape::Null {
            Collated {
                collation: ty.collation,
                coercibility: ty.coercibility,
                ascii: ty.is_ascii(),
            }
        } else {
            Collated {
                collation: connection,
                coercibility: Coercibility::Numeric,
                ascii: true,
            }
        }
    }

    /// The facts that hold for both together; `None` where the character sets cannot be joined or two explicit
    /// collations differ.
    fn join(self, other: Collated) -> Option<Collated> {
        let ascii = self.ascii && other.ascii;
        let keep = |c: Collated| Some(Collated { ascii, ..c });
        if self.coercibility == Coercibility::Ignorable {
            return keep(other);
        }
        if other.coercibility == Coercibility::Ignorable {
            return keep(self);
        }
        let (a, b) = (self.collation.charset(), other.collation.charset());
        if a != b {
            if self.collation.is_binary() {
                return keep(if self.coercibility <= other.coercibility {
                    self
                } else {
                    other
                });
            }
            if other.collation.is_binary() {
                return keep(if other.coercibility <= self.coercibility {
                    other
                } else {
                    self
                });
            }
            if self.covers(other) {
                return keep(self);
            }
            if other.covers(self) {
                return keep(other);
            }
            // a literal is converted to the other's character set
            if self.coercibility < other.coercibility && other.coercibility >= Coercibility::System
            {
                return keep(self);
            }
            if other.coercibility < self.coercibility && self.coercibility >= Coercibility::System {
                return keep(other);
            }
            return None;
        }
        // The stronger one stays as strong, also where both have one collation: what comes behind is measured by it.
        if self.coercibility < other.coercibility {
            return keep(self);
        }
        if other.coercibility < self.coercibility {
            return keep(other);
        }
        if self.collation == other.collation {
            return keep(self);
        }
        if self.coercibility == Coercibility::Explicit {
            return None;
        }
        if self.collation.is_bin() {
            return keep(self);
        }
        if other.collation.is_bin() {
            return keep(other);
        }
        Some(Collated {
            collation: CollationId::bin_of(a),
            coercibility: Coercibility::Mixed,
            ascii,
        })
    }

    /// Whether `other` is converted to this one's character set, which then holds. MySQL counts utf8mb3 as Unicode too; what a constant
    /// loses is found when it is converted.
    fn covers(self, other: Collated) -> bool {
        let (a, b) = (self.collation.charset(), other.collation.charset());
        let wide = |c: Charset| matches!(c, Charset::Utf8mb4 | Charset::Utf8mb3);
        let stronger = self.coercibility < other.coercibility;
        let equal = self.coercibility == other.coercibility;
        let superset = a == Charset::Utf8mb4 && b == Charset::Utf8mb3;
        (wide(a) && (stronger || (equal && (!wide(b) || superset))))
            || (other.ascii && (stronger || (equal && (!self.ascii || wide(a)))))
    }
}

/// The collation facts that hold for all of them. `compared` refuses a mixture that can be joined but not
/// compared. `op` is the operation's name in an error.
///
/// # Errors
/// 1267 for two, 1270 for three, 1271 for more.
pub fn aggregate<'a>(
    parts: impl IntoIterator<Item = &'a ExprType>,
    connection: CollationId,
    compared: bool,
    op: &str,
) -> Result<Collated, SqlError> {
    let all: Vec<Collated> = parts
        .into_iter()
        .map(|t| Collated::of(t, connection))
        .collect();
    let Some(first) = all.first().copied() else {
        return Ok(Collated {
            collation: connection,
            coercibility: Coercibility::Literal,
            ascii: true,
        });
    };
    let mut sum = first;
    for &c in &all[1..] {
        sum = sum.join(c).ok_or_else(|| illegal_mix(&all, op))?;
    }
    if compared && sum.coercibility == Coercibility::Mixed {
        return Err(illegal_mix(&all, op));
    }
    Ok(sum)
}

pub(super) fn illegal_mix(all: &[Collated], op: &str) -> SqlError {
    let one = |c: &Collated| format!("({},{})", c.collation.name(), c.coercibility.word());
    match all {
        [a, b] => SqlError::new(
            codes::ER_CANT_AGGREGATE_2COLLATIONS,
            format!(
                "Illegal mix of collations {} and {} for operation '{op}'",
                one(a),
                one(b)
            ),
        ),
        [a, b, c] => SqlError::new(
            codes::ER_CANT_AGGREGATE_3COLLATIONS,
            format!(
                "Illegal mix of collations {}, {}, {} for operation '{op}'",
                one(a),
                one(b),
                one(c)
            ),
        ),
        _ => SqlError::new(
            codes::ER_CANT_AGGREGATE_NCOLLATIONS,
            format!("Illegal mix of collations for operation '{op}'"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERAL: CollationId = CollationId::UTF8MB4_GENERAL_CI;
    const NEW: CollationId = CollationId::UTF8MB4_0900_AI_CI;

    fn col(c: CollationId) -> ExprType {
        ExprType::text(10, c, Coercibility::Implicit, true)
    }

    fn lit(c: CollationId) -> ExprType {
        ExprType::text(10, c, Coercibility::Literal, false)
    }

    fn agg(a: ExprType, b: ExprType) -> Result<CollationId, String> {
        aggregate([&a, &b], NEW, true, "=")
            .map(|c| c.collation)
            .map_err(|e| e.message)
    }

    #[test]
    fn a_column_wins_over_a_literal() {
        assert_eq!(agg(col(GENERAL), lit(NEW)), Ok(GENERAL));
        assert_eq!(
            agg(lit(NEW), col(CollationId::LATIN1_SWEDISH_CI)),
            Ok(CollationId::LATIN1_SWEDISH_CI)
        );
    }

    #[test]
    fn two_columns_do_not_mix() {
        assert_eq!(
            agg(col(GENERAL), col(NEW)),
            Err("Illegal mix of collations (utf8mb4_general_ci,IMPLICIT) and (utf8mb4_0900_ai_ci,IMPLICIT) for operation '='".to_owned())
        );
        assert_eq!(
            agg(col(GENERAL), col(CollationId::UTF8MB4_BIN)),
            Ok(CollationId::UTF8MB4_BIN)
        );
    }

    #[test]
    fn unicode_wins_over_others() {
        assert_eq!(agg(col(CollationId::LATIN1_SWEDISH_CI), col(NEW)), Ok(NEW));
        assert_eq!(
            agg(col(CollationId::BINARY), col(NEW)),
            Ok(CollationId::BINARY)
        );
        assert_eq!(agg(ExprType::null(), col(GENERAL)), Ok(GENERAL));
        assert_eq!(agg(ExprType::int(5, false), col(GENERAL)), Ok(GENERAL));
    }
}
