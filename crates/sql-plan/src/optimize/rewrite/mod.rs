//! Rewrites: a bound block becomes another that gives the same rows and costs less, whatever the data. None asks what is in the tables but
//! [`exists`], which asks how many rows a list would have.

pub(super) mod alternatives;
pub mod computed;
pub(super) mod derived;
pub(super) mod elements;
pub(super) mod equalities;
pub(super) mod exists;
pub(super) mod extremes;
pub(super) mod needless;
pub(super) mod quantified;
pub(super) mod unnest;
