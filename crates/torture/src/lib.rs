//! Tests from outside: servers are started, driven and maltreated as users, machines and attackers do it.

mod case;
pub mod dumps;
pub mod e2e;
mod edges;
mod protocol;
pub mod slt;
pub mod tls;
