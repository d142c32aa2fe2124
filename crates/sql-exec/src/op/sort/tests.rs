//! Sorting in memory.

use super::*;
use types::{CollationId, DataType, Value};

/// Sorted by a column of their own, rows come as with whole keys.
#[test]
fn a_column_of_their_own_sorts_rows_as_their_keys_do() {
    let mut ty = DataType::VarChar {
        chars: 40,
        collation: CollationId::UTF8MB4_0900_AI_CI,
    };
    for collation in [
        CollationId::UTF8MB4_0900_AI_CI,
        CollationId::UTF8MB4_GENERAL_CI,
    ] {
        if let DataType::VarChar { collation: c, .. } = &mut ty {
            *c = collation;
        }
        // Many with the same beginning, some the same but for their case, some short, some NULL.
        let text = |i: u64| {
            let n = i.wrapping_mul(2_654_435_761) % 3001;
            match n % 7 {
                0 => None,
                1 => Some(format!("{n}")),
                2 | 3 => Some(format!("The same beginning {n}")),
                4 => Some(format!("THE SAME beginning {}", n / 7 % 50)),
                5 => Some(format!("ä{}", n % 11)),
                _ => Some(format!("{:09}-{n}", n * 7919)),
            }
        };
        for (keep, unique, descending) in [
            (u64::MAX, false, false),
            (u64::MAX, true, false),
            (u64::MAX, true, true),
            (10, false, true),
            (700, true, false),
            (1, true, true),
        ] {
            let mut part = KeyPart::new(ty.clone(), true);
            part.descending = descending;
            let mut s = Sorter::by_column(2, keep, 1, part.clone(), unique, &Arc::default());
            let mut all = Vec::new();
            for i in 0..9000 {
                let t = text(i);
                let v = match &t {
                    Some(t) => ValueRef::Str(t.as_bytes(), collation),
                    None => ValueRef::Null,
                };
                let mut key = Vec::new();
                part.encode(v, &mut key);
                all.push((key, i));
                assert!(s.add_by_column(&[ValueRef::UInt(i), v]));
            }
            all.sort();
            if unique {
                all.dedup_by(|later, first| later.0 == first.0);
            }
            all.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
            let want: Vec<u64> = all.iter().map(|x| x.1).collect();
            s.sort_at_once();
            s.entries.truncate(s.keep);
            let out = s.sorted();
            let got: Vec<u64> = out
                .order
                .iter()
                .map(|&r| match out.rows.column(r as usize, 0) {
                    ValueRef::UInt(v) => v,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(got == want, "{keep} {unique} {descending}");
        }
    }
}

#[test]
fn the_best_rows_stay() {
    for keep in [0u64, 1, 7, 600, u64::MAX] {
        let mut s = Sorter::new(1, keep, &Arc::default());
        for i in 0..5000u64 {
            let v = i.wrapping_mul(2_654_435_761) % 5003;
            let key = v.to_be_bytes();
            if s.wants(&key) {
                s.add(&key, [ValueRef::UInt(v)]);
            }
        }
        s.sort_at_once();
        s.entries.truncate(s.keep);
        let out = s.sorted();
        let got: Vec<u64> = out
            .order
            .iter()
            .map(|&r| match out.rows.column(r as usize, 0) {
                ValueRef::UInt(v) => v,
                other => panic!("{other:?}"),
            })
            .collect();
        let mut all: Vec<u64> = (0..5000u64)
            .map(|i| i.wrapping_mul(2_654_435_761) % 5003)
            .collect();
        all.sort_unstable();
        all.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
        assert_eq!(got, all);
    }
    let _ = Value::Null;
}
