//! The report on a run: one HTML file that needs no other, with plots drawn as SVG, and the README's share.
//!
//! Everything here is a function of the record; nothing is measured, and no figure is made up on the way.

mod html;
mod plot;
mod readme;

pub use html::page;
pub use plot::{colour, courses, standalone};
pub use readme::update as update_readme;

/// A number of queries, with commas: `12,345`.
fn thousands(x: f64) -> String {
    let digits = format!("{:.0}", x.max(0.0));
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A rate: whole, unless it is so small that its fraction matters.
fn rate(x: f64) -> String {
    if x < 100.0 {
        format!("{x:.1}")
    } else {
        thousands(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(thousands(0.4), "0");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(thousands(1000.0), "1,000");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
        assert_eq!(rate(62.54), "62.5");
    }
}
