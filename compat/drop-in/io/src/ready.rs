//! Sets of events.

use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// A set of events: the methods of mio 0.6's `Ready`, whose place it takes, and `hup` of its
/// `UnixReady`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready(u8);

impl Ready {
    /// There is something to read, or the end of it.
    pub const READ: Ready = Ready(1);
    /// There is room to write, or an error to collect.
    pub const WRITE: Ready = Ready(2);
    /// The other side is closed.
    pub const HUP: Ready = Ready(4);

    /// Returns the empty set.
    pub fn empty() -> Ready {
        Ready(0)
    }

    /// Returns the set of "there is something to read, or the end of it".
    pub fn readable() -> Ready {
        Ready::READ
    }

    /// Returns the set of "there is room to write, or an error to collect".
    pub fn writable() -> Ready {
        Ready::WRITE
    }

    /// Returns the set of "the other side is closed".
    pub fn hup() -> Ready {
        Ready::HUP
    }

    /// Returns whether the set has no events.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set has [`readable`](Ready::readable).
    pub fn is_readable(&self) -> bool {
        self.contains(Ready::READ)
    }

    /// Returns whether the set has [`writable`](Ready::writable).
    pub fn is_writable(&self) -> bool {
        self.contains(Ready::WRITE)
    }

    /// Returns whether the set has [`hup`](Ready::hup).
    pub fn is_hup(&self) -> bool {
        self.contains(Ready::HUP)
    }

    /// Adds all events of `other`.
    pub fn insert<T: Into<Ready>>(&mut self, other: T) {
        self.0 |= other.into().0;
    }

    /// Removes all events of `other`.
    pub fn remove<T: Into<Ready>>(&mut self, other: T) {
        self.0 &= !other.into().0;
    }

    /// Returns whether the set has all events of `other`.
    pub fn contains<T: Into<Ready>>(&self, other: T) -> bool {
        let other = other.into().0;
        self.0 & other == other
    }

    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Ready {
        Ready(bits)
    }
}

impl BitOr for Ready {
    type Output = Ready;

    fn bitor(self, other: Ready) -> Ready {
        Ready(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Ready) {
        self.0 |= other.0;
    }
}

impl BitAnd for Ready {
    type Output = Ready;

    fn bitand(self, other: Ready) -> Ready {
        Ready(self.0 & other.0)
    }
}

impl Sub for Ready {
    type Output = Ready;

    fn sub(self, other: Ready) -> Ready {
        Ready(self.0 & !other.0)
    }
}
