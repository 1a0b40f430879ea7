//! Two half-duplexes, one future: the bytes of a tunnel, both ways, to the end.
//!
//! Each direction copies through a scratch buffer that all tunnels of a thread share, owns
//! memory only for what its reader couldn't take yet, and moves to splice(2) while it stays
//! full (see [`half`], [`copy`], [`splice`]). One direction's end is passed on while the other
//! still carries data. What can't be carried to its end is cut, with RST on both sides, so that
//! nobody takes a torn stream for a whole one.

mod copy;
mod half;
mod patience;
mod splice;

use std::error;
use std::fmt;
use std::io;
use std::time::Duration;

use futures::{Async, Future, Poll};

pub use self::patience::{Clock, Patience};

use self::half::{Broken, HalfDuplex};
use self::patience::Watch;
use crate::config::Splice;
use crate::error::Seconds;
use crate::net::Transport;

/// Bytes carried in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the client to the destination.
    pub upload: u64,
    /// From the destination to the client.
    pub download: u64,
}

/// Carries bytes between `client` and `upstream` until both directions have ended.
///
/// Resolves to the [`Traffic`]; to a [`Cut`] when it couldn't go on. Both streams are dropped
/// with the future; unless both directions had ended, their peers see a reset.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Relay<C: Transport, U: Transport> {
    client: C,
    upstream: U,
    upload: HalfDuplex,
    download: HalfDuplex,
    watch: Option<Watch>,
}

impl<C: Transport, U: Transport> Relay<C, U> {
    /// A relay that waits for ever.
    pub fn new(client: C, upstream: U) -> Relay<C, U> {
        Relay {
            client,
            upstream,
            upload: HalfDuplex::new(Splice::Auto),
            download: HalfDuplex::new(Splice::Auto),
            watch: None,
        }
    }

    /// Whether to splice; [`Splice::Auto`] if not said.
    pub fn splice(mut self, splice: Splice) -> Relay<C, U> {
        self.upload = HalfDuplex::new(splice);
        self.download = HalfDuplex::new(splice);
        self
    }

    /// Ends tunnels in which nothing moves; `clock` must be ticking.
    pub fn patience(mut self, patience: Patience, clock: &Clock) -> Relay<C, U> {
        self.watch = Watch::new(patience, clock);
        self
    }

    /// Bytes carried so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            upload: self.upload.carried(),
            download: self.download.carried(),
        }
    }

    fn cut(&self, reason: Reason) -> Cut {
        Cut {
            traffic: self.traffic(),
            reason,
        }
    }
}

impl<C: Transport, U: Transport> Future for Relay<C, U> {
    type Item = Traffic;
    type Error = Cut;

    fn poll(&mut self) -> Poll<Traffic, Cut> {
        let before = self.traffic();
        let upload = match self.upload.poll(&mut self.client, &mut self.upstream) {
            Ok(upload) => upload,
            Err(broken) => return Err(self.cut(Reason::broken(broken, Side::Client))),
        };
        let download = match self.download.poll(&mut self.upstream, &mut self.client) {
            Ok(download) => download,
            Err(broken) => return Err(self.cut(Reason::broken(broken, Side::Upstream))),
        };
        if upload.is_ready() && download.is_ready() {
            return Ok(Async::Ready(self.traffic()));
        }
        let half_closed = upload.is_ready() || download.is_ready();
        let moved = self.traffic() != before;
        match &mut self.watch {
            Some(watch) => match watch.look(moved, half_closed) {
                Some(limit) => Err(self.cut(Reason::Silent(limit))),
                None => Ok(Async::NotReady),
            },
            None => Ok(Async::NotReady),
        }
    }
}

impl<C: Transport, U: Transport> Drop for Relay<C, U> {
    fn drop(&mut self) {
        if !(self.upload.has_ended() && self.download.has_ended()) {
            self.client.reset();
            self.upstream.reset();
        }
    }
}

/// One of a relay's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the tunnel was asked for.
    Client,
    /// The proxy, or the destination when there is none.
    Upstream,
}

/// A relay that ended before both of its directions did.
#[derive(Debug)]
pub struct Cut {
    /// What it had carried.
    pub traffic: Traffic,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    Failed(Side, io::Error),
    Silent(Duration),
}

impl Reason {
    /// `reader` is the side that the broken direction reads from.
    fn broken(broken: Broken, reader: Side) -> Reason {
        match (broken, reader) {
            (Broken::Read(e), side) => Reason::Failed(side, e),
            (Broken::Write(e), Side::Client) => Reason::Failed(Side::Upstream, e),
            (Broken::Write(e), Side::Upstream) => Reason::Failed(Side::Client, e),
        }
    }
}

impl Cut {
    /// The side that failed; `None` when nothing moved for too long.
    pub fn side(&self) -> Option<Side> {
        match self.reason {
            Reason::Failed(side, _) => Some(side),
            Reason::Silent(_) => None,
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Failed(Side::Client, e) => write!(f, "client: {}", e),
            Reason::Failed(Side::Upstream, e) => write!(f, "upstream: {}", e),
            Reason::Silent(limit) => write!(f, "nothing moved for {}", Seconds(*limit)),
        }
    }
}

impl error::Error for Cut {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.reason {
            Reason::Failed(_, e) => Some(e),
            Reason::Silent(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
