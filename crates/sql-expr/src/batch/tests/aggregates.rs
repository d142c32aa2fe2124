//! Groups and aggregates over batches beside one accumulator a group that is fed row by row.

use std::collections::HashMap;

use base::SplitMix64;
use types::Value;

use super::super::*;
use super::{aggregates_of, batch_of, bound, draw, warnings};
use crate::agg::{Accumulator, AggSpec};
use crate::tests::Bench;
use crate::*;

const FUNCTIONS: &[&str] = &[
    "COUNT(*)",
    "COUNT({})",
    "SUM({})",
    "AVG({})",
    "MIN({})",
    "MAX({})",
    "BIT_AND({})",
    "BIT_OR({})",
    "BIT_XOR({})",
    "COUNT(DISTINCT {})",
    "SUM(DISTINCT {})",
    "STDDEV({})",
    "GROUP_CONCAT({})",
];

type Results = Result<Vec<Vec<String>>, u16>;

/// Values of all groups, in the order in which they began.
fn by_rows(
    specs: &[AggSpec],
    keys: &[Expr],
    rows: &[Vec<Value>],
    live: &[usize],
    cx: &EvalCtx<'_>,
) -> Results {
    let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut groups: Vec<Vec<Accumulator>> = Vec::new();
    for i in live {
        let row = ValuesRow(&rows[*i]);
        let mut key = Vec::new();
        for k in keys {
            write_group_key(&k.eval(cx, &row).map_err(|e| e.code)?, &k.ty, &mut key);
        }
        let n = *numbers.entry(key).or_insert_with(|| {
            groups.push(specs.iter().map(AggSpec::start).collect());
            groups.len() - 1
        });
        for (acc, spec) in groups[n].iter_mut().zip(specs) {
            acc.add(spec, cx, &row).map_err(|e| e.code)?;
        }
    }
    groups
        .into_iter()
        .map(|accs| {
            let done = accs.into_iter().zip(specs);
            done.map(|(a, s)| {
                a.finish(s, cx)
                    .map(|v| format!("{v:?}"))
                    .map_err(|e| e.code)
            })
            .collect()
        })
        .collect()
}

struct Sums {
    groups: Groups,
    sums: Aggregates,
}

impl Sums {
    fn new(specs: &[AggSpec]) -> Sums {
        Sums {
            groups: Groups::new(7),
            sums: Aggregates::new(specs),
        }
    }

    fn add(
        &mut self,
        specs: &[AggSpec],
        keys: &[Expr],
        batch: &Batch,
        cx: &EvalCtx<'_>,
        pool: &mut Scratch,
    ) -> Result<(), u16> {
        let (mut numbers, mut first) = (Vec::new(), Vec::new());
        let list: Vec<&Expr> = keys.iter().collect();
        let values = eval_all(&list, cx, batch, &NoRow, pool).map_err(|e| e.code)?;
        let columns: Vec<_> = values
            .iter()
            .zip(keys)
            .map(|(v, k)| (&**v, &k.ty))
            .collect();
        let before = self.groups.len();
        self.groups
            .assign(&columns, batch.selected(), &mut numbers, &mut first);
        assert_eq!(first.len(), self.groups.len() - before);
        self.sums.grow(specs, self.groups.len());
        self.sums
            .update(specs, cx, batch, &NoRow, &numbers, pool)
            .map_err(|e| e.code)
    }

    fn finish(&mut self, specs: &[AggSpec], cx: &EvalCtx<'_>) -> Results {
        (0..self.groups.len())
            .map(|g| {
                (0..specs.len())
                    .map(|k| {
                        let v = self.sums.finish(specs, k, g, cx);
                        v.map(|v| format!("{v:?}")).map_err(|e| e.code)
                    })
                    .collect()
            })
            .collect()
    }
}

fn drawn(rng: &mut SplitMix64, bench: &Bench) -> Option<(String, Vec<AggSpec>, Vec<Expr>)> {
    let keys: Vec<&str> = rng
        .pick(&[
            "s", "i", "d,g", "n", "x,e,f", "s,g", "dt", "u,y", "", "UPPER(s)", "z",
        ])
        .split(',')
        .filter(|k| !k.is_empty())
        .collect();
    let mut text = Vec::new();
    for _ in 0..rng.within(1, 4) {
        let arg = match rng.below(3) {
            0 => rng
                .pick(&[
                    "i", "b", "u", "n", "m", "w", "f", "d", "s", "g", "e", "z", "dt", "t",
                ])
                .to_owned(),
            1 => draw::number(rng, 1),
            _ => draw::any(rng, 2),
        };
        text.push(rng.pick(FUNCTIONS).replace("{}", &arg));
    }
    let text = format!("COALESCE({})", text.join(", "));
    let keys = keys
        .iter()
        .map(|k| bound(k, bench))
        .collect::<Option<_>>()?;
    let specs = aggregates_of(&text, bench)?;
    Some((text, specs, keys))
}

#[test]
fn groups_get_what_rows_give() {
    let mut rng = SplitMix64::new(base::seed::of("groups"));
    let bench = Bench::new();
    let mut pool = Scratch::new();
    let mut tried = 0;
    for round in 0..500 {
        let Some((text, specs, keys)) = drawn(&mut rng, &bench) else {
            continue;
        };
        tried += 1;
        let wild = round % 3 == 0;
        let rows: Vec<Vec<Value>> = (0..rng.within(1, 150))
            .map(|_| draw::row(&mut rng, wild))
            .collect();
        let half = rows.len() / 2;
        let (one, two) = (
            batch_of(&rows[..half], &mut rng),
            batch_of(&rows[half..], &mut rng),
        );
        let mut live: Vec<usize> = one.selected().iter().collect();
        live.extend(two.selected().iter().map(|i| half + i));

        let cx = bench.cx(&[]);
        let wanted = by_rows(&specs, &keys, &rows, &live, &cx);
        let wanted_warnings = warnings(&cx);
        let cx = bench.cx(&[]);
        let mut all = Sums::new(&specs);
        let got = all
            .add(&specs, &keys, &one, &cx, &mut pool)
            .and_then(|()| all.add(&specs, &keys, &two, &cx, &mut pool))
            .and_then(|()| all.finish(&specs, &cx));
        assert_eq!(got, wanted, "{text} by {keys:?}");
        if wanted.is_ok() && keys.iter().all(|k| k.as_column().is_some()) {
            assert_eq!(warnings(&cx), wanted_warnings, "{text}");
        }
        if wanted.is_ok() {
            merged(&specs, &keys, [&one, &two], &wanted, &text, &bench);
        }
    }
    assert!(tried > 200, "{tried}");
}

/// The same in two parts, which are merged in memory, and through bytes.
fn merged(
    specs: &[AggSpec],
    keys: &[Expr],
    [one, two]: [&Batch; 2],
    wanted: &Results,
    text: &str,
    bench: &Bench,
) {
    let cx = bench.cx(&[]);
    let mut pool = Scratch::new();
    let (mut a, mut b) = (Sums::new(specs), Sums::new(specs));
    if a.add(specs, keys, one, &cx, &mut pool).is_err()
        || b.add(specs, keys, two, &cx, &mut pool).is_err()
        || a.sums.states().iter().any(GroupStates::is_by_rows)
        || specs
            .iter()
            .any(|s| s.ty.shape == ExprType::double(true).shape)
    {
        return;
    }
    let mut c = Sums::new(specs);
    let map: Vec<u32> = (0..b.groups.len())
        .map(|g| a.groups.of_key(b.groups.key(g)))
        .collect();
    for from in [&mut a, &mut b] {
        let groups = from.groups.len();
        from.sums.grow(specs, groups);
        for g in 0..groups {
            let to = c.groups.of_key(from.groups.key(g)) as usize;
            c.sums.grow(specs, c.groups.len());
            for (k, spec) in specs.iter().enumerate() {
                let mut bytes = Vec::new();
                if g < from.sums.len() {
                    assert!(from.sums.states()[k].write_state(g, &mut bytes));
                    let mut rest = &bytes[..];
                    c.sums.states_mut()[k]
                        .read_state(spec, to, &mut rest, &cx)
                        .unwrap();
                    assert!(rest.is_empty());
                }
            }
        }
    }
    for (k, spec) in specs.iter().enumerate() {
        let other = b.sums.states()[k].clone();
        assert!(
            a.sums.states_mut()[k]
                .merge(spec, &other, &map, &cx)
                .unwrap()
        );
    }
    assert_eq!(&a.finish(specs, &cx), wanted, "merged {text}");
    assert_eq!(&c.finish(specs, &cx), wanted, "written and read {text}");
}

#[test]
fn many_groups_are_found_again() {
    let mut rng = SplitMix64::new(base::seed::of("many groups"));
    let mut groups = Groups::new(rng.next());
    let ty = ExprType::int(20, true);
    let mut wanted: HashMap<i64, u32> = HashMap::new();
    for _ in 0..200 {
        let values: Vec<i64> = (0..1000).map(|_| rng.below(150_000) as i64).collect();
        let v = Vector::new(Data::I64(values.clone()), None);
        let (mut out, mut first) = (Vec::new(), Vec::new());
        groups.assign(&[(&v, &ty)], Sel::All(1000), &mut out, &mut first);
        for (i, g) in values.iter().zip(&out) {
            let next = wanted.len() as u32;
            assert_eq!(wanted.entry(*i).or_insert(next), g);
        }
    }
    assert_eq!(groups.len(), wanted.len());
    assert!(groups.memory() > 0);
    let mut keys = KeyRows::new();
    let v = Vector::new(Data::I64(vec![3, 4, 3]), None);
    keys.write(&[(&v, &ty)], Sel::All(3));
    let mut hashes = Vec::new();
    keys.hash(1, &mut hashes);
    assert_eq!(keys.get(0), keys.get(2));
    assert_eq!(hashes[0], hashes[2]);
    assert_ne!(hashes[0], hashes[1]);
}
