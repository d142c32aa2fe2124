//! Buffers that evaluation uses over and over: once they have grown, a batch takes none from the allocator.

use super::vector::{Data, Vector};

/// Buffers kept of a kind.
const KEPT: usize = 16;

/// Buffers to be used again.
#[derive(Debug, Default)]
pub struct Scratch {
    i64s: Vec<Vec<i64>>,
    i128s: Vec<Vec<i128>>,
    f64s: Vec<Vec<f64>>,
    bytes: Vec<Vec<u8>>,
    rows: Vec<Vec<u16>>,
}

fn buffer<T: Clone>(pool: &mut Vec<Vec<T>>, n: usize, zero: T) -> Vec<T> {
    let mut v = pool.pop().unwrap_or_default();
    v.clear();
    v.resize(n, zero);
    v
}

fn give<T>(pool: &mut Vec<Vec<T>>, v: Vec<T>) {
    if pool.len() < KEPT {
        pool.push(v);
    }
}

impl Scratch {
    /// None yet.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    pub(super) fn i64s(&mut self, n: usize) -> Vec<i64> {
        buffer(&mut self.i64s, n, 0)
    }

    pub(super) fn i128s(&mut self, n: usize) -> Vec<i128> {
        buffer(&mut self.i128s, n, 0)
    }

    pub(super) fn f64s(&mut self, n: usize) -> Vec<f64> {
        buffer(&mut self.f64s, n, 0.0)
    }

    pub(super) fn bytes(&mut self, n: usize) -> Vec<u8> {
        buffer(&mut self.bytes, n, 0)
    }

    pub(super) fn rows(&mut self) -> Vec<u16> {
        buffer(&mut self.rows, 0, 0)
    }

    pub(super) fn give_bytes(&mut self, v: Vec<u8>) {
        give(&mut self.bytes, v);
    }

    pub(super) fn give_rows(&mut self, v: Vec<u16>) {
        give(&mut self.rows, v);
    }

    /// Takes the buffers of a vector that nobody needs any more.
    pub fn recycle(&mut self, v: Vector) {
        match v.into_data() {
            Data::I64(v) | Data::Decimal64 { values: v, .. } => give(&mut self.i64s, v),
            Data::Decimal128 { values: v, .. } => give(&mut self.i128s, v),
            Data::F64(v) => give(&mut self.f64s, v),
            _ => {}
        }
    }
}
