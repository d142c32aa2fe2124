//! What columns are made of: values of another kind than expected, room that is used again, text, NULL.

use types::decimal::Decimal;
use types::{CollationId, DataType, Value, ValueRef};

use super::super::*;
use super::{batch_of, bound, columns, draw, layout};
use crate::tests::Bench;
use crate::*;

fn values(v: &Vector) -> Vec<String> {
    (0..v.len()).map(|i| format!("{:?}", v.val(i))).collect()
}

#[test]
fn a_builder_takes_what_comes() {
    let mut b = VectorBuilder::of_column(&DataType::decimal(10, 2));
    let of = |m, s| ValueRef::Decimal(Decimal::from_i128(m, s));
    b.push(ValueRef::Null);
    b.push(of(125, 2));
    let v = b.finish();
    assert!(matches!(v.data(), Data::Decimal64 { scale: 2, .. }));
    assert!(v.is_null(0) && !v.is_null(1));

    b.push(of(125, 2));
    b.push(of(i128::from(i64::MAX) * 10, 2));
    let v = b.finish();
    assert!(matches!(v.data(), Data::Decimal128 { scale: 2, .. }));
    assert_eq!(
        values(&v)[0],
        format!("{:?}", Val::Decimal(Decimal::from_i128(125, 2)))
    );

    b.push(of(125, 2));
    b.push(of(5, 1));
    b.push_null();
    let v = b.finish();
    assert!(matches!(v.data(), Data::Decimal(_)));
    assert!(v.is_null(2));

    b.push(of(125, 2));
    b.push_null();
    b.push(ValueRef::Int(3));
    let v = b.finish();
    assert!(matches!(v.data(), Data::Vals(_)));
    assert_eq!(values(&v)[1..], ["Null", "Int(3)"]);
}

#[test]
fn room_is_used_again() {
    let types = columns();
    let mut builders: Vec<VectorBuilder> = types
        .iter()
        .map(|(_, ty)| VectorBuilder::of_column(ty))
        .collect();
    let mut rng = base::SplitMix64::new(base::seed::of("room"));
    let mut room = Vec::new();
    for round in 0..3 {
        let row = draw::row(&mut rng, false);
        for _ in 0..500 {
            for (b, v) in builders.iter_mut().zip(&row) {
                b.push(v.as_ref());
            }
        }
        let batch = Batch::build(&layout(), &mut builders);
        for (i, v) in row.iter().enumerate() {
            let got = batch.columns()[i].val(499);
            assert_eq!(
                format!("{got:?}"),
                format!("{:?}", Val::from(v.as_ref())),
                "{round} {i}"
            );
        }
        if let Data::I64(v) = batch.columns()[0].data() {
            room.push(v.as_ptr() as usize);
        }
        batch.give_back(&mut builders);
    }
    assert!(room.windows(2).all(|w| w[0] == w[1]), "{room:?}");
}

#[test]
fn text_and_constants() {
    let ty = ExprType::of_column(&DataType::varchar(9, CollationId::UTF8MB4_GENERAL_CI), true);
    let v = Vector::constant(&Val::borrowed(b"abc"), &ty, 3);
    assert!(v.is_constant() && v.len() == 3);
    assert!(matches!(v.value(2, &ty), Value::Str(b, _) if b == b"abc"));
    let n = Vector::null(4);
    assert!(n.is_all_null() && n.is_null(3));
    assert!(v.memory() > 0);
}

#[test]
fn columns_outside_the_batch_come_from_the_row_around() {
    let bench = Bench::new();
    let mut rng = base::SplitMix64::new(3);
    let rows: Vec<Vec<Value>> = (0..5).map(|_| draw::row(&mut rng, false)).collect();
    let full = batch_of(&rows, &mut rng);
    let one = std::sync::Arc::new(Layout::of([(0, 0)]));
    let batch = Batch::new(&one, vec![full.columns()[0].clone()], 5);
    let mut outer = draw::row(&mut rng, false);
    outer[1] = Value::Int(100);
    let e = bound("b + COALESCE(i, 0)", &bench).unwrap();
    let cx = bench.cx(&[]);
    let v = eval_batch(&e, &cx, &batch, &ValuesRow(&outer), &mut Scratch::new()).unwrap();
    for (i, r) in rows.iter().enumerate() {
        let mut row = outer.clone();
        row[0] = r[0].clone();
        assert_eq!(
            format!("{:?}", v.val(i)),
            format!("{:?}", e.eval(&cx, &ValuesRow(&row)).unwrap())
        );
    }
}

#[test]
fn an_error_of_a_row_that_is_not_live_is_not_seen() {
    let bench = Bench::new();
    let mut rng = base::SplitMix64::new(4);
    let mut rows: Vec<Vec<Value>> = (0..4).map(|_| draw::row(&mut rng, false)).collect();
    for (i, r) in rows.iter_mut().enumerate() {
        r[1] = Value::Int(if i == 2 { i64::MAX } else { i as i64 });
    }
    let mut batch = batch_of(&rows, &mut base::SplitMix64::new(1));
    batch.select((0..4).collect());
    let cx = bench.cx(&[]);
    let mut pool = Scratch::new();
    let sum = bound("b + 1", &bench).unwrap();
    let failed = eval_batch(&sum, &cx, &batch, &NoRow, &mut pool).map_err(|e| e.code);
    assert_eq!(failed.map(|_| ()), Err(1690));
    let small = bound("b < 100", &bench).unwrap();
    filter_batch(&[small], &cx, &mut batch, &NoRow, &mut pool).unwrap();
    assert_eq!(batch.selected().iter().collect::<Vec<_>>(), [0, 1, 3]);
    let v = eval_batch(&sum, &cx, &batch, &NoRow, &mut pool).unwrap();
    assert!(matches!(v.val(3), Val::Int(4)));
    let guarded = bound("CASE WHEN b < 100 THEN b + 1 ELSE 0 END", &bench).unwrap();
    batch.select((0..4).collect());
    assert!(eval_quietly(&guarded, &cx, &batch, &NoRow, &mut pool).is_some());
}

#[test]
fn long_texts_of_a_batch_are_refused_before_they_are_made() {
    let mut bench = Bench::new();
    let account = memory::Account::new(&std::sync::Arc::new(memory::Budget::default()));
    account.set_limits(8 << 20, true, false);
    bench.facts.memory = std::sync::Arc::new(account);
    let mut rng = base::SplitMix64::new(5);
    let rows: Vec<Vec<Value>> = (0..200).map(|_| draw::row(&mut rng, false)).collect();
    let mut batch = batch_of(&rows, &mut rng);
    batch.select((0..200).collect());
    let cx = bench.cx(&[]);
    let mut pool = Scratch::new();
    let long = bound("REPEAT(COALESCE(i, 'x'), 100000)", &bench).unwrap();
    let failed = eval_batch(&long, &cx, &batch, &NoRow, &mut pool).map(|v| v.memory());
    assert!(failed.is_err(), "{failed:?}");
    cx.let_go();
    // What a condition makes is gone when it is done.
    let length = bound("CHAR_LENGTH(REPEAT(COALESCE(i, 'x'), 100000)) > 0", &bench).unwrap();
    filter_batch(&[length], &cx, &mut batch, &NoRow, &mut pool).unwrap();
    assert_eq!(batch.selected().len(), 200);
    assert!(bench.facts.memory.held() < 1 << 20);
}
