//! Memory for device I/O. The only `unsafe` of this crate outside `real`: aligned allocation and buffers that an
//! in-flight operation may use after the submitting call has returned.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment that O_DIRECT asks for on every device met so far.
pub const IO_ALIGN: usize = 4096;

/// A heap buffer aligned for O_DIRECT, zeroed when made.
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
}

impl AlignedBuf {
    /// `len` zero bytes. Large buffers are mapped lazily by the allocator.
    pub fn zeroed(len: usize) -> AlignedBuf {
        let layout = Self::layout(len);
        // SAFETY: the layout's size is not zero (see `layout`).
        let p = unsafe { alloc_zeroed(layout) };
        match NonNull::new(p) {
            Some(ptr) => AlignedBuf { ptr, len },
            None => handle_alloc_error(layout),
        }
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> AlignedBuf {
        let mut b = AlignedBuf::zeroed(bytes.len());
        b.copy_from_slice(bytes);
        b
    }

    /// The address of the first byte. Stable for the life of the buffer.
    pub fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    fn layout(len: usize) -> Layout {
        match Layout::from_size_align(len.max(1), IO_ALIGN) {
            Ok(l) => l,
            Err(_) => panic!("buffer of {len} bytes"),
        }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        // SAFETY: allocated with the same layout in `zeroed`, freed once.
        unsafe { dealloc(self.ptr.as_ptr(), Self::layout(self.len)) }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes owned by self.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

// SAFETY: plain bytes owned by the buffer.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared access only reads.
unsafe impl Sync for AlignedBuf {}

/// Memory lent to one I/O operation: either an owned buffer or a raw range that its lender keeps alive and unaliased
/// until the operation's completion ran.
pub struct IoBuf {
    ptr: *mut u8,
    len: usize,
    owned: Option<AlignedBuf>,
}

// SAFETY: an IoBuf is the sole user of its range (owned, or promised by `from_raw`'s caller).
unsafe impl Send for IoBuf {}

impl IoBuf {
    /// Lends an owned buffer, all of it.
    pub fn owned(buf: AlignedBuf) -> IoBuf {
        IoBuf {
            ptr: buf.as_ptr(),
            len: buf.len(),
            owned: Some(buf),
        }
    }

    /// Lends `len` bytes at `ptr`.
    ///
    /// # Safety
    /// The range stays valid, and nobody else reads or writes it, until the operation's completion has been called.
    pub unsafe fn from_raw(ptr: *mut u8, len: usize) -> IoBuf {
        IoBuf {
            ptr,
            len,
            owned: None,
        }
    }

    /// The range as raw parts.
    pub fn parts(&self) -> (*mut u8, usize) {
        (self.ptr, self.len)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: valid and unaliased by the constructors' contracts.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }

    /// The bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: valid and unaliased by the constructors' contracts.
        unsafe { std::slice::from_raw_parts_mut(self.ptr, self.len) }
    }

    /// The owned buffer back, if this was one.
    pub fn into_owned(self) -> Option<AlignedBuf> {
        self.owned
    }
}
