//! Plans by statement text, for clients that send the same text again and again.
//!
//! One cache a session, so that a hit touches no shared memory. A text is kept only when it comes a second time: texts
//! with literals that never repeat cost a hash and nothing else.

use sql_access::Authorized;
use sql_plan::plan::Plan;

/// Places for plans; a text has one place and displaces what was there.
const PLACES: usize = 64;
/// Places for hashes of texts that came once.
const SEEN: usize = 256;
/// Longer texts are not kept.
const MAX_TEXT: usize = 4096;

struct Entry {
    hash: u64,
    settings: u64,
    version: u64,
    text: Box<[u8]>,
    plan: Authorized<Plan>,
}

/// A session's plans by text.
#[derive(Default)]
pub struct StatementCache {
    /// Empty until the first text repeats.
    entries: Vec<Option<Entry>>,
    seen: Vec<u32>,
}

/// Multiply-and-fold over eight bytes at a time, in the manner of wyhash. Texts are compared in full on a hit, so a collision
/// costs a miss and no more.
fn hash(text: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |a: u64, b: u64| {
        let m = u128::from(a) * u128::from(b);
        (m >> 64) as u64 ^ m as u64
    };
    let mut h = K ^ text.len() as u64;
    let (chunks, rest) = text.as_chunks::<8>();
    for c in chunks {
        h = fold(h ^ u64::from_le_bytes(*c), K);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(h ^ u64::from_le_bytes(last), K)
}

impl StatementCache {
    /// An empty one.
    pub fn new() -> StatementCache {
        StatementCache::default()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.seen.clear();
    }

    /// The plan of a text under the present settings, catalog and statistics.
    #[inline]
    pub fn get(&self, text: &[u8], settings: u64, version: u64) -> Option<Authorized<Plan>> {
        if self.entries.is_empty() || text.len() > MAX_TEXT {
            return None;
        }
        let h = hash(text);
        let e = self.entries[h as usize % PLACES].as_ref()?;
        let same = e.hash == h && e.settings == settings && e.version == version;
        let holds = same && *e.text == *text && e.plan.peek().is_fresh();
        holds.then(|| e.plan.clone())
    }

    /// Keeps the plan of a text that was offered before.
    pub fn offer(&mut self, text: &[u8], settings: u64, version: u64, plan: &Authorized<Plan>) {
        // User variables have the type of their last value: such a plan holds for one execution.
        if text.len() > MAX_TEXT || text.contains(&b'@') {
            return;
        }
        let h = hash(text);
        if self.seen.is_empty() {
            self.seen = vec![0; SEEN];
        }
        let mark = (h >> 32) as u32 | 1;
        let slot = &mut self.seen[(h >> 8) as usize % SEEN];
        if *slot != mark {
            *slot = mark;
            return;
        }
        if self.entries.is_empty() {
            self.entries.resize_with(PLACES, || None);
        }
        self.entries[h as usize % PLACES] = Some(Entry {
            hash: h,
            settings,
            version,
            text: text.into(),
            plan: plan.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql_access::needs::Needs;
    use sql_access::{AccountId, SecurityContext};
    use sql_plan::plan::{PlanBody, TimeLimit};
    use std::sync::Arc;

    fn plan() -> Authorized<Plan> {
        let plan = Arc::new(Plan {
            needs: Needs::none(),
            catalog_version: 1,
            figures: Box::default(),
            tables: Vec::new(),
            views: Box::default(),
            columns: Vec::new().into(),
            params: 0,
            typed_params: Box::default(),
            estimates: Box::default(),
            writes: false,
            locks: false,
            private: false,
            deep: false,
            time_limit: TimeLimit::Never,
            charge: sql_expr::memory::Charge::default(),
            body: PlanBody::Explain(Box::default()),
        });
        SecurityContext::of_the_server(0, AccountId::default())
            .authorize(plan)
            .expect("the server may do everything")
    }

    #[test]
    fn a_text_is_kept_the_second_time() {
        let mut c = StatementCache::new();
        let p = plan();
        c.offer(b"select 1", 1, 1, &p);
        assert!(c.get(b"select 1", 1, 1).is_none());
        c.offer(b"select 1", 1, 1, &p);
        assert!(c.get(b"select 1", 1, 1).is_some());
        assert!(c.get(b"select 1", 2, 1).is_none());
        assert!(c.get(b"select 1", 1, 2).is_none());
        assert!(c.get(b"select 2", 1, 1).is_none());
        c.clear();
        assert!(c.get(b"select 1", 1, 1).is_none());
    }
}
