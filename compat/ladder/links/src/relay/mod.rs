//! The relay: the bytes of a tunnel in both directions, as two half-duplexes in one future.
//!
//! A hand-written future, as in the root, and not two copies under `join!`: both directions
//! belong to one task and share its two sockets without a split, an idle tunnel holds a few
//! hundred bytes, and the first error stops both. It differs from the root's in three ways: a
//! `Context` is handed down, `Poll` has its `Result` inside, and the state is `Unpin`, since nothing
//! in it is an `async` block.
//!
//! A reset destroys what the peer hasn't received: when one side fails, everything that it sent is
//! first delivered to the other.

mod checkup;
mod copy;
mod half;
mod idle;
mod pipe;
mod splice;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use ptunnel::config::{Splice, Timeouts};
use ptunnel::observe::session::{breaks_request, Closed, RelayError, Side, Traffic};
use ptunnel::observe::stats::TunnelBytes;

pub use self::checkup::Checkup;
pub use self::idle::{period, TaskTimer};
pub use self::pipe::Pipe;
pub use self::splice::is_urgent;

use self::half::{CopyError, End, HalfDuplex};
use self::idle::{holds_end, IdleTimer, Over, RelayPhase};
use crate::io::Transport;

/// Carries bytes between `client` and `upstream` until both directions have ended.
///
/// Resolves to [`Closed`], or fails with a [`RelayError`] if a side fails or is silent for too long.
/// The future owns both streams; dropping it before both directions have ended resets them.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Relay<C: Transport, U: Transport> {
    client: C,
    upstream: U,
    upload: HalfDuplex,
    download: HalfDuplex,
    idle_timer: Option<IdleTimer>,
    /// Boxed, since few tunnels need it.
    failure: Option<Box<FailedSide>>,
    recorder: Option<TunnelBytes>,
}

/// A side that has failed, while what it sent is delivered to the other.
#[derive(Debug)]
struct FailedSide {
    side: Side,
    error: io::Error,
    /// See [`HalfDuplex::undelivered`].
    undelivered: Option<usize>,
    /// When something was delivered last.
    since: Instant,
}

impl<C: Transport, U: Transport> Relay<C, U> {
    /// Returns a relay with these limits of a silent tunnel and of the client's end that is held back;
    /// `timer` must be ticking. `recorder` notes the bytes at each poll.
    pub fn new(
        client: C,
        upstream: U,
        recorder: Option<TunnelBytes>,
        splice: Splice,
        timeouts: &Arc<Timeouts>,
        timer: &TaskTimer,
    ) -> Relay<C, U> {
        Relay {
            client,
            upstream,
            upload: HalfDuplex::new(splice, holds_end(timeouts)),
            download: HalfDuplex::new(splice, false),
            idle_timer: IdleTimer::new(timeouts, timer),
            failure: None,
            recorder,
        }
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            upload: self.upload.carried(),
            download: self.download.carried(),
        }
    }

    /// Returns the result once both directions have ended; `before` is the traffic before this poll.
    fn closed(&self, before: Traffic) -> Closed {
        let traffic = self.traffic();
        let at_end = self.upload.outlasted_by().unwrap_or(before.download);
        let is_upstream_first = self.download.outlasted_by().is_some();
        Closed {
            traffic,
            is_unanswered: !is_upstream_first && traffic.download == at_end,
        }
    }

    /// Notes the bytes delivered so far.
    fn record(&self, traffic: Traffic) {
        if let Some(recorder) = &self.recorder {
            recorder.note(traffic);
        }
    }

    /// Has the client's end passed on by another poll, which is notified now.
    fn release(&mut self, cx: &Context<'_>) -> Poll<Result<Closed, RelayError>> {
        self.upload.release();
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Polls both directions.
    fn poll_both(&mut self, cx: &mut Context<'_>) -> Result<Ends, Box<FailedSide>> {
        let upload = match self.upload.poll(cx, &mut self.client, &mut self.upstream) {
            Poll::Ready(Err(e)) => return Err(FailedSide::of(e, Side::Client, Side::Upstream)),
            Poll::Ready(Ok(end)) => Some(end),
            Poll::Pending => None,
        };
        let download = match self.download.poll(cx, &mut self.upstream, &mut self.client) {
            Poll::Ready(Err(e)) => return Err(FailedSide::of(e, Side::Upstream, Side::Client)),
            Poll::Ready(Ok(end)) => Some(end),
            Poll::Pending => None,
        };
        Ok((upload, download))
    }

    /// Delivers what the failed side has sent, and nothing to that side, for as long as there is
    /// progress; then the tunnel is cut.
    fn poll_delivery(
        &mut self,
        cx: &mut Context<'_>,
        mut failure: Box<FailedSide>,
    ) -> Poll<Result<Closed, RelayError>> {
        let before = self.traffic();
        let (client, upstream) = (&mut self.client, &mut self.upstream);
        let (polled, undelivered) = match failure.side {
            Side::Client => {
                let polled = self.upload.poll(cx, client, upstream);
                (polled, self.upload.undelivered())
            }
            Side::Upstream => {
                let polled = self.download.poll(cx, upstream, client);
                (polled, self.download.undelivered())
            }
        };
        let traffic = self.traffic();
        if traffic != before || undelivered != failure.undelivered {
            failure.since = Instant::now();
            failure.undelivered = undelivered;
        }
        self.record(traffic);
        let limit = self.idle_timer.as_ref().and_then(IdleTimer::delivery_limit);
        let is_late = limit.is_some_and(|limit| failure.since.elapsed() >= limit);
        if polled.is_ready() || is_late || breaks_request(&failure.error) {
            return Poll::Ready(Err(RelayError::failed(
                traffic,
                failure.side,
                failure.error,
            )));
        }
        if let Some(timer) = &mut self.idle_timer {
            timer.tick(cx);
        }
        self.failure = Some(failure);
        Poll::Pending
    }
}

/// The ends of the upload and of the download, if any.
type Ends = (Option<End>, Option<End>);

impl FailedSide {
    /// Returns the side that failed in a direction that copies from `reader` to `writer`.
    fn of(error: CopyError, reader: Side, writer: Side) -> Box<FailedSide> {
        let (side, error) = match error {
            CopyError::Read(e) | CopyError::Noticed(e) => (reader, e),
            CopyError::Write(e) => (writer, e),
        };
        Box::new(FailedSide {
            side,
            error,
            undelivered: None,
            since: Instant::now(),
        })
    }
}

impl<C: Transport, U: Transport> Future for Relay<C, U> {
    type Output = Result<Closed, RelayError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(failure) = this.failure.take() {
            return this.poll_delivery(cx, failure);
        }
        let before = this.traffic();
        let polled = match this.poll_both(cx) {
            Ok(polled) => polled,
            Err(failure) => {
                match failure.side {
                    Side::Client => this.upload.tear(&failure.error),
                    Side::Upstream => this.download.tear(&failure.error),
                }
                return this.poll_delivery(cx, failure);
            }
        };
        let phase = match polled {
            (None, None) => RelayPhase::Open,
            (Some(End::Held), None) => RelayPhase::Held,
            (Some(End::Passed), None) => {
                this.upload.note_outlasted(before.download);
                RelayPhase::HalfClosed
            }
            (None, Some(_)) => {
                this.download.note_outlasted(before.upload);
                RelayPhase::HalfClosed
            }
            (Some(End::Held), Some(_)) => {
                this.download.note_outlasted(before.upload);
                return this.release(cx);
            }
            (Some(End::Passed), Some(_)) => return Poll::Ready(Ok(this.closed(before))),
        };
        let traffic = this.traffic();
        this.record(traffic);
        let timer = this.idle_timer.as_mut();
        match timer.and_then(|timer| timer.look(cx, traffic != before, phase)) {
            None => Poll::Pending,
            Some(Over::Hold) => this.release(cx),
            Some(Over::Silent(limit)) => Poll::Ready(Err(RelayError::silent(traffic, limit))),
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
