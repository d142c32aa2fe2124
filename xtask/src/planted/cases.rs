//! What the statement cases find.

/// What the SQL cases must find: the bug, and the file of cases that fails with it.
pub const CASES: &[(&str, &str)] = &[
    ("cascade-skipped-at-a-savepoint", "fk_cascade"),
    ("element-that-came-back-purged", "multi_valued"),
    ("element-that-went-keeps-its-entry", "multi_valued"),
    ("entry-of-an-element-left-at-rollback", "multi_valued"),
    ("handler-keeps-its-place", "handler_others"),
    ("one-entry-of-a-list", "multi_valued"),
    ("right-of-way-not-given", "add_beside_readers"),
    ("rows-looked-at-beside-writers", "add_beside_readers"),
    ("write-lock-granted-beside-a-reader", "lock_waits"),
];
