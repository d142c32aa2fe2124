//! What a statement has done to rows, counted as MySQL counts it, and what its client is told of it.

use std::borrow::Cow;

use super::Change;
use sql_plan::sink::Done;

/// What a statement has done so far.
#[derive(Default)]
pub(crate) struct Tally {
    /// What counts as affected, of an INSERT or DELETE.
    affected: u64,
    /// Rows that an UPDATE was to change.
    matched: u64,
    /// Those that it did.
    changed: u64,
    /// Rows inserted or replaced, or changed in the place of one.
    copied: u64,
    /// Rows that were there already.
    duplicates: u64,
    /// Rows that violate a CHECK constraint or a CHECK OPTION, which count as none.
    not_admitted: u64,
    /// The first generated AUTO_INCREMENT value of a row that was inserted.
    first_id: Option<u64>,
    /// The last row's AUTO_INCREMENT value, also of one that stayed out.
    last_id: u64,
}

impl Tally {
    /// The row that an UPDATE comes to next, as messages count it.
    pub fn next_row(&self) -> u64 {
        self.matched + 1
    }

    /// Rows that an UPDATE was to change.
    pub fn matched(&self) -> u64 {
        self.matched
    }

    /// What counts as affected, of an INSERT or DELETE.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// After a row of an UPDATE.
    #[inline]
    pub fn updated(&mut self, change: Change) {
        self.changed += u64::from(change == Change::Done);
        self.matched += u64::from(change != Change::Absent);
    }

    /// After a row of a DELETE.
    pub fn deleted(&mut self, gone: bool) {
        self.affected += u64::from(gone);
    }

    /// A row is there, in the place of so many; `generated` is its AUTO_INCREMENT value where it was made.
    pub fn inserted(&mut self, replaced: u64, generated: Option<u64>) {
        self.affected += 1 + replaced;
        self.copied += 1;
        self.first_id = self.first_id.or(generated);
    }

    /// So many rows made place for one.
    pub fn removed(&mut self, rows: u64) {
        self.duplicates += rows;
    }

    /// A row was left out by IGNORE before it was tried.
    pub fn not_admitted(&mut self) {
        self.not_admitted += 1;
    }

    /// A row is passed over, as there is one already.
    pub fn passed_over(&mut self) {
        self.duplicates += 1;
    }

    /// A row that was there got the values of ON DUPLICATE KEY UPDATE; `id` is its AUTO_INCREMENT value.
    pub fn updated_instead(&mut self, change: Change, id: u64, found_rows: bool) {
        match change {
            Change::Same => self.affected += u64::from(found_rows),
            Change::Done => {
                self.affected += 2;
                self.duplicates += 1;
                self.copied += 1;
                self.last_id = id;
            }
            Change::Absent | Change::Refused => {}
        }
    }

    /// A row has this AUTO_INCREMENT value, whether it came with it or not.
    pub fn has_id(&mut self, id: u64) {
        self.last_id = id;
    }

    /// What the client is told (`mysql_insert_id()`): the first value that was made, or else the last row's, if the statement has left any.
    fn told_id(&self) -> u64 {
        let last = if self.copied > 0 { self.last_id } else { 0 };
        self.first_id.unwrap_or(last)
    }

    /// The end of an UPDATE.
    pub fn of_update(&self, found_rows: bool, warnings: u64) -> Done {
        Done {
            affected: match found_rows {
                true => self.matched,
                false => self.changed,
            },
            info: self.words_of_update(warnings),
            ..Done::default()
        }
    }

    /// What the client is told of an UPDATE in words. Not by `format!`, which takes as long as finding the row.
    fn words_of_update(&self, warnings: u64) -> Cow<'static, str> {
        // What most of them end with.
        match (self.matched, self.changed, warnings) {
            (1, 1, 0) => return Cow::Borrowed("Rows matched: 1  Changed: 1  Warnings: 0"),
            (1, 0, 0) => return Cow::Borrowed("Rows matched: 1  Changed: 0  Warnings: 0"),
            (0, 0, 0) => return Cow::Borrowed("Rows matched: 0  Changed: 0  Warnings: 0"),
            _ => {}
        }
        let mut text = Vec::with_capacity(64);
        for (name, n) in [
            ("Rows matched: ", self.matched),
            ("  Changed: ", self.changed),
            ("  Warnings: ", warnings),
        ] {
            text.extend_from_slice(name.as_bytes());
            types::convert::write_uint(n, &mut text);
        }
        String::from_utf8(text).unwrap_or_default().into()
    }

    /// The end of an INSERT or REPLACE of one row that was written out, about which nothing is said in words.
    pub fn of_one_row(&self) -> Done {
        Done {
            affected: self.affected,
            last_insert_id: self.told_id(),
            generated_id: self.first_id,
            ..Done::default()
        }
    }

    /// The end of an INSERT or REPLACE of so many rows.
    pub fn of_insert(&self, rows: u64, ignore: bool, warnings: u64) -> Done {
        let rows = rows - self.not_admitted.min(rows);
        let skipped = if ignore {
            rows - self.copied.min(rows)
        } else {
            self.duplicates
        };
        Done {
            info: format!("Records: {rows}  Duplicates: {skipped}  Warnings: {warnings}").into(),
            ..self.of_one_row()
        }
    }

    /// The end of a DELETE.
    pub fn of_delete(&self) -> Done {
        Done {
            affected: self.affected,
            ..Done::default()
        }
    }
}
