//! Two half-duplexes, one future: the bytes of a tunnel, both ways, to the end.
//!
//! A hand-written future, as in the root, and not two copies under `join!`: both directions
//! belong to one task and share its two sockets without a split, an idle tunnel holds a few
//! hundred bytes, and the first error stops both. Line by line it differs from its ancestor in
//! three things: a `Context` is handed down, `Poll` has its `Result` inside, and the state is
//! `Unpin`, since nothing in here is an `async` block.

mod checkup;
mod copy;
mod half;
mod patience;
mod pipe;
mod splice;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use ptunnel::config::Splice;
use ptunnel::report::{Closed, Cut, Side, Traffic};
use ptunnel::tally::Gauge;

pub use self::checkup::Checkup;
pub use self::patience::{Clock, Patience};
pub use self::pipe::Pipe;
pub use self::splice::is_urgent;

use self::half::{Broken, End, HalfDuplex};
use self::patience::{Over, Phase, Watch};
use crate::net::Transport;

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

impl<C: Transport, U: Transport, G: Gauge> Relay<C, U, G> {
    /// A relay that gives up, and holds the client's end back, for as long as `patience` says, by
    /// `clock`, which must be ticking; and lets others see what it has carried so far.
    pub fn new(
        client: C,
        upstream: U,
        gauge: G,
        splice: Splice,
        patience: &Rc<Patience>,
        clock: &Clock,
    ) -> Relay<C, U, G> {
        Relay {
            client,
            upstream,
            upload: HalfDuplex::new(splice, patience.holds_end()),
            download: HalfDuplex::new(splice, false),
            watch: Watch::new(patience, clock),
            gauge,
        }
    }

    fn traffic(&self) -> Traffic {
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
    fn release(&mut self, cx: &Context<'_>) -> Poll<Result<Closed, Cut>> {
        self.upload.release();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// `reader` is the side that the broken direction reads from, `writer` the other one.
    fn broken(&self, broken: Broken, reader: Side, writer: Side) -> Cut {
        match broken {
            Broken::Read(e) => Cut::failed(self.traffic(), reader, e),
            Broken::Write(e) => Cut::failed(self.traffic(), writer, e),
        }
    }
}

impl<C: Transport, U: Transport, G: Gauge + Unpin> Future for Relay<C, U, G> {
    type Output = Result<Closed, Cut>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let before = this.traffic();
        let upload = match this.upload.poll(cx, &mut this.client, &mut this.upstream) {
            Poll::Ready(Err(broken)) => {
                return Poll::Ready(Err(this.broken(broken, Side::Client, Side::Upstream)))
            }
            Poll::Ready(Ok(end)) => Some(end),
            Poll::Pending => None,
        };
        let download = match this.download.poll(cx, &mut this.upstream, &mut this.client) {
            Poll::Ready(Err(broken)) => {
                return Poll::Ready(Err(this.broken(broken, Side::Upstream, Side::Client)))
            }
            Poll::Ready(Ok(end)) => Some(end),
            Poll::Pending => None,
        };
        let phase = match (upload, download) {
            (None, None) => Phase::Open,
            (Some(End::Held), None) => Phase::Held,
            (Some(End::Passed), None) => {
                this.upload.note_outlasted(before.download);
                Phase::HalfClosed
            }
            (None, Some(_)) => {
                this.download.note_outlasted(before.upload);
                Phase::HalfClosed
            }
            (Some(End::Held), Some(_)) => {
                this.download.note_outlasted(before.upload);
                return this.release(cx);
            }
            (Some(End::Passed), Some(_)) => return Poll::Ready(Ok(this.closed(before))),
        };
        let traffic = this.traffic();
        this.gauge.note(traffic);
        let watch = this.watch.as_mut();
        match watch.and_then(|watch| watch.look(cx, traffic != before, phase)) {
            None => Poll::Pending,
            Some(Over::Hold) => this.release(cx),
            Some(Over::Silence(limit)) => Poll::Ready(Err(Cut::silent(traffic, limit))),
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
