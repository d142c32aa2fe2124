//! Groups of events: each transaction leaves one that says what it has written. A reader goes along and remembers where it was, as that of a
//! binary log does; after every crash what the log has behind that place must be the groups of those transactions that are there, in
//! their order, byte by byte.

use crate::context::{Context, Trouble};
use crate::groups::{Expected, Sum, put, sum};
use crate::model::Write;
use base::Lsn;
use engine::{Follower, GroupEnd, GroupPosition, Session};
use std::any::Any;
use std::sync::Arc;

/// What a group begins with behind which nothing is to be read for now.
const STOP: &[u8] = b"the end for now, number ";

struct Ending;

impl GroupEnd for Ending {
    fn end(&self, _: Option<&mut (dyn Any + Send + Sync)>, _: i64, out: &mut Vec<u8>) {
        out.push(b'.');
    }
}

/// A statement has made these writes.
pub async fn said(s: &mut Session, writes: &[Write]) -> Result<(), Trouble> {
    if !writes.is_empty() {
        s.append_events(|out| writes.iter().for_each(|w| put(w, out)));
        if s.has_many_events() {
            s.spill_events().await?;
        }
    }
    Ok(())
}

/// An engine was opened.
pub fn opened(cx: &Context) {
    cx.engine.end_groups_with(Arc::new(Ending));
}

fn follower(cx: &Context) -> Follower {
    let position = cx.model().groups.position;
    let begin = GroupPosition {
        from: cx.engine.oldest_log(),
        after: Lsn::NONE,
    };
    cx.engine.follow(position.unwrap_or(begin))
}

/// After a recovery, the model having been told what it has left. Where a fault has closed the log, the next start is looked at.
pub async fn recovered(cx: &Context) -> Result<(), Trouble> {
    match compare(cx).await {
        Err(Trouble::Sql(e)) if cx.engine.pager().log().failure().is_some() && cx.expected(&e) => {
            Ok(())
        }
        r => r,
    }
}

async fn compare(cx: &Context) -> Result<(), Trouble> {
    let stop = {
        let mut m = cx.model();
        m.groups.looks += 1;
        [STOP, &m.groups.looks.to_le_bytes()].concat()
    };
    cx.engine.session().commit_group(&stop, None).await?;
    let mut follower = follower(cx);
    let mut found = Vec::new();
    let position = loop {
        let Some(group) = follower.next().await? else {
            return Err(Trouble::Wrong("the log ended".into()));
        };
        let resume = group.resume;
        let bytes = group.reader(&cx.engine).read_all().await?;
        if bytes == stop {
            break resume;
        }
        // A crash may have cut an earlier look short.
        if !bytes.starts_with(STOP) {
            found.push(sum(&bytes));
        }
    };
    let mut m = cx.model();
    let expected: Vec<Sum> = m.groups.expected.iter().map(|x| x.sum).collect();
    let certain = |e: &&Expected| e.certain == Some(true);
    let least = m.groups.expected.iter().filter(certain).count();
    let most = expected.len();
    if !(least..=most).contains(&found.len()) || found != expected[..found.len()] {
        let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
        return Err(Trouble::Wrong(format!(
            "{} groups of events, of which {least} to {most} are expected; the first other one: {differs:?}",
            found.len()
        )));
    }
    m.groups.expected.clear();
    m.groups.position = Some(position);
    drop(m);
    cx.engine.keep_log_from(position.from);
    for _ in &found {
        cx.count("groups of events compared after a recovery");
    }
    Ok(())
}

/// Reads along while clients work, and gives up the log that it has read.
pub async fn follow(cx: Arc<Context>) {
    let mut follower = follower(&cx);
    loop {
        let group = match follower.next().await {
            Ok(Some(group)) => group,
            Ok(None) => return,
            Err(e) => {
                if !cx.expected(&e) {
                    cx.fail(format!("the reader of groups: {e:?}"));
                }
                return;
            }
        };
        let resume = group.resume;
        let bytes = match group.reader(&cx.engine).read_all().await {
            Ok(bytes) => bytes,
            Err(e) => {
                if !cx.expected(&e) {
                    cx.fail(format!("a group that cannot be read: {e:?}"));
                }
                return;
            }
        };
        if cx.disk.is_dead() {
            // What was read may have been lost with the power.
            return;
        }
        let mut m = cx.model();
        if m.groups.expected.first().map(|x| x.sum) != Some(sum(&bytes)) {
            let what = format!(
                "a group of {} bytes, where {:?} comes next",
                bytes.len(),
                m.groups.expected.first()
            );
            drop(m);
            cx.fail(what);
            return;
        }
        m.groups.expected.remove(0);
        m.groups.position = Some(resume);
        drop(m);
        cx.engine.keep_log_from(resume.from);
        cx.count("groups of events read along");
    }
}
