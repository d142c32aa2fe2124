//! The lab: measurements from outside. Never links the engine, and nothing of the product imports it.

pub mod canned;
mod catalog;
pub mod compare;
mod conversions;
mod course;
mod dataset_cache;
mod experiment;
pub mod experiments;
mod fio;
mod formats;
mod judge;
mod machine;
mod measure;
mod peers;
pub mod pressure;
mod probe;
mod record;
pub mod recovery_time;
mod report;
mod runner;
pub mod syncs;
pub mod sysbench_matrix;
mod tpcc;
mod tpcc_formats;
