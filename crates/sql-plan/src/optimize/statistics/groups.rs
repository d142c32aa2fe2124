//! How many groups rows fall into, by how many different values their columns have.
//!
//! Cardenas (1975): of `d` values, `n` rows drawn at random have `d (1 - (1 - 1/d)^n)`, which is about `d (1 - e^(-n/d))`. Values of several columns of
//! one table are no more than it has rows; those of several tables are taken to be independent, as conditions are.

use super::Statistics;
use sql_expr::Expr;

/// The groups that `rows` rows fall into by the values of `keys`; `None` where one of them is no column of which something is known.
pub(crate) fn of(keys: &[Expr], tables: &[Statistics<'_>], rows: f64) -> Option<f64> {
    let mut of_table = vec![1.0f64; tables.len()];
    for k in keys.iter().filter(|k| k.as_const().is_none()) {
        let c = k.as_column()?;
        let place = tables.iter().position(|t| t.slot() == c.slot)?;
        let t = &tables[place];
        let nulls = t.nulls(c.ordinal).is_some_and(|share| share > 0.0);
        of_table[place] *= t.distinct(c.ordinal)? + f64::from(u8::from(nulls));
    }
    let tables = of_table.iter().zip(tables);
    let values: f64 = tables
        .map(|(values, t)| values.min(t.rows.max(1.0)))
        .product();
    Some(drawn(values, rows))
}

/// How many of so many values come with so many rows.
fn drawn(values: f64, rows: f64) -> f64 {
    (values * (1.0 - (-rows / values).exp())).clamp(rows.min(1.0), rows.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::drawn;

    #[test]
    fn few_rows_are_nearly_as_many_groups_and_many_rows_all() {
        assert!((drawn(1000.0, 10.0) - 10.0).abs() < 0.1);
        assert!((drawn(10.0, 1000.0) - 10.0).abs() < 0.001);
        assert_eq!(drawn(5.0, 0.0), 0.0);
        assert_eq!(drawn(1.0, 0.5), 0.5);
    }
}
