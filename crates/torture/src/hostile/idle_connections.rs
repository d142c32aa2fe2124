//! Thousands of idle connections beside some busy ones: what an idle one costs in memory, and the busy ones in speed.

use super::stage::{Stage, connect, query};
use harness::process;
use harness::step::Outcome;
use harness::sysbench::Load;
use std::time::Duration;
use wire::client::blocking::Conn;

/// Bytes of server memory that an idle connection may cost.
const MOST_MEMORY: u64 = 32 << 10;

/// The share of the speed alone that must be left beside the crowd.
const LEAST_SPEED: f64 = 0.95;

fn gather(stage: &Stage<'_>) -> Outcome<Vec<Conn>> {
    let mut crowd = Vec::with_capacity(stage.scale.idle);
    for n in 0..stage.scale.idle {
        let mut conn =
            connect(stage.setup).map_err(|e| format!("idle connection number {n}: {e}"))?;
        // A little of what a pool does before it parks a connection.
        query(&mut conn, "USE hostile")?;
        query(&mut conn, "SELECT id, pad FROM rows_ WHERE id = 7")?;
        crowd.push(conn);
    }
    Ok(crowd)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// One measurement of the busy ones.
#[derive(Debug, Clone, Copy)]
struct Speed {
    tps: f64,
    /// The server's CPU time for each, which does not depend on who else uses the machine.
    cpu_us: f64,
}

impl Speed {
    fn measure(stage: &Stage<'_>, load: &Load) -> Outcome<Speed> {
        let pid = stage.server.pid();
        let before = process::cpu_time(pid)?;
        let figures = load.run(stage.setup)?;
        let spent = process::cpu_time(pid)?.saturating_sub(before);
        Ok(Speed {
            tps: figures.tps,
            cpu_us: spent.as_micros() as f64 / figures.transactions.max(1) as f64,
        })
    }
}

/// Measures both.
pub fn crowd(stage: &Stage<'_>) -> Outcome<String> {
    let mut load = Load::new("oltp_point_select", 20_000).threads(stage.scale.active);
    load.seconds = stage.scale.seconds;
    load.prepare(stage.setup)?;
    // What the busy ones need is there before anything is measured.
    load.run(stage.setup)?;
    let before = stage.resident()?;
    let mut crowd = gather(stage)?;
    let each = stage.resident()?.saturating_sub(before) / stage.scale.idle.max(1) as u64;
    if each > MOST_MEMORY {
        return Err(format!("an idle connection costs {each} bytes"));
    }
    let mut pairs: Vec<(Speed, Speed)> = Vec::new();
    for round in 0..stage.scale.rounds {
        // The machine may be getting faster or slower: every other pair is measured the other way round.
        let mut alone = None;
        if round > 0 {
            if round % 2 == 1 {
                alone = Some(Speed::measure(stage, &load)?);
            }
            crowd = gather(stage)?;
        }
        let beside = Speed::measure(stage, &load)?;
        for conn in crowd.iter_mut().step_by(100) {
            query(conn, "SELECT 1")?;
        }
        crowd.clear();
        // The server ends the sessions of those that have gone before the next measurement.
        std::thread::sleep(Duration::from_secs(1));
        let alone = match alone {
            Some(alone) => alone,
            None => Speed::measure(stage, &load)?,
        };
        pairs.push((beside, alone));
    }
    drop(crowd);
    let words = format!(
        "{} of them cost {each} bytes of server memory each",
        stage.scale.idle
    );
    if stage.scale.rounds == 0 {
        return Ok(words);
    }
    let of = |f: fn(&(Speed, Speed)) -> f64| median(&pairs.iter().map(f).collect::<Vec<_>>());
    let share = of(|p| p.0.tps / p.1.tps);
    let speed = format!(
        "{} busy ones make {:.0}/s beside them and {:.0}/s alone, in the middle of {} pairs {share:.3}; \
         {:.1} and {:.1} us of the server's CPU time each",
        stage.scale.active,
        of(|p| p.0.tps),
        of(|p| p.1.tps),
        pairs.len(),
        of(|p| p.0.cpu_us),
        of(|p| p.1.cpu_us)
    );
    if share < LEAST_SPEED {
        return Err(format!("{words}; {speed}; {pairs:.1?}"));
    }
    Ok(format!("{words}; {speed}"))
}
