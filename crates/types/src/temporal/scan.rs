//! Cutting digits off the front of a text: what every temporal parser here starts from.

/// A cursor over bytes.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Scan<'a> {
    /// Starts after leading white space.
    pub(super) fn new(text: &'a [u8]) -> Self {
        let mut s = Scan { rest: text };
        s.spaces();
        s
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(super) fn eat(&mut self, b: u8) -> bool {
        let hit = self.peek() == Some(b);
        if hit {
            self.rest = &self.rest[1..];
        }
        hit
    }

    /// Skips white space; whether there was any.
    pub(super) fn spaces(&mut self) -> bool {
        let n = self
            .rest
            .iter()
            .take_while(|b| b.is_ascii_whitespace())
            .count();
        self.rest = &self.rest[n..];
        n > 0
    }

    /// Length of the digit run here.
    pub(super) fn run(&self) -> usize {
        self.rest.iter().take_while(|b| b.is_ascii_digit()).count()
    }

    /// Up to `max` digits as a number with their count; `None` if there is none.
    pub(super) fn digits(&mut self, max: usize) -> Option<(u64, usize)> {
        let n = self.run().min(max);
        if n == 0 {
            return None;
        }
        let v = self.rest[..n].iter().fold(0u64, |v, b| {
            v.saturating_mul(10).saturating_add(u64::from(b - b'0'))
        });
        self.rest = &self.rest[n..];
        Some((v, n))
    }

    /// Digits of a fraction after the point: microseconds, digits given (at most 6), and whether the seventh digit rounds up.
    pub(super) fn fraction(&mut self) -> (u32, u8, bool) {
        let n = self.run();
        let mut micros = 0u32;
        for i in 0..6 {
            let d = if i < n { self.rest[i] - b'0' } else { 0 };
            micros = micros * 10 + u32::from(d);
        }
        let up = n > 6 && self.rest[6] >= b'5';
        self.rest = &self.rest[n..];
        (micros, n.min(6) as u8, up)
    }

    /// Nothing but white space is left.
    pub(super) fn at_end(&self) -> bool {
        self.rest.iter().all(u8::is_ascii_whitespace)
    }
}

/// The year that two digits mean.
pub(super) fn two_digit_year(y: u64) -> u64 {
    if y < 70 { y + 2000 } else { y + 1900 }
}
