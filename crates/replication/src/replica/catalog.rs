//! Whether a change of definitions took place before a crash. Such a change commits by itself, and the place behind it is written after it.
//! Before it a number is kept that stands for all definitions as they are. Where they are still the same after a crash, it has not taken
//! place, or has changed nothing.

use engine::{Catalog, UNFINISHED};

/// FNV-1a: its sums are the same in each process and version.
struct Sum(u64);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// The number of a catalog.
pub(super) fn sum(catalog: &Catalog) -> u64 {
    let mut all = 0u64;
    // Each by itself, so that the order in which they are kept does not count.
    let mut add = |f: &dyn Fn(&mut Sum)| {
        let mut one = Sum(0xcbf2_9ce4_8422_2325);
        f(&mut one);
        all = all.wrapping_add(one.0.rotate_left(17).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    };
    for schema in catalog.schemas() {
        add(&|s| s.add(&schema.def.encode()));
        for o in schema.objects.values() {
            add(&|s| s.add(&o.encode()));
        }
    }
    for t in catalog
        .tables()
        .filter(|t| !t.def.name.starts_with(UNFINISHED))
    {
        add(&|s| s.add(&t.def.encode()));
    }
    all
}
