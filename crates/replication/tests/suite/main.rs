//! What the binary log, a source and its replicas do together, over `sql`. One program, since each that links `sql` takes long to build.

mod between_transactions;
mod branches;
mod changes;
mod channels;
mod compressed;
mod definitions;
mod filters;
mod groups;
mod history;
mod last_committed;
mod loads;
mod log_databases;
mod made_with_rows;
mod mariadb_words;
mod no_room;
mod own_branches;
mod parallel;
mod recorded_json;
mod replica;
mod scripted;
mod threads;
mod waits;
