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

use futures::{Async, Future, Poll};

pub use self::patience::Patience;

use self::half::{Broken, HalfDuplex};
use self::patience::Watch;
use super::clock::Clock;
use crate::config::Splice;
use crate::net::Transport;
use crate::report::{Cut, Side, Traffic};
use crate::tally::Gauge;

/// Carries bytes between `client` and `upstream` until both directions have ended.
///
/// Resolves to the [`Traffic`]; to a [`Cut`] when it couldn't go on. Both streams are dropped
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
        self.upload = HalfDuplex::new(splice);
        self.download = HalfDuplex::new(splice);
        self
    }

    /// Ends tunnels in which nothing moves; `clock` must be ticking.
    pub fn patience(mut self, patience: Patience, clock: &Clock) -> Relay<C, U, G> {
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

    /// `reader` is the side that the broken direction reads from, `writer` the other one.
    fn broken(&self, broken: Broken, reader: Side, writer: Side) -> Cut {
        match broken {
            Broken::Read(e) => Cut::failed(self.traffic(), reader, e),
            Broken::Write(e) => Cut::failed(self.traffic(), writer, e),
        }
    }
}

impl<C: Transport, U: Transport, G: Gauge> Future for Relay<C, U, G> {
    type Item = Traffic;
    type Error = Cut;

    fn poll(&mut self) -> Poll<Traffic, Cut> {
        let before = self.traffic();
        let upload = match self.upload.poll(&mut self.client, &mut self.upstream) {
            Ok(upload) => upload,
            Err(broken) => return Err(self.broken(broken, Side::Client, Side::Upstream)),
        };
        let download = match self.download.poll(&mut self.upstream, &mut self.client) {
            Ok(download) => download,
            Err(broken) => return Err(self.broken(broken, Side::Upstream, Side::Client)),
        };
        if upload.is_ready() && download.is_ready() {
            return Ok(Async::Ready(self.traffic()));
        }
        let half_closed = upload.is_ready() || download.is_ready();
        let moved = self.traffic() != before;
        self.gauge.note(self.traffic());
        match &mut self.watch {
            Some(watch) => match watch.look(moved, half_closed) {
                Some(limit) => Err(Cut::silent(self.traffic(), limit)),
                None => Ok(Async::NotReady),
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
