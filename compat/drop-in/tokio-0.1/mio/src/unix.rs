//! What mio has for Unix alone.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::RawFd;

use crate::event::Evented;
use crate::ready::{ERROR, HUP, PRIORITY};
use crate::set::operators;
use crate::{Poll, PollOpt, Ready, Token};

/// A file descriptor as a source of events.
#[derive(Debug)]
pub struct EventedFd<'a>(pub &'a RawFd);

impl Evented for EventedFd<'_> {
    fn register(&self, poll: &Poll, _: Token, _: Ready, _: PollOpt) -> io::Result<()> {
        poll.learn(*self.0);
        Ok(())
    }

    fn reregister(&self, poll: &Poll, _: Token, _: Ready, _: PollOpt) -> io::Result<()> {
        poll.learn(*self.0);
        Ok(())
    }

    fn deregister(&self, _: &Poll) -> io::Result<()> {
        Ok(())
    }
}

/// A set of events, those of Unix included.
///
/// The drop-ins report `hup`, but neither `error` nor `priority`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixReady(Ready);

impl UnixReady {
    /// Returns the set of "there is an error to collect".
    pub fn error() -> UnixReady {
        UnixReady(Ready::from_usize(ERROR))
    }

    /// Returns the set of "the other side is closed".
    pub fn hup() -> UnixReady {
        UnixReady(Ready::from_usize(HUP))
    }

    /// Returns the set of "there are urgent bytes".
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn priority() -> UnixReady {
        UnixReady(Ready::from_usize(PRIORITY))
    }

    /// Returns whether the set has [`error`](UnixReady::error).
    pub fn is_error(&self) -> bool {
        self.contains(UnixReady::error())
    }

    /// Returns whether the set has [`hup`](UnixReady::hup).
    pub fn is_hup(&self) -> bool {
        self.contains(UnixReady::hup())
    }

    /// Returns whether the set has [`priority`](UnixReady::priority).
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(&self) -> bool {
        self.contains(UnixReady::priority())
    }
}

impl From<Ready> for UnixReady {
    fn from(ready: Ready) -> UnixReady {
        UnixReady(ready)
    }
}

impl From<UnixReady> for Ready {
    fn from(ready: UnixReady) -> Ready {
        ready.0
    }
}

impl Deref for UnixReady {
    type Target = Ready;

    fn deref(&self) -> &Ready {
        &self.0
    }
}

impl DerefMut for UnixReady {
    fn deref_mut(&mut self) -> &mut Ready {
        &mut self.0
    }
}

operators!(UnixReady, [] UnixReady);

impl fmt::Debug for UnixReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
