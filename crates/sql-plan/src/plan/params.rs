//! Whether the values of an execution have the types that a plan was made for.

use types::Value;

use super::tree::Plan;
use sql_expr::{ExprType, Shape};

impl Plan {
    /// Whether it computes what it should with these values of its parameters.
    #[inline]
    pub fn accepts(&self, params: &[Value]) -> bool {
        self.typed_params.is_empty() || self.refused_params(params).next().is_none()
    }

    /// The parameters whose values have another type than the plan was made for, with the type to plan for.
    pub fn refused_params<'a>(
        &'a self,
        params: &'a [Value],
    ) -> impl Iterator<Item = (u32, &'a Value)> {
        self.typed_params.iter().filter_map(|p| {
            let v = params.get(p.place as usize)?;
            let fits = fits(v, &p.ty) && !(p.given && is_another(v, &p.ty));
            (!fits).then_some((p.place, v))
        })
    }
}

/// Whether a value would have been planned with another type of number: after a double, a whole number is one again.
fn is_another(v: &Value, ty: &ExprType) -> bool {
    match ty.shape {
        Shape::Double { .. } => matches!(v, Value::Int(_) | Value::UInt(_) | Value::Decimal(_)),
        Shape::Decimal { .. } => matches!(v, Value::Int(_) | Value::UInt(_)),
        _ => false,
    }
}

/// Whether a value is what a parameter of that type is expected to be.
fn fits(v: &Value, ty: &ExprType) -> bool {
    match (v, ty.shape) {
        (Value::Null, _) => true,
        (Value::Int(_), Shape::Int { unsigned, .. }) => !unsigned || !matches!(v, Value::Int(..0)),
        (Value::UInt(n), Shape::Int { unsigned, .. }) => unsigned || i64::try_from(*n).is_ok(),
        (_, Shape::Int { .. }) => false,
        // Both are whole numbers without a sign.
        (Value::Int(n), Shape::Year | Shape::Bit(_)) => *n >= 0,
        (v, Shape::Year | Shape::Bit(_)) => matches!(v, Value::UInt(_)),
        (Value::Int(_) | Value::UInt(_), Shape::Decimal { .. }) => true,
        (Value::Decimal(d), Shape::Decimal { scale, .. }) => d.scale() <= scale,
        (_, Shape::Decimal { .. }) => false,
        (
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_),
            Shape::Double { .. } | Shape::Float { .. },
        ) => true,
        (_, Shape::Double { .. } | Shape::Float { .. }) => false,
        (Value::Str(..) | Value::Bytes(_), Shape::Str { .. }) => true,
        (_, Shape::Str { .. }) => false,
        // Text beside a date or a time is read as one, a number beside it stays a number.
        (v, _) if ty.is_temporal() => !matches!(
            v,
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Double(_) | Value::Float(_)
        ),
        _ => true,
    }
}
