//! Bit rot: one bit of one page of a table's file changes while the engine is down. Then either nobody notices and
//! nothing is wrong, or the damage is named; a wrong row is never shown.

use crate::context::Context;
use crate::disk::Survivor;
use crate::run::{End, Life, Run};
use crate::verify;
use std::sync::Arc;

/// Damages a page and opens once more.
pub(crate) fn bit_rot(run: &mut Run, mut on: Survivor) -> Result<(), String> {
    let paths: Vec<_> = on
        .paths()
        .into_iter()
        .filter(|p| {
            let p = p.to_string_lossy();
            p.ends_with(".tdb") && !p.ends_with("catalog.tdb")
        })
        .collect();
    if paths.is_empty() {
        return Ok(());
    }
    for _ in 0..run.rng.within(1, 3) {
        let path = &paths[run.rng.below(paths.len() as u64) as usize];
        let at = run.rng.below(on.len_of(path).max(1) as u64) as usize;
        let mask = 1u8 << run.rng.below(8);
        on.bit_rot(path, at, mask);
        run.count("bits flipped", 1);
    }
    let disk = run.start(on);
    let mut exec = run.executor(&disk);
    let Some((engine, report)) = run.open(&mut exec, false)? else {
        return Err("the start after bit rot did not come to an end".into());
    };
    run.count("damaged pages listed", report.pages.damaged.len() as u64);
    let cx = Context::new(engine, disk.clone(), run.model.clone(), run.plan.clone());
    let mut life = Life::new(exec, Arc::new(cx));
    let floor = run.model.lock().durable;
    let cx = life.cx.clone();
    let end = run.task(&mut life, "verify after bit rot", async move {
        verify::recovered(&cx, floor, true).await
    });
    let counts = life.cx.counts();
    for (k, n) in counts {
        run.count(k, n);
    }
    life.exec.abandon();
    match end {
        End::Wrong(w) => Err(w),
        _ => Ok(()),
    }
}
