//! DECIMAL against results known from MySQL.

use super::arith::Rounding;
use super::*;
use proptest::prelude::*;

fn d(s: &str) -> Decimal {
    s.parse().unwrap_or_else(|()| panic!("bad literal {s}"))
}

#[test]
fn size_is_four_words() {
    assert_eq!(size_of::<Decimal>(), 32);
}

#[test]
fn text_round_trip() {
    let nines = "9".repeat(65);
    let small = format!("-0.{}1", "0".repeat(29));
    for s in [
        "0",
        "0.00",
        "1",
        "-1.50",
        "123456789.123456789",
        "12345678901234567890123456789012345678901234567890.123",
        &nines,
        &small,
    ] {
        assert_eq!(d(s).to_string(), s);
    }
    for (text, want, used) in [
        ("  12.50abc", "12.50", 7),
        (".5", "0.5", 2),
        ("5.", "5", 2),
        ("1e3", "1000", 3),
        ("1.25e1", "12.5", 6),
        ("125e-2", "1.25", 6),
        ("1e", "1", 1),
        ("-0.0", "0.0", 4),
        ("abc", "0", 0),
        ("-", "0", 0),
        ("1e-40", "0.000000000000000000000000000000", 5),
        (
            "0.1234567890123456789012345678905",
            "0.123456789012345678901234567891",
            33,
        ),
    ] {
        let p = Decimal::parse(text.as_bytes());
        assert_eq!(
            (p.value.to_string().as_str(), p.used),
            (want, used),
            "{text}"
        );
    }
    let p = Decimal::parse(b"1e70");
    assert!(p.overflow);
    assert_eq!(p.value.to_string(), nines);
}

#[test]
fn arithmetic() {
    assert_eq!(
        d("1.5").checked_add(&d("2.25")).unwrap().to_string(),
        "3.75"
    );
    assert_eq!(
        d("1.5").checked_sub(&d("2.25")).unwrap().to_string(),
        "-0.75"
    );
    assert_eq!(
        d("1.5").checked_mul(&d("-2.25")).unwrap().to_string(),
        "-3.375"
    );
    let big = d(&"9".repeat(65));
    assert!(big.checked_add(&d("1")).is_none());
    assert_eq!(
        big.checked_sub(&d("1")).unwrap().to_string(),
        format!("{}8", "9".repeat(64))
    );
    assert_eq!(
        d(&"9".repeat(33))
            .checked_mul(&d(&"9".repeat(32)))
            .unwrap()
            .to_string(),
        "99999999999999999999999999999998900000000000000000000000000000001"
    );
}

#[test]
fn division_follows_mysql() {
    for (a, b, want) in [
        ("1", "3", "0.3333"),
        ("2", "3", "0.6667"),
        ("-10.0", "4", "-2.50000"),
        ("1.00", "0.0003", "3333.333333"),
        ("355", "113", "3.1416"),
        ("0.000000001", "3", "0.0000000003333"),
    ] {
        assert_eq!(
            d(a).div_rounded(&d(b), 4).unwrap().to_string(),
            want,
            "{a}/{b}"
        );
    }
    assert!(d("1").checked_div(&d("0.00"), 4).is_none());
    let third = d("1").checked_div(&d("3"), 4).unwrap();
    assert_eq!(third.to_string(), "0.333333333");
    assert_eq!(
        third
            .checked_mul(&d("3"))
            .unwrap()
            .rescale(4)
            .unwrap()
            .to_string(),
        "1.0000"
    );
    let wide = d(&"8".repeat(65)).checked_div(&d("7"), 4).unwrap();
    assert_eq!(
        wide.round_with(0, Rounding::Truncate).to_string(),
        "12698412698412698412698412698412698412698412698412698412698412698"
    );
}

#[test]
fn remainder_and_integer_quotient() {
    for (a, b, q, r) in [
        ("10.5", "3", "3", "1.5"),
        ("-10.5", "3", "-3", "-1.5"),
        ("10.5", "-3", "-3", "1.5"),
        ("5", "0.3", "16", "0.2"),
    ] {
        assert_eq!(d(a).checked_int_div(&d(b)).unwrap().to_string(), q);
        assert_eq!(d(a).checked_rem(&d(b)).unwrap().to_string(), r);
    }
    assert!(d("1").checked_rem(&d("0")).is_none());
}

#[test]
fn rounding() {
    for (s, n, how, want) in [
        ("2.5", 0, Rounding::HalfUp, "3"),
        ("-2.5", 0, Rounding::HalfUp, "-3"),
        ("1.298", 1, Rounding::HalfUp, "1.3"),
        ("23.298", -1, Rounding::HalfUp, "20"),
        ("150", -2, Rounding::HalfUp, "200"),
        ("1.999", 1, Rounding::Truncate, "1.9"),
        ("122", -2, Rounding::Truncate, "100"),
        ("-1.1", 0, Rounding::Floor, "-2"),
        ("-1.9", 0, Rounding::Ceiling, "-1"),
        ("1.1", 0, Rounding::Ceiling, "2"),
        ("9.99", 5, Rounding::HalfUp, "9.99"),
        ("5", -70, Rounding::HalfUp, "0"),
    ] {
        assert_eq!(d(s).round_with(n, how).to_string(), want, "{s} {n}");
    }
    let nines = format!("{}.5", "9".repeat(64));
    assert_eq!(
        d(&nines).round_with(0, Rounding::HalfUp).to_string(),
        format!("1{}", "0".repeat(64))
    );
}

#[test]
fn order_and_integers() {
    assert!(d("1.0") == d("1.00"));
    assert!(d("-1") < d("0") && d("-2") < d("-1.5") && d("0.1") < d("0.11"));
    assert!(d(&"9".repeat(65)) > d("0.000000000000000000000000000001"));
    assert_eq!(d("2.5").to_i64(), Some(3));
    assert_eq!(d("-9223372036854775808").to_i64(), Some(i64::MIN));
    assert_eq!(d("9223372036854775807.5").to_i64(), None);
    assert_eq!(d("18446744073709551615").to_u64(), Some(u64::MAX));
    assert_eq!(d("-0.4").to_u64(), Some(0));
    assert_eq!(d("-1").to_u64(), None);
}

#[test]
fn doubles() {
    for (v, s) in [
        (0.1, "0.1"),
        (1e20, "100000000000000000000"),
        (-1.5, "-1.5"),
        (123456.789, "123456.789"),
    ] {
        assert_eq!(Decimal::from_f64(v).value.to_string(), s);
        assert_eq!(d(s).to_f64(), v);
    }
    assert!(Decimal::from_f64(1e300).overflow);
}

#[test]
fn digits_and_limits() {
    assert_eq!((d("0.05").precision(), d("0.05").int_digits()), (2, 0));
    assert_eq!((d("123.45").precision(), d("123.45").int_digits()), (5, 3));
    assert_eq!(d(&"9".repeat(65)).precision(), 65);
    assert_eq!(Decimal::max_value(5, 2, true).to_string(), "-999.99");
    assert_eq!(Decimal::packed_len(10), 5);
    assert_eq!(Decimal::packed_len(65), 28);
    for p in 1..=65 {
        let m = Decimal::max_value(p, 0, true);
        let mut out = Vec::new();
        m.pack_le(p, 0, &mut out);
        assert_eq!(Decimal::unpack_le(&out, 0), m, "{p}");
    }
}

fn decimals() -> impl Strategy<Value = Decimal> {
    (any::<bool>(), "[0-9]{1,35}", "[0-9]{0,30}").prop_map(|(neg, i, f)| {
        let s = format!("{}{i}.{f}", if neg { "-" } else { "" });
        Decimal::parse(s.as_bytes()).value
    })
}

/// A sum less one of its terms is the other one; or, where the sum had to give up digits after the point to have no more than 65,
/// as near to it as rounding the sum leaves it: half a unit of the last digit that was kept.
fn undone(a: &Decimal, b: &Decimal, sum: &Decimal) {
    let back = sum.checked_sub(b).expect("no more digits than a term has");
    if sum.scale() >= a.scale().max(b.scale()) {
        assert_eq!(back, *a, "{a} + {b} = {sum}");
        return;
    }
    let off = back.checked_sub(a).expect("a small number");
    let twice = off.checked_add(&off).expect("a small number");
    let unit = d(&format!("1e-{}", sum.scale()));
    assert!(twice <= unit && twice.neg() <= unit, "{a} + {b} = {sum}");
}

/// A pair that was drawn once: the sum has 66 digits and no room for the last.
#[test]
fn a_sum_without_room_for_its_last_digit_is_rounded() {
    let a = d("80000000000000000000000000000000000.000000000000000000000000000001");
    let b = d("20000000000000000000000000000000000");
    let sum = a.checked_add(&b).unwrap();
    assert_eq!(
        sum.to_string(),
        format!("1{}.{}", "0".repeat(35), "0".repeat(29))
    );
    assert_ne!(sum.checked_sub(&b), Some(a));
    undone(&a, &b, &sum);
}

proptest! {
    #![proptest_config(base::seeded!())]

    #[test]
    fn packing_keeps_value_and_order(a in decimals(), b in decimals()) {
        let (mut x, mut y, mut l) = (Vec::new(), Vec::new(), Vec::new());
        a.pack_ordered(65, 30, &mut x);
        b.pack_ordered(65, 30, &mut y);
        a.pack_le(65, 30, &mut l);
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(Decimal::unpack_ordered(&x, 30), a);
        prop_assert_eq!(Decimal::unpack_le(&l, 30), a);
    }

    #[test]
    fn addition_is_undone_by_subtraction(a in decimals(), b in decimals()) {
        if let Some(s) = a.checked_add(&b) {
            undone(&a, &b, &s);
        }
    }

    #[test]
    fn small_numbers_agree_with_integers(a in -1_000_000i64..1_000_000, b in 1i64..10_000) {
        let (x, y) = (Decimal::from_i64(a), Decimal::from_i64(b));
        prop_assert_eq!(x.checked_rem(&y).unwrap().to_i64(), Some(a % b));
        prop_assert_eq!(x.checked_int_div(&y).unwrap().to_i64(), Some(a / b));
        prop_assert_eq!(x.checked_mul(&y).unwrap().to_i64(), Some(a * b));
    }
}
