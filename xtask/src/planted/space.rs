//! Planted bugs of what gives space back: leaves that are packed, pages that move, ends of files that are cut off.

/// What loses rows or pages there: the bug, the crate and its test program, and the test that fails with it.
pub const SPACE: &[(&str, &str, &str, &str)] = &[
    (
        "moved-page-still-named-by-its-parent",
        "btree",
        "suite",
        "space::the_file_of_a_packed_tree_ends_where_its_pages_do",
    ),
    (
        "page-behind-the-end-called-damaged",
        "btree",
        "suite",
        "space::who_comes_behind_the_end_finds_a_free_page",
    ),
    (
        "shared-without-the-lowest-key",
        "btree",
        "suite",
        "space::a_packed_tree_is_as_small_as_its_entries",
    ),
    (
        "tail-cut-too-far",
        "btree",
        "suite",
        "space::the_file_of_a_packed_tree_ends_where_its_pages_do",
    ),
    (
        "tail-cut-before-a-checkpoint",
        "btree",
        "suite",
        "space::a_file_that_grows_again_is_not_cut",
    ),
    (
        "tail-cut-beside-a-backup",
        "engine",
        "stress_backup",
        "ends::no_end_is_cut_off_beside_it",
    ),
];
