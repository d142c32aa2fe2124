//! `tidemill promote`, step by step. Until the receivers are stopped nothing is changed, and up to there whatever is refused can be asked again.

use std::io::Write;

use types::gtid::GtidSet;

use super::arguments::{Promote, SemiSync};
use super::choice::{Candidate, best, errant, shown, without};
use super::failure::{Failure, say};
use super::proof::Proof;
use super::server::{Server, State};

struct Replica {
    server: Server,
    state: State,
}

/// Does it.
pub(super) fn run(p: &Promote, out: &mut dyn Write) -> Result<(), Failure> {
    let mut replicas = connect(p, out)?;
    if p.common.check {
        return check(p, &mut replicas, out);
    }
    for r in &replicas {
        fit(r)?;
    }
    let mut fenced = fence(p, &replicas, out)?;
    if p.common.dry_run {
        let (at, _) = chosen(p, &replicas, out)?;
        let name = replicas.get(at).map(|r| r.server.address.to_string());
        let name = name.unwrap_or_default();
        say(
            out,
            format_args!("by what they have applied now, {name} would be the source"),
        );
        say(out, "dry run: nothing was changed");
        return Ok(());
    }
    for r in &mut replicas {
        r.server.run("STOP REPLICA IO_THREAD")?;
    }
    // What comes is all there now: what is to be waited for is known.
    for r in &mut replicas {
        bring_up(p, r, fenced.as_ref().map(|f| &f.executed), out)?;
    }
    let (at, _) = chosen(p, &replicas, out)?;
    if let Some(fenced) = fenced.as_mut().filter(|_| !p.common.force) {
        has_branches(fenced, &mut replicas, at)?;
    }
    let mut source = replicas.remove(at);
    raise(p, &mut source, out)?;
    let mut failed = Vec::new();
    if let Some(old) = &mut fenced {
        let_clients_go(old, out);
    }
    let mut following = Vec::new();
    for mut r in replicas {
        match follow(p, &mut r, &source) {
            Ok(()) => following.push(r),
            // The others are to have their source whatever becomes of this one.
            Err(Failure::Refused(text) | Failure::Usage(text)) => failed.push(text),
        }
    }
    let to = source.server.address.clone();
    let proof = Proof::begin(&mut source.server, !following.is_empty());
    for r in &mut following {
        match proof.of(&mut source.server, &mut r.server, p.common.wait) {
            Ok(()) => say(out, format_args!("{} follows {to}", r.server.address)),
            Err(Failure::Refused(text) | Failure::Usage(text)) => failed.push(text),
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::refused(format!(
            "{to} is the source, but not all follow it: {}",
            failed.join("; ")
        ))),
    }
}

fn connect(p: &Promote, out: &mut dyn Write) -> Result<Vec<Replica>, Failure> {
    let mut replicas = Vec::new();
    for address in &p.replicas {
        let reached = Server::connect(address, &p.common).and_then(|mut server| {
            let state = server.state()?;
            Ok(Replica { server, state })
        });
        match reached {
            Ok(r) => replicas.push(r),
            Err(Failure::Refused(text)) if p.common.force => {
                say(out, format_args!("{text}; it is left out (--force)"));
            }
            Err(Failure::Refused(text)) => {
                return Err(Failure::refused(format!(
                    "{text}; it may have what no other replica has. Nothing was changed. --force goes on without it"
                )));
            }
            Err(e) => return Err(e),
        }
    }
    match replicas.is_empty() {
        true => Err(Failure::refused("no replica can be reached")),
        false => Ok(replicas),
    }
}

/// Whether it can be a source that others find their place at.
fn fit(r: &Replica) -> Result<(), Failure> {
    let address = &r.server.address;
    let lacks = |what: &str| {
        Err(Failure::refused(format!(
            "{address}: {what}. Nothing was changed"
        )))
    };
    match &r.state {
        s if !s.gtids => lacks("gtid_mode is not ON"),
        s if !s.keeps_log => lacks("log_bin and log_replica_updates are not both ON"),
        State { replica: None, .. } => lacks("it is no replica of any source"),
        State {
            replica: Some(replica),
            ..
        } if replica.channels > 1 => {
            // Which of them has ended, and what becomes of the others, is nothing to be guessed.
            lacks("it has several sources (channels)")
        }
        State {
            replica: Some(replica),
            ..
        } if !replica.failure.is_empty() && !replica.applies => {
            lacks(&format!("it does not apply: {}", replica.failure))
        }
        _ => Ok(()),
    }
}

fn candidates(replicas: &[Replica]) -> Vec<Candidate> {
    let one = |r: &Replica| Candidate {
        uuid: r.state.uuid,
        executed: r.state.executed.clone(),
    };
    replicas.iter().map(one).collect()
}

/// The source, if it answers. One that says no lives, and clients may write to it: only who asks for it goes on then.
fn source_of(
    p: &Promote,
    replicas: &[Replica],
    out: &mut dyn Write,
) -> Result<Option<Server>, Failure> {
    let address = replicas
        .iter()
        .find_map(|r| r.state.replica.as_ref()?.source.clone());
    let Some(address) = address else {
        return Ok(None);
    };
    match Server::reach(&address, &p.common) {
        Ok(reached) => Ok(reached),
        Err(Failure::Refused(text)) if p.common.force => {
            say(
                out,
                format_args!("the source lives, and cannot be made read-only: {text} (--force)"),
            );
            Ok(None)
        }
        Err(Failure::Refused(text)) => Err(Failure::refused(format!(
            "the source lives, and cannot be made read-only: {text}. Nothing was changed. --force goes on, and what clients commit there is lost"
        ))),
        Err(e) => Err(e),
    }
}

/// A source that answers, and takes no changes any more.
struct Fenced {
    server: Server,
    /// All that clients were told of.
    executed: GtidSet,
    /// What is prepared there.
    branches: Vec<String>,
}

/// Each branch that is prepared on the source is there too, where its coordinator will end it. One that is not in the binary log is not: then all
/// is put back.
fn has_branches(source: &mut Fenced, replicas: &mut [Replica], at: usize) -> Result<(), Failure> {
    let Some(to) = replicas.get_mut(at).filter(|_| !source.branches.is_empty()) else {
        return Ok(());
    };
    let there = to.server.prepared()?;
    let to = to.server.address.to_string();
    source.branches.retain(|b| !there.contains(b));
    if source.branches.is_empty() {
        return Ok(());
    }
    source.server.run("SET GLOBAL read_only = OFF")?;
    for r in replicas {
        r.server.run("START REPLICA IO_THREAD")?;
    }
    Err(Failure::refused(format!(
        "{}: nobody has ended the prepared transactions {} (XA RECOVER), which {to} does not have. It takes changes again, the replicas follow it, and \
         nothing else was changed. --force leaves them there",
        source.server.address,
        source.branches.join(", ")
    )))
}

/// Ends the waits of the old source's clients for acknowledgements: no replica is left there to give any, and the new source has what they wait for.
fn let_clients_go(old: &mut Fenced, out: &mut dyn Write) {
    let done = (old.server).run("SET GLOBAL rpl_semi_sync_source_enabled = OFF");
    if let Err(Failure::Refused(text) | Failure::Usage(text)) = done {
        say(
            out,
            format_args!("clients there may wait for acknowledgements still: {text}"),
        );
    }
}

/// A source that answers is kept from being written to, and what it has is what replicas have to have.
fn fence(
    p: &Promote,
    replicas: &[Replica],
    out: &mut dyn Write,
) -> Result<Option<Fenced>, Failure> {
    let Some(mut source) = source_of(p, replicas, out)? else {
        say(out, "the source does not answer");
        return Ok(None);
    };
    let address = source.address.clone();
    if p.common.dry_run {
        say(
            out,
            format_args!("the source {address} answers: it would be made read-only first"),
        );
        return Ok(None);
    }
    source.make_read_only(p.common.wait)?;
    let branches = source.prepared()?;
    // After that: every commit that clients were told of is in it, and no other comes.
    let executed = source.executed()?;
    say(
        out,
        format_args!("the source {address} answers: it is read-only now (super_read_only)"),
    );
    Ok(Some(Fenced {
        server: source,
        executed,
        branches,
    }))
}

/// Waits until a replica has applied what it has received, and of a source that answers all that it has.
fn bring_up(
    p: &Promote,
    r: &mut Replica,
    goal: Option<&GtidSet>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let address = r.server.address.clone();
    if let Some(goal) = goal {
        // It is still to get what is missing.
        r.server.run("START REPLICA IO_THREAD")?;
        let there = r.server.wait_for(goal, p.common.wait)?;
        let state = r.server.state()?;
        r.server.run("STOP REPLICA IO_THREAD")?;
        if !there && !p.common.force {
            let why = state.replica.map(|r| r.failure);
            let why = why.filter(|text| !text.is_empty());
            return Err(Failure::refused(format!(
                "{address} has not applied all that the source has after {} s{}. The source is read-only; SET GLOBAL read_only = OFF there \
                 and START REPLICA on the replicas puts all back as it was",
                p.common.wait.as_secs(),
                why.map_or(String::new(), |text| format!(" ({text})"))
            )));
        }
    }
    r.state = r.server.state()?;
    let Some(replica) = &r.state.replica else {
        return Ok(());
    };
    let missing = without(&replica.retrieved, &r.state.executed);
    if !missing.is_empty() {
        say(
            out,
            format_args!("{address}: waits until {} is applied", shown(&missing)),
        );
        if !r.server.wait_for(&replica.retrieved, p.common.wait)? && !p.common.force {
            return Err(Failure::refused(format!(
                "{address} has received {} and not applied it after {} s. START REPLICA on the replicas puts all back as it was",
                shown(&missing),
                p.common.wait.as_secs()
            )));
        }
        r.state = r.server.state()?;
    }
    Ok(())
}

/// The replica that is to be the source, and what it lacks.
fn chosen(
    p: &Promote,
    replicas: &[Replica],
    out: &mut dyn Write,
) -> Result<(usize, GtidSet), Failure> {
    let all = candidates(replicas);
    let prefer = p
        .prefer
        .as_ref()
        .and_then(|a| replicas.iter().position(|r| r.server.address == *a));
    let Some((at, lacks)) = best(&all, prefer) else {
        return Err(Failure::refused("no replica can be reached"));
    };
    for (i, r) in replicas.iter().enumerate() {
        let own = errant(&all, i, None);
        if !own.is_empty() {
            say(
                out,
                format_args!("{}: errant transactions: {}", r.server.address, shown(&own)),
            );
        }
    }
    let address = replicas.get(at).map(|r| r.server.address.to_string());
    let address = address.unwrap_or_default();
    if !lacks.is_empty() && !p.common.force {
        return Err(Failure::refused(format!(
            "{address} is the most advanced, and lacks {}, which another replica has. --force takes it nevertheless; a replica with \
             errant transactions cannot follow a source that lacks them and has purged its binary log",
            shown(&lacks)
        )));
    }
    Ok((at, lacks))
}

/// The replica becomes the source.
fn raise(p: &Promote, r: &mut Replica, out: &mut dyn Write) -> Result<(), Failure> {
    let s = &mut r.server;
    s.run("STOP REPLICA")?;
    s.run("RESET REPLICA ALL")?;
    let wait = match p.semi_sync {
        SemiSync::Keep => r.state.acknowledges,
        SemiSync::On => true,
        SemiSync::Off => false,
    };
    // Before the first commit: it is not to be answered earlier than those of the old source were.
    let on = if wait { "ON" } else { "OFF" };
    s.run(&format!("SET GLOBAL rpl_semi_sync_source_enabled = {on}"))?;
    s.run("SET GLOBAL super_read_only = OFF")?;
    s.run("SET GLOBAL read_only = OFF")?;
    s.run("SET GLOBAL offline_mode = OFF")?;
    let waits = match wait {
        true => "; its commits wait for replicas (semi-sync)",
        false => "",
    };
    say(
        out,
        format_args!(
            "{} is the source, with {}{waits}",
            s.address,
            shown(&r.state.executed)
        ),
    );
    Ok(())
}

fn follow(p: &Promote, r: &mut Replica, source: &Replica) -> Result<(), Failure> {
    if !r.state.super_read_only {
        r.server.make_read_only(p.common.wait)?;
    }
    r.server.follow(&source.server.address, &p.common)
}

/// `--check`: what is errant, and nothing is changed.
fn check(p: &Promote, replicas: &mut [Replica], out: &mut dyn Write) -> Result<(), Failure> {
    let source = source_of(p, replicas, out)?;
    let mut known = None;
    if let Some(mut source) = source {
        // After the replicas were asked: what it has got since is nobody's fault.
        known = Some(source.executed()?);
        say(out, format_args!("beside the source {}", source.address));
    } else {
        say(
            out,
            "the source does not answer: what only one replica has done by itself is shown",
        );
    }
    let all = candidates(replicas);
    let mut found = Vec::new();
    for (i, r) in replicas.iter().enumerate() {
        let own = errant(&all, i, known.as_ref());
        let address = &r.server.address;
        match own.is_empty() {
            true => say(
                out,
                format_args!(
                    "{address}: nothing errant; has {}",
                    shown(&r.state.executed)
                ),
            ),
            false => {
                say(
                    out,
                    format_args!("{address}: errant transactions: {}", shown(&own)),
                );
                found.push(address.to_string());
            }
        }
        if let Some(failure) = r.state.replica.as_ref().map(|r| &r.failure)
            && !failure.is_empty()
        {
            say(out, format_args!("{address}: {failure}"));
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(Failure::refused(format!(
            "errant transactions on {}",
            found.join(", ")
        ))),
    }
}
