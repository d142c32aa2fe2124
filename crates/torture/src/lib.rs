//! Tests from outside: servers are started, driven and maltreated as users, machines and attackers do it.

mod case;
pub mod crash;
pub mod damage;
pub mod differential;
pub mod dumps;
pub mod e2e;
mod edges;
pub mod few_files;
pub mod full_disk;
pub mod hostile;
pub mod isolation;
mod ledger;
pub mod power_cuts;
pub mod privileges;
mod protocol;
pub mod slt;
pub mod tls;
