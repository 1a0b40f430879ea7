//! The relay: the bytes of a tunnel in both directions, as two half-duplexes in one future.
//!
//! ```text
//!   both open ──an end──▶ half-closed ──the other end──▶ closed
//!       └──────────────────────┴── a side fails ──▶ delivering ──▶ reset
//! ```
//!
//! Each direction copies through a scratch buffer that all tunnels of a thread share, owns memory
//! only for bytes that its writer has not taken yet, and moves to splice(2) while it stays full (see
//! [`half`], [`copy`], [`splice`]).
//!
//! Must not open tunnels or log: the caller logs the result. `Engine::relay` makes the future,
//! which `session` uses.
//!
//! Invariants:
//! - The end of one direction is passed on while the other still carries data. The client's end can
//!   be held back until the upstream ends or falls silent, since many proxies end both directions
//!   at a half-close.
//! - A stream that can't be carried to its end is cut with RST on both sides, so that it isn't
//!   taken for complete. A reset destroys what the peer hasn't received, so when one side fails,
//!   everything that it sent is delivered to the other first.

mod copy;
mod half;
mod idle;
mod splice;

use std::io;
use std::sync::Arc;
use std::time::Instant;

use futures::{task, Async, Future, Poll};

use self::half::{CopyError, End, HalfDuplex};
use self::idle::{IdleTimer, Over, RelayPhase};
use super::timer::TaskTimer;
use crate::io::Transport;
use ptunnel_core::config::Timeouts;
use ptunnel_core::observe::session::{breaks_request, Closed, RelayError, Side, Traffic};
use ptunnel_core::observe::stats::TunnelBytes;
use ptunnel_proto::values::Splice;

/// Carries bytes between `client` and `upstream` until both directions have ended.
///
/// Resolves to [`Closed`], or fails with a [`RelayError`] if a side fails or is silent for too
/// long. The future owns both streams; dropping it before both directions have ended resets them.
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

/// A side that has failed, while its bytes are delivered to the other side.
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
    /// Returns a relay without time limits.
    pub fn new(client: C, upstream: U) -> Relay<C, U> {
        Relay {
            client,
            upstream,
            upload: HalfDuplex::new(Splice::Auto),
            download: HalfDuplex::new(Splice::Auto),
            idle_timer: None,
            failure: None,
            recorder: None,
        }
    }

    /// Sets whether to splice; the default is [`Splice::Auto`].
    pub fn splice(mut self, splice: Splice) -> Relay<C, U> {
        self.upload.set_splice(splice);
        self.download.set_splice(splice);
        self
    }

    /// Sets the recorder, which notes the bytes at each poll.
    pub fn recorder(mut self, recorder: Option<TunnelBytes>) -> Relay<C, U> {
        self.recorder = recorder;
        self
    }

    /// Sets the limits of a silent tunnel, and whether the client's end is held back; `timer` must be
    /// ticking. The limits are shared to keep a tunnel small.
    pub fn timeouts(mut self, timeouts: &Arc<Timeouts>, timer: &TaskTimer) -> Relay<C, U> {
        let idle_timer = IdleTimer::new(timeouts, timer);
        self.upload.set_holds(idle_timer.holds_end());
        self.idle_timer = Some(idle_timer);
        self
    }

    /// Returns the bytes delivered so far.
    pub fn traffic(&self) -> Traffic {
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
    fn record(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.note(self.traffic());
        }
    }

    /// Makes another poll, which is notified now, pass the client's end on.
    fn release(&mut self) -> Poll<Closed, RelayError> {
        self.upload.release();
        task::current().notify();
        Ok(Async::NotReady)
    }

    /// Polls both directions.
    fn poll_both(&mut self) -> Result<(Async<End>, Async<End>), Box<FailedSide>> {
        let upload = self.upload.poll(&mut self.client, &mut self.upstream);
        let upload = upload.map_err(|e| FailedSide::of(e, Side::Client, Side::Upstream))?;
        let download = self.download.poll(&mut self.upstream, &mut self.client);
        let download = download.map_err(|e| FailedSide::of(e, Side::Upstream, Side::Client))?;
        Ok((upload, download))
    }

    /// Polls the direction that reads from `side`, and returns the bytes that the peer must still
    /// acknowledge if that is all it waits for.
    fn poll_from(&mut self, side: Side) -> (Poll<End, CopyError>, Option<usize>) {
        let (polled, half) = match side {
            Side::Client => (
                self.upload.poll(&mut self.client, &mut self.upstream),
                &self.upload,
            ),
            Side::Upstream => (
                self.download.poll(&mut self.upstream, &mut self.client),
                &self.download,
            ),
        };
        (polled, half.undelivered())
    }

    /// Delivers what the failed side has sent, and nothing to that side, for as long as there is
    /// progress; then cuts the tunnel.
    fn poll_delivery(&mut self, mut failure: Box<FailedSide>) -> Poll<Closed, RelayError> {
        let before = self.traffic();
        let (delivered, undelivered) = self.poll_from(failure.side);
        if self.traffic() != before || undelivered != failure.undelivered {
            failure.since = Instant::now();
            failure.undelivered = undelivered;
        }
        self.record();
        let waits = match (delivered, &mut self.idle_timer) {
            (Ok(Async::NotReady), Some(timer)) => {
                timer.tick();
                let limit = timer.delivery_limit();
                limit.map_or(true, |limit| failure.since.elapsed() < limit)
            }
            // Without a timer only events wake the task, and an acknowledgement isn't one.
            (Ok(Async::NotReady), None) => undelivered.is_none(),
            _ => false,
        };
        if !waits || breaks_request(&failure.error) {
            return Err(RelayError::failed(
                self.traffic(),
                failure.side,
                failure.error,
            ));
        }
        self.failure = Some(failure);
        Ok(Async::NotReady)
    }
}

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
    type Item = Closed;
    type Error = RelayError;

    fn poll(&mut self) -> Poll<Closed, RelayError> {
        if let Some(failure) = self.failure.take() {
            return self.poll_delivery(failure);
        }
        let before = self.traffic();
        let polled = match self.poll_both() {
            Ok(polled) => polled,
            Err(failure) => {
                match failure.side {
                    Side::Client => self.upload.tear(&failure.error),
                    Side::Upstream => self.download.tear(&failure.error),
                }
                return self.poll_delivery(failure);
            }
        };
        let phase = match polled {
            (Async::NotReady, Async::NotReady) => RelayPhase::Open,
            (Async::Ready(End::Held), Async::NotReady) => RelayPhase::Held,
            (Async::Ready(End::Passed), Async::NotReady) => {
                self.upload.note_outlasted(before.download);
                RelayPhase::HalfClosed
            }
            (Async::NotReady, Async::Ready(_)) => {
                self.download.note_outlasted(before.upload);
                RelayPhase::HalfClosed
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
        self.record();
        match &mut self.idle_timer {
            Some(timer) => match timer.look(moved, phase) {
                None => Ok(Async::NotReady),
                Some(Over::Hold) => self.release(),
                Some(Over::Silent(limit)) => Err(RelayError::silent(self.traffic(), limit)),
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

#[cfg(test)]
mod tests;
