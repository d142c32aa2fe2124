//! Physical choices: how a table is read ([`access`]), and what the order of joins leaves open: sorting, grouping, windows, what is kept for later
//! rows. They never change the order of joins or what a block says.

pub(super) mod access;
pub(super) mod by_key;
pub(super) mod covering;
pub(super) mod fast;
pub(super) mod fused;
pub(super) mod group;
pub(super) mod hashing;
pub(super) mod jump;
pub(super) mod lateral;
pub(super) mod order;
pub(super) mod range;
pub(super) mod sorted;
pub(super) mod spool;
pub(super) mod steps;
pub(super) mod windows;
