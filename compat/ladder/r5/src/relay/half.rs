//! One direction of a tunnel: from a reader to a writer, until the reader ends.
//!
//! ```text
//!             stays full                     end of the stream
//!   Copying ─────────────▶ Splicing    either ───────────────▶ Ending ──▶ Ended
//!      ▲                      │           │                       ▲
//!      └──────────────────────┘           └──────▶ Holding ───────┘
//!             runs dry                  if it holds       released
//! ```
//!
//! Before each step, the bytes that the direction owns are written. `Ending` then sends FIN. A
//! direction that holds delays its reader's end until the relay releases it: the half-close delay.
//!
//! A reader that fails has no end to pass on, but the bytes that it sent before are delivered: the
//! direction changes to `Delivering`, in which the writer's peer gets time to acknowledge them.
//!
//! Invariant: a poll returns `Pending` only if a stream or the timer will wake the task, or if it
//! yields.

use std::future::Future;
use std::io;
use std::pin::{pin, Pin};
use std::task::{ready, Context, Poll};

use tokio::task::yield_now;

use super::copy::{self, WriteBuffer};
use super::splice::{PooledPipe, Spliced};
use crate::io::Transport;
use ptunnel_core::os::exhaustion::is_exhaustion;
use ptunnel_proto::values::Splice;

/// Rounds in one poll before the task yields to other tunnels.
const ROUNDS: usize = 16;

/// Bytes in one poll after which the task yields too: a spliced round can take as long as sixteen
/// copied ones, and a small message waits for every bulk tunnel before it.
const SHARE: u64 = 128 * 1024;

/// Full scratch buffers in a row after which a direction is spliced.
const FULL: u8 = 2;

/// One direction: its state, the bytes that it owns, and the count of those that it has delivered.
#[derive(Debug)]
pub(super) struct HalfDuplex {
    state: State,
    buffered: WriteBuffer,
    carried: u64,
    splice: Splice,
    /// Full scratch buffers in a row, up to [`FULL`].
    full: u8,
    /// Whether the reader's end waits for [`release`](HalfDuplex::release).
    holds: bool,
    /// The reader has failed: its end isn't passed on.
    torn: bool,
    /// Bytes that the reader still sends aren't awaited: it failed because this machine lacks
    /// memory or descriptors, so its connection stays open and reports no end.
    is_abandoned: bool,
}

#[derive(Debug)]
enum State {
    Copying,
    Splicing(PooledPipe),
    Holding,
    Ending,
    /// With the number of bytes that the other direction had delivered at that time, if it
    /// continued.
    Ended(Option<u64>),
    /// With the number of bytes that the writer's peer hasn't acknowledged.
    Delivering(usize),
}

/// How far the reader's end has been passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Everything but the end was passed on.
    Held,
    /// The end was passed on, too.
    Passed,
}

/// The result of a round.
pub(super) enum Progress {
    /// Bytes moved, and there may be more.
    Moved { filled: bool },
    /// There is nothing more for now; the current task will be woken.
    Blocked,
    /// The reader has ended.
    End,
}

/// An error of one direction.
#[derive(Debug)]
pub(super) enum CopyError {
    /// A read failed: there is nothing more to read.
    Read(io::Error),
    /// The reader's stream has failed; bytes that it received before can still be read.
    Noticed(io::Error),
    /// A write failed.
    Write(io::Error),
}

impl HalfDuplex {
    pub(super) fn new(splice: Splice) -> HalfDuplex {
        HalfDuplex {
            state: State::Copying,
            buffered: WriteBuffer::default(),
            carried: 0,
            splice,
            full: 0,
            holds: false,
            torn: false,
            is_abandoned: false,
        }
    }

    /// Sets whether bulk is spliced.
    pub(super) fn set_splice(&mut self, splice: Splice) {
        self.splice = splice;
    }

    /// Sets whether the reader's end waits for [`release`](HalfDuplex::release).
    pub(super) fn set_holds(&mut self, holds: bool) {
        self.holds = holds;
    }

    /// Makes the next poll pass the reader's end on.
    pub(super) fn release(&mut self) {
        if let State::Holding = self.state {
            self.state = State::Ending;
        }
    }

    /// Returns the bytes that the writer has taken.
    pub(super) fn carried(&self) -> u64 {
        self.carried
    }

    /// Returns whether the end was passed on.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// Notes that the other direction, which has delivered `by` bytes, outlasts this one. The first
    /// note counts.
    pub(super) fn note_outlasted(&mut self, by: u64) {
        if let State::Ended(other @ None) = &mut self.state {
            *other = Some(by);
        }
    }

    /// Returns the number of bytes that the other direction had delivered when this one ended, if
    /// it outlasted this one.
    pub(super) fn outlasted_by(&self) -> Option<u64> {
        match self.state {
            State::Ended(other) => other,
            _ => None,
        }
    }

    /// Returns the number of bytes that the writer's peer hasn't acknowledged, if the direction
    /// waits for nothing else. No event reports an acknowledgement.
    pub(super) fn undelivered(&self) -> Option<usize> {
        match self.state {
            State::Delivering(count) => Some(count),
            _ => None,
        }
    }

    /// Notes that the reader has failed with `error`: from now on only bytes that it sent before
    /// are delivered.
    pub(super) fn tear(&mut self, error: &io::Error) {
        self.torn = true;
        self.is_abandoned = is_exhaustion(error);
        if let State::Holding | State::Ending | State::Ended(_) = self.state {
            self.state = State::Delivering(0);
        }
    }

    /// Is ready from the reader's end on. If the reader fails, returns the error once, and is ready
    /// when everything is delivered.
    pub(super) fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut R,
        writer: &mut W,
    ) -> Poll<Result<End, CopyError>>
    where
        R: Transport,
        W: Transport,
    {
        loop {
            let was_torn = self.torn;
            match self.advance(cx, reader, writer) {
                Poll::Ready(Err(CopyError::Read(e))) => {
                    self.torn = true;
                    self.state = State::Delivering(0);
                    if !was_torn {
                        return Poll::Ready(Err(CopyError::Read(e)));
                    }
                }
                Poll::Ready(Err(CopyError::Noticed(e))) => {
                    self.tear(&e);
                    if !was_torn {
                        return Poll::Ready(Err(CopyError::Noticed(e)));
                    }
                }
                polled => return polled,
            }
        }
    }

    fn advance<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut R,
        writer: &mut W,
    ) -> Poll<Result<End, CopyError>>
    where
        R: Transport,
        W: Transport,
    {
        let enough = self.carried + SHARE;
        for _ in 0..ROUNDS {
            // Bytes that were read earlier are written first, in every state.
            if !self.buffered.is_empty()
                && !self
                    .buffered
                    .write_to(cx, writer, &mut self.carried)?
                    .is_ready()
            {
                return stalled(cx, reader);
            }
            let round = match &mut self.state {
                State::Copying => {
                    if let Some(pipe) = self.borrow_pipe(reader, writer) {
                        self.state = State::Splicing(pipe);
                        continue;
                    }
                    copy::round(cx, reader, writer, &mut self.buffered, &mut self.carried)?
                }
                State::Splicing(pipe) => match pipe.round(cx, reader, writer, &mut self.carried)? {
                    Spliced::Progress(round) => round,
                    Spliced::Copy => {
                        copy::round(cx, reader, writer, &mut self.buffered, &mut self.carried)?
                    }
                    Spliced::Refused => {
                        pipe.take(&mut self.buffered).map_err(CopyError::Write)?;
                        self.splice = Splice::Never;
                        self.state = State::Copying;
                        continue;
                    }
                },
                State::Holding => return ended(cx, reader, End::Held),
                State::Ending => {
                    let ended = ready!(Pin::new(&mut *writer).poll_shutdown(cx));
                    ended.map_err(CopyError::Write)?;
                    self.state = State::Ended(None);
                    continue; // `Ended` checks the reader, since there may be no other poll
                }
                State::Ended(_) => return ended(cx, reader, End::Passed),
                State::Delivering(count) => {
                    writer.check(cx).map_err(CopyError::Write)?;
                    *count = writer.unacknowledged();
                    return match count {
                        0 => Poll::Ready(Ok(End::Held)),
                        _ => Poll::Pending,
                    };
                }
            };
            match round {
                Progress::Moved { filled: true } => self.full = FULL.min(self.full + 1),
                Progress::Moved { filled: false } => self.full = 0,
                Progress::Blocked => {
                    self.give_back_pipe();
                    match &self.state {
                        State::Splicing(_) => return stalled(cx, reader), // the pipe isn't empty
                        _ if self.is_abandoned => self.state = State::Delivering(0),
                        _ => return Poll::Pending,
                    }
                }
                Progress::End if self.torn => self.state = State::Delivering(0),
                Progress::End if self.holds => self.state = State::Holding,
                Progress::End => self.state = State::Ending,
            }
            if self.carried >= enough {
                break;
            }
        }
        // Not by the waker: its task would be polled again 61 times before tokio looks for events.
        let _ = pin!(yield_now()).poll(cx); // pending: it is polled once
        Poll::Pending
    }

    /// Returns a pipe if this direction must splice now, is able to, and the pool has a pipe.
    fn borrow_pipe<R, W>(&mut self, reader: &mut R, writer: &W) -> Option<PooledPipe>
    where
        R: Transport,
        W: Transport,
    {
        let wanted = match self.splice {
            Splice::Auto => self.full == FULL,
            Splice::Never => false,
            Splice::Always => true,
        };
        if !wanted || !reader.can_splice() || !writer.can_splice() {
            return None;
        }
        let pipe = PooledPipe::new();
        if pipe.is_none() {
            self.full = 0; // try again after as many full buffers
        }
        pipe
    }

    /// Returns the pipe to the pool if it is empty, since there is nothing to move for now.
    fn give_back_pipe(&mut self) {
        if let State::Splicing(pipe) = &self.state {
            if pipe.is_empty() {
                // A burst that made up for its pipe is likely to be followed by another.
                self.full = if pipe.was_worth_it() { FULL } else { 0 };
                self.state = State::Copying;
            }
        }
    }
}

/// Checks a reader that isn't read from at the moment: otherwise its reset would stay unnoticed.
fn stalled<R: Transport>(cx: &mut Context<'_>, reader: &mut R) -> Poll<Result<End, CopyError>> {
    reader.check(cx).map_err(CopyError::Noticed)?;
    Poll::Pending
}

/// Checks a reader that has ended.
fn ended<R: Transport>(
    cx: &mut Context<'_>,
    reader: &mut R,
    end: End,
) -> Poll<Result<End, CopyError>> {
    reader.check(cx).map_err(CopyError::Noticed)?;
    Poll::Ready(Ok(end))
}
