//! The planted bugs (`base::mutant!`) and which tool must find which. `cargo xtask mutants` plants them one at a time; the tests
//! here hold the lists to the tree: every bug is in one of them, and every model has a bug that makes it fail.

mod cases;
mod space;
mod waits;
mod waits_outside;

pub use cases::CASES;
pub use space::SPACE;
pub use waits::WAITS;
pub use waits_outside::WAITS_OUTSIDE;

/// What the simulator must find.
pub const SIM: &[&str] = &[
    "a-part-of-the-work-left-out",
    "a-run-read-from-behind-the-cut",
    "acknowledged-before-durable",
    "added-column-without-its-default",
    "build-without-its-snapshot",
    "cascade-left-at-a-rollback",
    "change-beside-a-rebuild-not-noted",
    "change-under-way-forgotten",
    "checkpoint-forgets-the-active",
    "checkpoint-noted-before-durable",
    "checkpoint-redo-too-new",
    "checkpoint-without-data-sync",
    "checkpoint-without-root",
    "checksum-not-looked-at",
    "commit-flag-wrong",
    "compensation-lost",
    "counter-not-in-rows",
    "counter-not-noted",
    "delete-leaves-entries",
    "dictionary-not-in-the-root",
    "doublewrite-not-synced",
    "doublewrite-skipped",
    "entry-taken-whoever-wrote-it",
    "equal-entries-not-looked-for",
    "events-not-cut-at-a-savepoint",
    "failed-log-sync-ignored",
    "followed-from-too-late",
    "found-work-noted-as-done",
    "group-commit-wakeup-lost",
    "group-of-a-rolled-back-transaction-given",
    "held-purge-forgotten",
    "jump-not-noted",
    "last-changes-not-brought",
    "leftover-not-noted",
    "log-not-kept-for-its-readers",
    "log-sync-skipped",
    "loser-begins-where-the-scan-does",
    "loser-not-rolled-back",
    "mark-before-the-build-lost",
    "new-table-not-synced",
    "old-chain-leaked",
    "old-file-dropped-before-the-swap",
    "page-before-its-log",
    "page-entered-before-it-is-written",
    "place-reused-before-a-root",
    "prepared-before-durable",
    "prepared-locks-forgotten",
    "prepared-rollback-before-durable",
    "prepared-rolled-back-by-recovery",
    "purge-wakeup-lost",
    "purged-too-early",
    "read-past-the-snapshot",
    "redo-applied-twice",
    "refused-change-not-taken-back",
    "renamed-table-folder-not-synced",
    "reused-segment-folder-not-synced",
    "rollback-leaves-entries",
    "root-before-its-pages",
    "root-not-synced",
    "rows-found-by-what-they-were-at-first",
    "segment-reused-early",
    "torn-page-not-restored",
    "two-definition-changes-at-once",
    "unique-not-checked",
    "write-conflict-not-seen",
    "writers-without-entries-beside-a-build",
];

/// What real threads must find: the bug and the test of `engine`'s `stress_promises`.
pub const STRESS: &[(&str, &str)] = &[
    ("unique-value-not-locked", "a_unique_value_is_there_once"),
    ("writer-asked-for-twice", "a_row_is_inserted_once"),
    ("counter-moved-one-too-few", "a_number_is_given_once"),
    (
        "branch-rollback-forgotten-by-recovery",
        "branch_groups::a_group_and_what_it_says_survive_together",
    ),
    (
        "prepared-group-left-out",
        "branch_groups::each_part_is_a_group_and_what_nobody_tells_is_none",
    ),
    (
        "guarded-range-not-looked-at",
        "what_a_serializable_reader_found_stays",
    ),
    (
        "guarded-row-not-looked-at",
        "locking::what_a_locking_reader_found_stays",
    ),
    (
        "scan-goes-on-where-it-waited",
        "locking::what_a_locking_reader_found_stays",
    ),
    (
        "guard-ends-with-its-last-row",
        "locking::a_guard_grows_with_its_scan",
    ),
    (
        "subquery-of-a-change-reads-the-snapshot",
        "locking::what_a_changing_statement_reads_is_the_newest",
    ),
    ("waiter-skipped", "hot::what_is_added_to_one_row_is_there"),
    (
        "in-vain-and-still-to-come",
        "hot::what_is_added_to_one_row_is_there",
    ),
    (
        "rolled-back-row-granted-as-committed",
        "hot::what_is_added_to_one_row_is_there",
    ),
    (
        "row-lock-undone-with-the-row",
        "locking::what_is_undone_stays_locked_while_the_transaction_goes_on",
    ),
    (
        "row-that-stays-not-locked",
        "locking::kept::a_row_that_was_looked_at_for_change_stays_locked",
    ),
    (
        "gathered-unlocked",
        "locking::kept::a_row_that_was_looked_at_for_change_stays_locked",
    ),
    (
        "value-of-an-undone-insert-kept",
        "locking::kept::values_of_an_undone_insert_are_free_again",
    ),
    (
        "place-of-an-undone-insert-kept",
        "locking::kept::who_waits_for_an_undone_insert_goes_on",
    ),
    (
        "missing-parent-not-guarded",
        "references::a_parent_is_held_and_shared",
    ),
    (
        "loser-keeps-its-claim",
        "locking::who_is_told_of_a_duplicate_keeps_no_claim",
    ),
    ("parent-not-held", "references::a_parent_is_held_and_shared"),
    (
        "parent-seen-by-the-snapshot",
        "references::parents_and_children_are_the_newest",
    ),
    (
        "children-not-guarded",
        "references::where_children_were_looked_for_none_comes",
    ),
];

/// What tests of statements must find: the bug and the test, of the library of `sql`.
pub const STATEMENTS: &[(&str, &str)] = &[
    (
        "cascaded-check-of-nested-views-left-out",
        "session::tests::views::a_cascaded_check_holds_of_the_views_below",
    ),
    (
        "check-option-skipped-on-duplicate-key",
        "session::tests::views::the_check_holds_of_a_row_that_takes_the_place_of_another",
    ),
    (
        "check-skipped-on-duplicate-key",
        "session::tests::row_rules::a_row_in_the_place_of_another_is_checked",
    ),
    (
        "claim-does-not-shut-the-table",
        "session::tests::swaps::whoever_writes_finds_the_new_table",
    ),
    (
        "generated-column-not-computed-again",
        "session::tests::row_rules::an_index_of_a_generated_column_follows_its_row",
    ),
    (
        "index-of-a-generated-column-left-behind",
        "session::tests::nonblocking::what_a_definition_says_of_rows_holds_of_changes_at_once",
    ),
    (
        "rows-there-not-checked",
        "session::tests::row_rules::rows_that_are_there_are_looked_at",
    ),
    (
        "held-back-not-let-pass",
        "session::tests::table_locks::a_change_that_has_nothing_to_do_gives_way",
    ),
    (
        "wait-for-a-claim-not-seen",
        "session::tests::swaps::a_transaction_in_the_way_of_a_swap_is_told",
    ),
    (
        "who-waits-for-a-table-is-not-woken",
        "session::tests::table_locks::a_change_that_has_nothing_to_do_gives_way",
    ),
    (
        "temporary-change-synced",
        "session::tests::temporary::what_changes_temporary_tables_alone_syncs_nothing_and_logs_no_rows",
    ),
    (
        "temporary-file-left",
        "session::tests::temporary::thousands_leave_nothing",
    ),
    (
        "temporary-tables-outlive-a-reset",
        "session::tests::temporary::they_go_with_their_session",
    ),
    (
        "branches-of-one-not-limited",
        "session::tests::xa::an_account_takes_its_share_and_an_administrator_ends_what_it_left",
    ),
    (
        "memory-of-one-user-not-limited",
        "session::tests::held::one_user_leaves_memory_for_the_others",
    ),
    (
        "temporary-space-of-one-user-not-limited",
        "session::tests::held::one_user_leaves_temporary_room_for_the_others",
    ),
    (
        "empty-branch-takes-a-place",
        "session::tests::xa::empty_branches_take_no_place",
    ),
    (
        "commit-behind-the-fence",
        "session::tests::fence::what_was_open_cannot_be_committed_behind_the_fence",
    ),
    (
        "prepared-commit-behind-the-fence",
        "session::tests::fence::what_was_open_cannot_be_committed_behind_the_fence",
    ),
    (
        "definition-behind-the-fence",
        "session::tests::fence::a_definition_that_waits_is_refused_when_its_turn_comes",
    ),
    (
        "fence-raised-beside-commits",
        "session::tests::fence::what_is_under_way_is_waited_for",
    ),
    (
        "read-rows-not-locked",
        "session::tests::conflicts::what_a_change_has_looked_at_stays_locked",
    ),
    (
        "read-beside-a-change-not-locked",
        "session::tests::conflicts::what_is_read_beside_a_change_is_shared",
    ),
];

/// What tests of backups must find: the bug, and the test that fails with it.
pub const BACKUP: &[(&str, &str)] = &[
    (
        "backup-ends-before-its-pages",
        "crossing::it_ends_behind_all_that_its_pages_say",
    ),
    (
        "backup-ends-where-it-began",
        "what_is_restored_is_one_moment",
    ),
    (
        "backup-log-from-a-segment-too-late",
        "what_is_restored_is_one_moment",
    ),
    (
        "backup-not-told-of-a-new-table",
        "what_is_restored_is_one_moment",
    ),
    ("backup-takes-torn-pages", "what_is_restored_is_one_moment"),
    (
        "incremental-since-the-bases-end",
        "what_is_restored_is_one_moment",
    ),
];

/// What tests of `replication` must find, likewise.
pub const BINLOG: &[(&str, &str)] = &[
    (
        "gtid-given-twice-after-a-crash",
        "files::tests::the_same_bytes_after_a_cut_at_every_operation",
    ),
    (
        "last-committed-one-too-small",
        "derive::dependencies::tests::no_dependency_is_lost",
    ),
    (
        "files-that-are-gone-not-seen",
        "service::room::tests::files_that_are_gone_are_missed",
    ),
    (
        "rest-of-a-file-in-the-next",
        "files::tests::what_was_shown_stays_whatever_else_is_done",
    ),
    (
        "state-behind-files-that-are-not-synced",
        "files::tests::the_same_bytes_after_a_cut_at_every_operation",
    ),
    (
        "semi-sync-acknowledged-before-durable",
        "replica::acknowledgement::tests::what_is_not_durable_is_not_acknowledged",
    ),
    (
        "semi-sync-any-reply-will-do",
        "semi_sync::tests::a_reply_wakes_those_that_it_is_for_and_nobody_else",
    ),
    (
        "semi-sync-one-replica-is-enough",
        "semi_sync::tests::as_many_replicas_as_are_wanted_have_to_say_so",
    ),
    (
        "semi-sync-stays-off",
        "semi_sync::tests::a_time_out_switches_it_off_and_replicas_that_have_caught_up_on_again",
    ),
    (
        "shown-before-durable",
        "files::tests::what_was_shown_stays_whatever_else_is_done",
    ),
    (
        "archived-before-durable",
        "archive::tests::what_fails_is_tried_again",
    ),
    (
        "archive-written-over",
        "archive::tests::what_is_another_is_never_written_over",
    ),
    (
        "archive-not-waited-for-after-a-crash",
        "archive::tests::what_is_another_is_never_written_over",
    ),
    (
        "reset-gives-a-number-again",
        "archive::tests::numbers_go_on_when_the_binary_log_is_begun_anew",
    ),
];

/// What tests of `replication` with a source and a replica must find: the bug, and the test of `suite` that fails with it.
pub const REPLICA: &[(&str, &str)] = &[
    (
        "abandoned-group-not-ended",
        "made_with_rows::a_group_that_came_to_nothing_keeps_no_log",
    ),
    (
        "events-left-where-none-are-taken",
        "log_databases::no_room::what_leaves_something_waits_for_room",
    ),
    (
        "branch-end-beside-its-prepare",
        "own_branches::the_log_has_each_part_as_mysql_writes_it",
    ),
    (
        "dependency-by-new-values-alone",
        "last_committed::no_dependency_is_left_out",
    ),
    (
        "dependency-by-primary-keys-alone",
        "last_committed::no_dependency_is_left_out",
    ),
    (
        "received-from-the-beginning-again",
        "replica::a_receiver_that_is_started_again_goes_on_where_the_last_was",
    ),
    (
        "replica-commit-out-of-order",
        "parallel::commits_are_seen_in_the_sources_order",
    ),
    (
        "replica-claims-no-name",
        "channels::what_comes_over_two_channels_is_applied_once",
    ),
    (
        "replica-definition-beside-others",
        "parallel::definitions_are_beside_nothing",
    ),
    (
        "replica-place-apart-from-rows",
        "parallel::several_leave_what_one_leaves_whatever_ends_the_server",
    ),
    (
        "replica-stop-waits-for-room",
        "no_room::a_replica_ends_while_what_it_applies_waits_for_room",
    ),
    (
        "replica-stop-waits-for-a-claim",
        "channels::nobody_stops_for_longer_than_asked",
    ),
    (
        "replica-transaction-begun-too-early",
        "parallel::what_the_source_says_of_dependencies_is_enough",
    ),
];

/// What the simulator of a source and its replicas must find.
pub const CLUSTER: &[&str] = &[
    "image-without-a-changed-column",
    "received-place-not-moved",
    "replica-place-apart-from-rows",
    "rest-of-a-file-in-the-next",
    "semi-sync-acknowledged-before-durable",
    "semi-sync-any-reply-will-do",
    "semi-sync-one-replica-is-enough",
];

/// What the models must find: the bug, and the crate and name of the model that fails with it. One of them the simulator finds too.
pub const MODELS: &[(&str, &str, &str)] = &[
    (
        "fired-without-a-fence",
        "base",
        "event::loom_model::whoever_waits_is_woken",
    ),
    (
        "one-of-those-who-wait-woken",
        "base",
        "event::loom_model::two_that_wait_are_both_woken",
    ),
    (
        "walk-ended-without-another-look",
        "pager",
        "log::ring::loom_model::no_record_is_left_incomplete",
    ),
    (
        "record-linked-before-it-is-whole",
        "pager",
        "log::ring::loom_model::what_is_complete_is_whole",
    ),
    (
        "group-commit-wakeup-lost",
        "pager",
        "log::group::loom_model::each_commit_is_answered_once_it_is_synced",
    ),
    (
        "turn-ended-without-a-word",
        "pager",
        "log::group::loom_model::whoever_finds_the_turn_taken_is_woken",
    ),
    (
        "log-closed-without-a-word",
        "pager",
        "log::group::loom_model::a_commit_at_the_end_gets_an_answer",
    ),
    (
        "optimistic-read-not-validated",
        "pager",
        "pool::frame::loom_model::an_optimistic_read_that_is_unchanged_saw_one_state",
    ),
    (
        "shared-latch-beside-an-exclusive-one",
        "pager",
        "pool::frame::loom_model::a_shared_holder_sees_no_change_under_way",
    ),
    (
        "exclusive-latch-twice",
        "pager",
        "pool::frame::loom_model::two_changes_are_both_there",
    ),
    (
        "moved-change-not-looked-for-again",
        "pager",
        "pool::frame::loom_model::an_oldest_change_that_moves_is_not_missed",
    ),
    (
        "pinned-page-evicted",
        "pager",
        "pool::frame::loom_model::a_pinned_page_stays",
    ),
    (
        "version-not-moved",
        "pager",
        "pool::frame::loom_model::a_frame_used_again_is_not_taken_for_the_old_page",
    ),
    (
        "latch-of-another-page-waited-for",
        "pager",
        "pool::frame::loom_model::who_latches_in_the_order_of_pages_is_not_held_up_by_frames",
    ),
    (
        "older-copy-counts-as-the-page",
        "pager",
        "pool::frame::loom_model::no_change_is_evicted_before_it_is_written",
    ),
    (
        "slot-owner-not-looked-at-again",
        "engine",
        "txn::slots::loom_model::an_answer_is_never_about_another_transaction",
    ),
    (
        "moved-without-a-look",
        "engine",
        "txn::slots::loom_model::ending_and_moving_agree",
    ),
    (
        "snapshot-announced-too-late",
        "engine",
        "txn::snapshot::loom_model::a_snapshot_that_is_being_taken_is_not_overlooked",
    ),
    (
        "record-not-announced",
        "engine",
        "txn::snapshot::loom_model::a_checkpoint_misses_no_record",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use harness::workspace;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// The texts of the crates, each with its crate's name and its module's path.
    fn sources() -> Vec<(String, String, String)> {
        let crates = workspace::root().join("crates");
        let mut open: Vec<PathBuf> = vec![crates.clone()];
        let mut found = Vec::new();
        while let Some(dir) = open.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    let (name, module) = place(path.strip_prefix(&crates).unwrap());
                    found.push((name, module, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found
    }

    fn place(path: &Path) -> (String, String) {
        let text = path.to_string_lossy();
        let (name, rest) = text.split_once('/').unwrap();
        let inside = rest.strip_prefix("src/").unwrap_or(rest);
        let module = inside.trim_end_matches(".rs").trim_end_matches("/mod");
        (name.to_owned(), module.replace('/', "::"))
    }

    #[test]
    fn every_planted_bug_is_listed() {
        let mut planted = BTreeSet::new();
        for (_, module, text) in sources().iter().filter(|s| s.1 != "mutant") {
            for part in text.split("mutant!(\"").skip(1) {
                let name = part.split('"').next().unwrap();
                assert!(!name.is_empty(), "{module}");
                planted.insert(name.to_owned());
            }
        }
        let sim = SIM.iter().copied();
        let stress = STRESS.iter().chain(STATEMENTS).chain(BINLOG);
        let stress = stress.chain(BACKUP).map(|s| s.0);
        let models = MODELS.iter().map(|m| m.0);
        let cases = CASES.iter().map(|c| c.0);
        let replica = REPLICA.iter().map(|r| r.0);
        let cluster = CLUSTER.iter().copied();
        let waits = WAITS.iter().chain(WAITS_OUTSIDE).chain(SPACE).map(|w| w.0);
        let all = sim.chain(stress).chain(models).chain(cases).chain(replica);
        let listed: BTreeSet<String> = all.chain(cluster).chain(waits).map(String::from).collect();
        assert_eq!(planted, listed);
    }

    #[test]
    fn every_model_has_a_bug() {
        let mut models = BTreeSet::new();
        for (name, module, text) in sources() {
            // In a file of their own, or behind what they are of.
            let own = module.strip_suffix("::loom_model");
            let inside = match text.split_once("mod loom_model {") {
                Some((_, inside)) => inside,
                None if own.is_some() => &text,
                None => continue,
            };
            let module = own.unwrap_or(&module);
            for part in inside.split("#[test]").skip(1) {
                let after = part.split_once("fn ").unwrap().1;
                let test = after.split('(').next().unwrap();
                models.insert((name.clone(), format!("{module}::loom_model::{test}")));
            }
        }
        let with: BTreeSet<_> = MODELS
            .iter()
            .map(|m| (m.1.to_owned(), m.2.to_owned()))
            .collect();
        assert_eq!(models, with);
    }
}
