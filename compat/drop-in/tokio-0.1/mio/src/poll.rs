//! What a source of events is registered with.

use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Mutex, PoisonError};

use crate::event::Evented;
use crate::set::{names, operators};
use crate::Ready;

/// The number of a source of events in an event loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub usize);

impl From<usize> for Token {
    fn from(number: usize) -> Token {
        Token(number)
    }
}

impl From<Token> for usize {
    fn from(token: Token) -> usize {
        token.0
    }
}

/// How a source of events wants to be notified.
///
/// The drop-in's own are always those of an edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PollOpt(usize);

const EDGE: usize = 1;
const LEVEL: usize = 2;
const ONESHOT: usize = 4;

const NAMES: [(usize, &str); 3] = [
    (EDGE, "Edge-Triggered"),
    (LEVEL, "Level-Triggered"),
    (ONESHOT, "OneShot"),
];

impl PollOpt {
    /// Returns the empty set.
    pub fn empty() -> PollOpt {
        PollOpt(0)
    }

    /// Returns "each change".
    pub fn edge() -> PollOpt {
        PollOpt(EDGE)
    }

    /// Returns "as long as it is so".
    pub fn level() -> PollOpt {
        PollOpt(LEVEL)
    }

    /// Returns "once".
    pub fn oneshot() -> PollOpt {
        PollOpt(ONESHOT)
    }

    /// Returns whether the set has [`edge`](PollOpt::edge).
    pub fn is_edge(&self) -> bool {
        self.contains(PollOpt::edge())
    }

    /// Returns whether the set has [`level`](PollOpt::level).
    pub fn is_level(&self) -> bool {
        self.contains(PollOpt::level())
    }

    /// Returns whether the set has [`oneshot`](PollOpt::oneshot).
    pub fn is_oneshot(&self) -> bool {
        self.contains(PollOpt::oneshot())
    }

    /// Returns whether the set has all of `other`.
    pub fn contains(&self, other: PollOpt) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds all of `other`.
    pub fn insert(&mut self, other: PollOpt) {
        self.0 |= other.0;
    }

    /// Removes all of `other`.
    pub fn remove(&mut self, other: PollOpt) {
        self.0 &= !other.0;
    }
}

operators!(PollOpt, [] PollOpt);

impl fmt::Debug for PollOpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        names(self.0, &NAMES, f)
    }
}

/// What a source is registered with: it only learns the source's descriptor. A program has no way to
/// make one.
#[derive(Debug)]
pub struct Poll(Mutex<Vec<RawFd>>);

impl Poll {
    /// Returns the descriptor that `source` registers.
    ///
    /// # Errors
    ///
    /// `Unsupported` if it registers none, or several; else the source's own.
    #[doc(hidden)]
    pub fn descriptor_of(source: &dyn Evented) -> io::Result<RawFd> {
        let poll = Poll(Mutex::default());
        source.register(&poll, Token(0), Ready::all(), PollOpt::edge())?;
        let learnt = poll.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        match learnt[..] {
            [fd] => Ok(fd),
            [] => Err(unsupported("has none")),
            _ => Err(unsupported("has several")),
        }
    }

    /// Lets `source` end its registration.
    ///
    /// # Errors
    ///
    /// The source's own.
    #[doc(hidden)]
    pub fn forget(source: &dyn Evented) -> io::Result<()> {
        source.deregister(&Poll(Mutex::default()))
    }

    pub(crate) fn learn(&self, fd: RawFd) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(fd);
    }
}

fn unsupported(what: &str) -> io::Error {
    let message = format!(
        "tokio 1 watches one file descriptor, and this source of events {what}: register one with \
         mio::unix::EventedFd, or replace the source with a channel"
    );
    io::Error::new(io::ErrorKind::Unsupported, message)
}
