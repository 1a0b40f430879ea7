//! Two half-duplexes, one future: the bytes of a tunnel, both ways, to the end.
//!
//! Each direction copies through a scratch buffer that all tunnels of a thread share, owns
//! memory only for what its reader couldn't take yet, and moves to splice(2) while it stays
//! full (see [`half`], [`copy`], [`splice`]). One direction's end is passed on while the other
//! still carries data; the client's end can be held back until the upstream has ended or fallen
//! silent, since many proxies end both directions at a half-close. What can't be carried to its end is cut, with RST on both sides, so that
//! nobody takes a torn stream for a whole one.

mod copy;
mod half;
mod patience;
mod splice;

use std::rc::Rc;

use futures::{task, Async, Future, Poll};

pub use self::patience::Patience;

use self::half::{Broken, End, HalfDuplex};
use self::patience::{Over, Phase, Watch};
use super::clock::Clock;
use crate::config::Splice;
use crate::net::Transport;
use crate::report::{Closed, Cut, Side, Traffic};
use crate::tally::Gauge;

/// Carries bytes between `client` and `upstream` until both directions have ended.
///
/// Resolves to [`Closed`]; to a [`Cut`] when it couldn't go on. Both streams are dropped
/// with the future; unless both directions had ended, their peers see a reset.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Relay<C: Transport, U: Transport, G: Gauge = ()> {
    client: C,
    upstream: U,
    upload: HalfDuplex,
    download: HalfDuplex,
    watch: Option<Watch>,
    gauge: G,
}

impl<C: Transport, U: Transport> Relay<C, U> {
    /// A relay that waits for ever.
    pub fn new(client: C, upstream: U) -> Relay<C, U> {
        Relay::gauged(client, upstream, ())
    }
}

impl<C: Transport, U: Transport, G: Gauge> Relay<C, U, G> {
    /// The same, which lets others see what it has carried so far.
    pub fn gauged(client: C, upstream: U, gauge: G) -> Relay<C, U, G> {
        Relay {
            client,
            upstream,
            upload: HalfDuplex::new(Splice::Auto),
            download: HalfDuplex::new(Splice::Auto),
            watch: None,
            gauge,
        }
    }

    /// Whether to splice; [`Splice::Auto`] if not said.
    pub fn splice(mut self, splice: Splice) -> Relay<C, U, G> {
        self.upload.set_splice(splice);
        self.download.set_splice(splice);
        self
    }

    /// Ends tunnels in which nothing moves, and holds the client's end back; `clock` must be
    /// ticking. Shared, so that a tunnel weighs no more for each limit that there is.
    pub fn patience(mut self, patience: &Rc<Patience>, clock: &Clock) -> Relay<C, U, G> {
        self.upload.set_holds(patience.holds_end());
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

    /// How it went, both directions having ended; `before` is from before they did.
    fn closed(&self, before: Traffic) -> Closed {
        let traffic = self.traffic();
        let at_end = self.upload.outlasted_by().unwrap_or(before.download);
        let is_upstream_first = self.download.outlasted_by().is_some();
        Closed {
            traffic,
            is_unanswered: !is_upstream_first && traffic.download == at_end,
        }
    }

    /// Has the client's end passed on by another poll, which comes at once.
    fn release(&mut self) -> Poll<Closed, Cut> {
        self.upload.release();
        task::current().notify();
        Ok(Async::NotReady)
    }

    /// `reader` is the side that the broken direction reads from, `writer` the other one.
    fn broken(&self, broken: Broken, reader: Side, writer: Side) -> Cut {
        match broken {
            Broken::Read(e) => Cut::failed(self.traffic(), reader, e),
            Broken::Write(e) => Cut::failed(self.traffic(), writer, e),
        }
    }
}

impl<C: Transport, U: Transport, G: Gauge> Future for Relay<C, U, G> {
    type Item = Closed;
    type Error = Cut;

    fn poll(&mut self) -> Poll<Closed, Cut> {
        let before = self.traffic();
        let upload = match self.upload.poll(&mut self.client, &mut self.upstream) {
            Ok(upload) => upload,
            Err(broken) => return Err(self.broken(broken, Side::Client, Side::Upstream)),
        };
        let download = match self.download.poll(&mut self.upstream, &mut self.client) {
            Ok(download) => download,
            Err(broken) => return Err(self.broken(broken, Side::Upstream, Side::Client)),
        };
        let phase = match (upload, download) {
            (Async::NotReady, Async::NotReady) => Phase::Open,
            (Async::Ready(End::Held), Async::NotReady) => Phase::Held,
            (Async::Ready(End::Passed), Async::NotReady) => {
                self.upload.note_outlasted(before.download);
                Phase::HalfClosed
            }
            (Async::NotReady, Async::Ready(_)) => {
                self.download.note_outlasted(before.upload);
                Phase::HalfClosed
            }
            (Async::Ready(End::Held), Async::Ready(_)) => {
                self.download.note_outlasted(before.upload);
                return self.release();
            }
            (Async::Ready(End::Passed), Async::Ready(_)) => {
                return Ok(Async::Ready(self.closed(before)));
            }
        };
        let moved = self.traffic() != before;
        self.gauge.note(self.traffic());
        match &mut self.watch {
            Some(watch) => match watch.look(moved, phase) {
                None => Ok(Async::NotReady),
                Some(Over::Hold) => self.release(),
                Some(Over::Silence(limit)) => Err(Cut::silent(self.traffic(), limit)),
            },
            None => Ok(Async::NotReady),
        }
    }
}

impl<C: Transport, U: Transport, G: Gauge> Drop for Relay<C, U, G> {
    fn drop(&mut self) {
        if !(self.upload.has_ended() && self.download.has_ended()) {
            self.client.reset();
            self.upstream.reset();
        }
    }
}

#[cfg(test)]
mod tests;
