//! How a step of a join stands to the look-ups in front of it: whether they wait for the device, and which of them have been begun.
//!
//! What is to be read is the join's to say (`join/look_ahead`).

use engine::Session;

/// How a step stands to the look-ups in front of it.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Pages that the session had waited for when the last look-up began.
    waited: u64,
    /// A look-up waited, and the window since found pages to read.
    pub on: bool,
    /// The step whose rows give the keys; where it is the step itself there is none.
    pub source: Option<usize>,
    /// Which of that step's batches, up to where its rows were looked at, and the row from which on the next are.
    pub batch: u64,
    pub next: usize,
    pub again: usize,
    /// Rows that a look-up fetches at first, once that was thought about.
    pub first: Option<usize>,
}

impl Ahead {
    /// A look-up begins.
    #[inline]
    pub fn begin(&mut self, session: &Session) {
        self.waited = session.pages_waited_for();
    }

    /// It has come to an end.
    #[inline]
    pub fn end(&mut self, session: &Session) {
        self.on |= session.pages_waited_for() != self.waited;
    }
}
