//! One file behind the other: how a file ends and the next begins, and the index of their names.
//!
//! What it never does: write a state that names a file of which something is not durable.

use super::names::LAST_NUMBER;
use super::store::{LogFile, Store, damaged, replace};
use crate::derive::{self, FLAGS_AT, State, state::Phase};
use base::environment::{File, OpenMode};
use std::io;
use std::sync::Arc;

impl Store {
    /// Writes the index anew.
    pub(super) fn write_index(&mut self, numbers: &[u32]) -> io::Result<()> {
        let text = self.names.write_index(numbers.iter().copied());
        replace(&*self.disk, self.names.index(), text.as_bytes())?;
        self.index_len = text.len() as u64;
        Ok(())
    }

    /// Appends a name to the index, without a sync.
    fn append_to_index(&mut self, number: u32) -> io::Result<()> {
        let line = self.names.write_index(std::iter::once(number));
        let index = self
            .disk
            .open(self.names.index(), OpenMode::Buffered, false)?;
        index.write_now(line.as_bytes(), self.index_len)?;
        self.index_len += line.len() as u64;
        Ok(())
    }

    /// What was put in belongs to the file that ends.
    fn flush_rest(&mut self) -> io::Result<()> {
        match base::mutant!("rest-of-a-file-in-the-next") {
            true => Ok(()),
            false => self.flush(),
        }
    }

    /// Ends the file, which is full, and begins the next: groups have brought that about, and they do it again after a crash. So nothing is
    /// synced, and all is shown at once.
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn fill_next(&mut self) -> io::Result<()> {
        self.flush_rest()?;
        let (mut state, mut out) = (self.state.clone(), Vec::new());
        derive::put_rotate(&mut state, &self.names.name(self.state.file + 1), &mut out);
        self.file.write_now(&out, self.state.position)?;
        self.file.write_now(&[0], FLAGS_AT)?;
        let size = state.position;
        let file = self.begin_file(&mut state, 0)?;
        self.append_to_index(state.file)?;
        let before = std::mem::replace(&mut self.file, file);
        self.ended.push(before);
        self.ended_bytes += size - self.durable;
        self.durable = 0;
        self.go_on_with(state, size);
        Ok(())
    }

    /// Ends the file, and begins the next, durably. `created`: as for [`derive::put_head`].
    ///
    /// # Errors
    /// What the disk answers. It can be tried again.
    pub fn rotate(&mut self, created: u32) -> io::Result<()> {
        self.flush_rest()?;
        let mut ended = self.state.clone();
        let mut out = Vec::new();
        derive::put_rotate(&mut ended, &self.names.name(self.state.file + 1), &mut out);
        self.file.write_now(&out, self.state.position)?;
        if base::mutant!("shown-before-durable")
            && let Some(last) = self.list.last_mut()
        {
            last.size = ended.position;
        }
        self.close_file()?;
        self.begin_next(ended, created)
    }

    /// Clears the flag of a file in use, and syncs.
    pub(super) fn close_file(&self) -> io::Result<()> {
        self.file.write_now(&[0], FLAGS_AT)?;
        self.file
            .sync_now()
            .map_err(base::environment::lost_by_sync)
    }

    /// Begins the next file behind one that has ended.
    pub(super) fn next_file(&mut self, created: u32) -> io::Result<()> {
        self.begin_next(self.state.clone(), created)
    }

    /// Makes the file behind that of a state, with its head, and goes to it in the state.
    fn begin_file(&self, state: &mut State, created: u32) -> io::Result<Arc<dyn File>> {
        if state.file >= LAST_NUMBER {
            return Err(damaged(self.names.dir(), "no number of a file is left"));
        }
        state.file += 1;
        state.phase = Phase::Open;
        let mut head = Vec::new();
        derive::put_head(state, created, &mut head);
        let path = self.names.path(state.file);
        let file = self.disk.open(&path, OpenMode::Buffered, true)?;
        file.truncate(0)?;
        file.write_now(&head, 0)?;
        Ok(file)
    }

    pub(super) fn begin_next(&mut self, ended: State, created: u32) -> io::Result<()> {
        let size = ended.position;
        let mut state = ended;
        let file = self.begin_file(&mut state, created)?;
        file.sync_now().map_err(base::environment::lost_by_sync)?;
        self.disk.sync_dir(self.names.dir())?;
        let numbers = self.list.iter().map(|f| f.number).chain([state.file]);
        self.write_index(&numbers.collect::<Vec<_>>())?;
        self.sync_ended()?;
        if self.list.is_empty() {
            state.first = state.file;
        }
        self.write_state(&state)?;
        self.file = file;
        self.durable = state.position;
        self.go_on_with(state, size);
        Ok(())
    }

    /// From here on the next file is there, and the one before has `size` bytes.
    fn go_on_with(&mut self, state: State, size: u64) {
        if let Some(last) = self.list.last_mut() {
            last.size = last.size.max(size);
        }
        self.list.push(LogFile {
            number: state.file,
            size: state.position,
        });
        self.written = state.position;
        self.state = state;
    }

    /// Ends the last file: the server stops.
    ///
    /// # Errors
    /// What the disk answers.
    pub fn stop(&mut self, now: u32) -> io::Result<()> {
        self.flush()?;
        let mut stopped = self.state.clone();
        let mut out = Vec::new();
        derive::put_stop(&mut stopped, now, &mut out);
        stopped.phase = Phase::Stopped;
        self.file.write_now(&out, self.state.position)?;
        self.close_file()?;
        self.sync_ended()?;
        self.write_state(&stopped)?;
        self.state = stopped;
        self.durable = self.state.position;
        self.written = self.durable;
        self.show();
        Ok(())
    }

    /// Makes what [`fill_next`](Self::fill_next) has left durable: the files that were ended, the names of the new ones, and the index. A state
    /// that is behind them may only be written after it.
    pub(super) fn sync_ended(&mut self) -> io::Result<()> {
        if self.ended.is_empty() || base::mutant!("state-behind-files-that-are-not-synced") {
            self.ended.clear();
            return Ok(());
        }
        let lost = base::environment::lost_by_sync;
        for file in &self.ended {
            file.sync_now().map_err(lost)?;
        }
        self.disk.sync_dir(self.names.dir())?;
        let index = self
            .disk
            .open(self.names.index(), OpenMode::Buffered, false)?;
        index.sync_now().map_err(lost)?;
        self.ended.clear();
        self.ended_bytes = 0;
        Ok(())
    }
}
