//! Sets of events.

use std::fmt;
use std::ops::{BitAndAssign, BitOrAssign, BitXorAssign, SubAssign};

use crate::set::{names, operators};

const READABLE: usize = 1;
const WRITABLE: usize = 2;
pub(crate) const ERROR: usize = 4;
pub(crate) const HUP: usize = 8;
pub(crate) const PRIORITY: usize = if cfg!(any(target_os = "linux", target_os = "android")) {
    64
} else {
    0
};

const NAMES: [(usize, &str); 4] = [
    (READABLE, "Readable"),
    (WRITABLE, "Writable"),
    (ERROR, "Error"),
    (HUP, "Hup"),
];

/// A set of events. [`UnixReady`](crate::unix::UnixReady) has more of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready(usize);

impl Ready {
    /// Returns the empty set.
    pub fn empty() -> Ready {
        Ready(0)
    }

    /// Returns the set of "there is something to read, or the end of it".
    pub fn readable() -> Ready {
        Ready(READABLE)
    }

    /// Returns the set of "there is room to write, or an error to collect".
    pub fn writable() -> Ready {
        Ready(WRITABLE)
    }

    /// Returns the set of all events.
    pub fn all() -> Ready {
        Ready(READABLE | WRITABLE | ERROR | HUP | PRIORITY)
    }

    /// Returns whether the set has no events.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set has [`readable`](Ready::readable).
    pub fn is_readable(&self) -> bool {
        self.contains(Ready::readable())
    }

    /// Returns whether the set has [`writable`](Ready::writable).
    pub fn is_writable(&self) -> bool {
        self.contains(Ready::writable())
    }

    /// Adds all events of `other`.
    pub fn insert<T: Into<Ready>>(&mut self, other: T) {
        *self |= other;
    }

    /// Removes all events of `other`.
    pub fn remove<T: Into<Ready>>(&mut self, other: T) {
        *self -= other;
    }

    /// Returns whether the set has all events of `other`.
    pub fn contains<T: Into<Ready>>(&self, other: T) -> bool {
        let other = other.into();
        *self & other == other
    }

    /// Returns the set with the bits of `bits`, as [`as_usize`](Ready::as_usize) returns them.
    pub fn from_usize(bits: usize) -> Ready {
        Ready(bits)
    }

    /// Returns the set as bits.
    pub fn as_usize(&self) -> usize {
        self.0
    }
}

/// What mio has deprecated.
#[doc(hidden)]
impl Ready {
    pub fn none() -> Ready {
        Ready::empty()
    }

    pub fn error() -> Ready {
        Ready(ERROR)
    }

    pub fn hup() -> Ready {
        Ready(HUP)
    }

    pub fn is_none(&self) -> bool {
        self.is_empty()
    }

    pub fn is_error(&self) -> bool {
        self.contains(Ready::error())
    }

    pub fn is_hup(&self) -> bool {
        self.contains(Ready::hup())
    }

    pub fn bits(&self) -> usize {
        self.0
    }
}

operators!(Ready, [T: Into<Ready>] T);

impl<T: Into<Ready>> BitOrAssign<T> for Ready {
    fn bitor_assign(&mut self, other: T) {
        *self = *self | other;
    }
}

impl<T: Into<Ready>> BitXorAssign<T> for Ready {
    fn bitxor_assign(&mut self, other: T) {
        *self = *self ^ other;
    }
}

impl<T: Into<Ready>> BitAndAssign<T> for Ready {
    fn bitand_assign(&mut self, other: T) {
        *self = *self & other;
    }
}

impl<T: Into<Ready>> SubAssign<T> for Ready {
    fn sub_assign(&mut self, other: T) {
        *self = *self - other;
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        names(self.0, &NAMES, f)
    }
}
