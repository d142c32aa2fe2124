//! What the engine does by its interface: tables, definitions, events, damage, stops, and rows under many threads. One program, since each links the
//! whole engine. Those that planted bugs are tried with (`stress_promises`, `stress_waits`, `stress_backup`) have programs of their own.

mod bank;
mod basics;
mod check;
mod counters;
mod covering;
mod damage;
mod defragment;
mod events;
mod followed;
mod oltp;
mod online_ddl;
mod packed_events;
mod prepared;
mod short_lives;
mod shortage;
mod snapshot_age;
mod statistics;
mod stop;
mod stress_bank;
mod stress_versions;
mod tablespaces;

#[path = "../../../pager/tests/sim/mod.rs"]
mod sim;
#[path = "../world/mod.rs"]
mod world;
