//! Window functions: values computed from the rows around a row.
//!
//! Rows that have passed HAVING are stored and sorted ([`gather`]), gone through a partition at a time ([`partition`]), and sent on with the
//! values of the functions ([`run`]): to the sort of the next window, or to the select list. A function asks for peers and frames ([`frame`]),
//! whose ends only move forward, so that aggregates take rows in and give them back ([`aggregate`]).
//!
//! Memory: what is sorted spills as every sort does, and a partition without room goes to a file, from which cursors read it. Never here: a wait of an
//! expression; all that functions read has been evaluated when a row is stored.
//!
//! After Leis, Kundhikanjana, Kemper and Neumann, "Efficient Processing of Window Functions in Analytical SQL Queries", PVLDB 8, 2015.

mod aggregate;
mod frame;
mod function;
pub(super) mod gather;
mod partition;
pub(super) mod run;
