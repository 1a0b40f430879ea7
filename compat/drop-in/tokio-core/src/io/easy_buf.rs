//! A buffer whose parts can be handed out.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// The capacity of a new buffer, in bytes.
pub(super) const INITIAL_CAPACITY: usize = 8 * 1024;

/// A counted reference to bytes, or to a part of them.
///
/// To take parts of it costs nothing. To change it copies it first, if other parts are in use.
#[derive(Clone)]
pub struct EasyBuf {
    bytes: Arc<Vec<u8>>,
    start: usize,
    end: usize,
}

/// An [`EasyBuf`]'s bytes while they are being changed; made by [`EasyBuf::get_mut`].
///
/// When it is dropped, the buffer has what the vector has then.
pub struct EasyBufMut<'a> {
    bytes: &'a mut Vec<u8>,
    end: &'a mut usize,
}

impl EasyBuf {
    /// Creates an empty buffer with room for 8 KiB.
    pub fn new() -> EasyBuf {
        EasyBuf::with_capacity(INITIAL_CAPACITY)
    }

    /// Creates an empty buffer with room for `cap` bytes.
    pub fn with_capacity(cap: usize) -> EasyBuf {
        Vec::with_capacity(cap).into()
    }

    /// Returns the number of bytes.
    #[allow(clippy::len_without_is_empty)] // tokio-core has none
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Keeps the first `at` bytes and returns the rest, without a copy.
    ///
    /// # Panics
    ///
    /// When `at` is more than the length.
    pub fn split_off(&mut self, at: usize) -> EasyBuf {
        let middle = self.middle(at);
        let rest = EasyBuf {
            start: middle,
            ..self.clone()
        };
        self.end = middle;
        rest
    }

    /// Returns the first `at` bytes and keeps the rest, without a copy.
    ///
    /// # Panics
    ///
    /// When `at` is more than the length.
    pub fn drain_to(&mut self, at: usize) -> EasyBuf {
        let middle = self.middle(at);
        let first = EasyBuf {
            end: middle,
            ..self.clone()
        };
        self.start = middle;
        first
    }

    fn middle(&self, at: usize) -> usize {
        assert!(
            at <= self.len(),
            "EasyBuf of {} bytes was divided at {at}",
            self.len()
        );
        self.start + at
    }

    /// Returns the bytes, to be changed in any way. They are copied first, to a new vector with room
    /// for at least 8 KiB, if another `EasyBuf` has a part of them.
    pub fn get_mut(&mut self) -> EasyBufMut<'_> {
        if Arc::get_mut(&mut self.bytes).is_none() {
            let mut copy = Vec::with_capacity(self.len().max(INITIAL_CAPACITY));
            copy.extend_from_slice(self.as_slice());
            *self = copy.into();
        }
        let EasyBuf { bytes, start, end } = self;
        let bytes = Arc::get_mut(bytes).expect("is the only reference now");
        bytes.truncate(*end);
        bytes.drain(..mem::take(start));
        *end = bytes.len();
        EasyBufMut { bytes, end }
    }
}

impl Default for EasyBuf {
    fn default() -> EasyBuf {
        EasyBuf::new()
    }
}

impl From<Vec<u8>> for EasyBuf {
    fn from(bytes: Vec<u8>) -> EasyBuf {
        EasyBuf {
            start: 0,
            end: bytes.len(),
            bytes: Arc::new(bytes),
        }
    }
}

impl From<EasyBuf> for Vec<u8> {
    fn from(mut buf: EasyBuf) -> Vec<u8> {
        mem::take(buf.get_mut().bytes)
    }
}

impl AsRef<[u8]> for EasyBuf {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl<T: AsRef<[u8]>> PartialEq<T> for EasyBuf {
    fn eq(&self, other: &T) -> bool {
        self.as_slice() == other.as_ref()
    }
}

impl Eq for EasyBuf {}

impl<T: AsRef<[u8]>> PartialOrd<T> for EasyBuf {
    fn partial_cmp(&self, other: &T) -> Option<Ordering> {
        self.as_slice().partial_cmp(other.as_ref())
    }
}

impl Ord for EasyBuf {
    fn cmp(&self, other: &EasyBuf) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for EasyBuf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for EasyBuf {
    /// Shows at most eight bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, whole) = (self.len(), self.bytes.len());
        match self.as_slice() {
            [a, b, c, d, .., w, x, y, z] if len >= 10 => write!(
                f,
                "EasyBuf{{len={len}/{whole} [{a}, {b}, {c}, {d}, ..., {w}, {x}, {y}, {z}]}}"
            ),
            bytes => write!(f, "EasyBuf{{len={len}/{whole} {bytes:?}}}"),
        }
    }
}

impl Deref for EasyBufMut<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        self.bytes
    }
}

impl DerefMut for EasyBufMut<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        self.bytes
    }
}

impl Drop for EasyBufMut<'_> {
    fn drop(&mut self) {
        *self.end = self.bytes.len();
    }
}
