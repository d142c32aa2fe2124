//! Semi-sync, the replica's part: the source wants to know of some events that they are here to stay, and is told once what they end is
//! applied and durable. There is no relay log that could have them earlier (decision 0048).
//!
//! The receiver says which places the source asks for and lends its connection; whoever applies says up to where all is durable. So it does not
//! matter how many apply, or in which order, as long as that is said of a place before which nothing is missing.
//!
//! What it never does: acknowledge what a crash here could take.

use std::collections::VecDeque;

use base::lock::Mutex;
use sql::context::replica::LogPlace;

use super::link::Speaker;

/// More places are not kept: what lies between is acknowledged with the next.
const WANTED_MAX: usize = 4096;

#[derive(Default)]
struct Inner {
    speaker: Option<Speaker>,
    wanted: VecDeque<LogPlace>,
    /// Up to here all is durable.
    durable: Option<LogPlace>,
    /// The last place that was acknowledged, on whichever connection.
    last: Option<LogPlace>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Acknowledgements {
    inner: Mutex<Inner>,
}

impl Inner {
    /// Tells the source what has become durable of what it has asked for.
    fn tell(&mut self) {
        let Some(speaker) = &self.speaker else {
            return;
        };
        let Some(durable) = self.durable.as_ref().map(LogPlace::order) else {
            return;
        };
        let mut reached = None;
        while self.wanted.front().is_some_and(|w| w.order() <= durable) {
            reached = self.wanted.pop_front();
        }
        let Some(place) = reached else {
            return;
        };
        if !speaker.acknowledge(&place) {
            // The receiver finds out, and connects again.
            self.speaker = None;
        }
        self.last = Some(place);
    }
}

impl Acknowledgements {
    /// A connection on which places will be asked for. `again`: it goes on where the one before has ended, and the source may not have heard
    /// the last word.
    pub fn begin(&self, speaker: Option<Speaker>, again: bool) {
        let mut s = self.inner.lock();
        s.speaker = speaker;
        match again {
            true => {
                if let Some(last) = s.last.take() {
                    s.wanted.push_front(last);
                }
            }
            false => {
                s.wanted.clear();
                s.last = None;
            }
        }
        s.tell();
    }

    /// The connection is over.
    pub fn end(&self) {
        self.inner.lock().speaker = None;
    }

    /// Whether the source is told.
    pub fn is_on(&self) -> bool {
        self.inner.lock().speaker.is_some()
    }

    /// The source wants to know when all up to this place is durable.
    pub fn want(&self, place: LogPlace) {
        let mut s = self.inner.lock();
        if base::mutant!("semi-sync-acknowledged-before-durable") {
            s.durable = Some(place.clone());
        }
        if s.wanted.len() >= WANTED_MAX {
            s.wanted.pop_back();
        }
        s.wanted.push_back(place);
        s.tell();
    }

    /// Somebody else begins to apply, from there on.
    pub fn applies_from(&self, place: &LogPlace) {
        let mut s = self.inner.lock();
        s.durable = Some(place.clone());
    }

    /// Whether somebody waits for `place` or one before it.
    pub fn is_wanted(&self, place: &LogPlace) -> bool {
        let s = self.inner.lock();
        s.wanted.front().is_some_and(|w| place.reaches(w))
    }

    /// All up to here is applied and durable. Of several workers one may say so late, of a place behind which another one is already.
    pub fn durable(&self, place: &LogPlace) {
        let mut s = self.inner.lock();
        match &mut s.durable {
            Some(d) if !d.reaches(place) => d.clone_from(place),
            Some(_) => {}
            None => s.durable = Some(place.clone()),
        }
        s.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    fn at(file: &str, position: u64) -> LogPlace {
        LogPlace {
            file: file.to_owned(),
            position,
        }
    }

    fn pair() -> (Speaker, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        far.set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        (Speaker::new(Box::new(near)), far)
    }

    /// The places of the replies that have come, each in a packet numbered 0.
    fn replies(far: &mut TcpStream) -> Vec<(String, u64)> {
        let mut bytes = Vec::new();
        let mut some = [0; 512];
        while let Ok(n @ 1..) = far.read(&mut some) {
            bytes.extend_from_slice(&some[..n]);
        }
        let mut decoder = wire::packet::Decoder::new(1 << 20);
        let space = decoder.space();
        space[..bytes.len()].copy_from_slice(&bytes);
        decoder.filled(bytes.len());
        let mut all = Vec::new();
        loop {
            decoder.expect_command();
            let Some(place) = decoder.take_packet().unwrap() else {
                return all;
            };
            let reply = wire::binlog::semi_sync::Reply::read(decoder.payload(place)).unwrap();
            let file = String::from_utf8(reply.file.to_vec()).unwrap();
            all.push((file, reply.position));
        }
    }

    #[test]
    fn what_is_not_durable_is_not_acknowledged() {
        let (speaker, mut far) = pair();
        let a = Acknowledgements::default();
        a.applies_from(&at("b.000001", 4));
        a.begin(Some(speaker), false);
        a.want(at("b.000001", 100));
        a.want(at("b.000001", 200));
        assert_eq!(replies(&mut far), []);
        a.durable(&at("b.000001", 150));
        assert_eq!(replies(&mut far), [("b.000001".to_owned(), 100)]);
        // Files are in the order of their numbers, and not of their names.
        a.want(at("b.999999", 300));
        a.durable(&at("b.1000000", 4));
        assert_eq!(replies(&mut far), [("b.999999".to_owned(), 300)]);
    }

    #[test]
    fn the_last_word_is_said_again_on_the_next_connection() {
        let (speaker, _far) = pair();
        let a = Acknowledgements::default();
        a.begin(Some(speaker), false);
        a.want(at("b.000001", 100));
        a.durable(&at("b.000001", 100));
        a.end();
        let (speaker, mut far) = pair();
        a.begin(Some(speaker), true);
        assert_eq!(replies(&mut far), [("b.000001".to_owned(), 100)]);
        // Another source has asked for nothing.
        let (speaker, mut far) = pair();
        a.begin(Some(speaker), false);
        assert_eq!(replies(&mut far), []);
    }
}
