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
//! Before each step, bytes that the direction owns are written. `Ending` then sends FIN. A direction
//! that holds keeps its reader's end back until the relay releases it: the half-close delay.
//!
//! A reader that fails has no end to pass on, and what it sent before is delivered all the same: the
//! direction goes to `Delivering`, where the writer's peer gets time to acknowledge it.
//!
//! Invariant: a poll returns `Pending` only if a stream or the timer will notify the task, or if it
//! has notified itself.

use std::future::Future;
use std::io;
use std::pin::{pin, Pin};
use std::task::{ready, Context, Poll};

use ptunnel::config::Splice;
use ptunnel::os::exhaustion::is_exhaustion;
use tokio::task::yield_now;

use super::checkup::Checkup;
use super::copy::{self, WriteBuffer};
use super::splice::{PooledPipe, Spliced};
use crate::io::Transport;

/// Rounds in one poll before the task yields to other tunnels. tokio's own budget (128 operations a
/// poll) would end it too, but later, and not between two splices.
const ROUNDS: usize = 16;

/// Bytes in one poll after which the task yields too: a spliced round can take as long as eight
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
    /// What the reader still sends isn't waited for: it failed for a lack of memory or descriptors on
    /// this machine, so that its connection lives and reports no end.
    is_abandoned: bool,
    checkup: Checkup,
}

#[derive(Debug)]
enum State {
    Copying,
    Splicing(PooledPipe),
    Holding,
    Ending,
    /// With the bytes that the other direction had delivered by then, if it went on.
    Ended(Option<u64>),
    /// With the bytes that the writer's peer hasn't acknowledged.
    Delivering(usize),
}

/// How far the reader's end has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Everything but the end was passed on.
    Held,
    /// The end was passed on, too.
    Passed,
}

/// The result of a round; `Poll::Pending` means that there was nothing to read.
pub(super) enum Progress {
    /// Bytes moved, and there may be more.
    Moved { filled: bool },
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
    /// Returns a direction that `holds` its reader's end until it is released, or passes it on at once.
    pub(super) fn new(splice: Splice, holds: bool) -> HalfDuplex {
        HalfDuplex {
            state: State::Copying,
            buffered: WriteBuffer::default(),
            carried: 0,
            splice,
            full: 0,
            holds,
            torn: false,
            is_abandoned: false,
            checkup: Checkup::default(),
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

    /// Has the next poll pass the reader's end on.
    pub(super) fn release(&mut self) {
        if let State::Holding = self.state {
            self.state = State::Ending;
        }
    }

    /// Notes that the other direction, which has delivered `by` bytes, outlasts this one. The first
    /// note counts.
    pub(super) fn note_outlasted(&mut self, by: u64) {
        if let State::Ended(other @ None) = &mut self.state {
            *other = Some(by);
        }
    }

    /// Returns what the other direction had delivered at this one's end, if it outlasted this one.
    pub(super) fn outlasted_by(&self) -> Option<u64> {
        match self.state {
            State::Ended(other) => other,
            _ => None,
        }
    }

    /// Returns the bytes that the writer's peer hasn't acknowledged, while the direction waits for that
    /// alone.
    pub(super) fn undelivered(&self) -> Option<usize> {
        match self.state {
            State::Delivering(count) => Some(count),
            _ => None,
        }
    }

    /// Notes that the reader has failed with `error`: from now on only what it sent before is delivered.
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

    fn advance(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut impl Transport,
        writer: &mut impl Transport,
    ) -> Poll<Result<End, CopyError>> {
        let enough = self.carried + SHARE;
        for _ in 0..ROUNDS {
            // What was read earlier goes first, in every state.
            if !self.buffered.is_empty()
                && self
                    .buffered
                    .poll_write_to(cx, writer, &mut self.carried)?
                    .is_pending()
            {
                return self.poll_stalled(cx, reader);
            }
            let spliced = match &mut self.state {
                State::Copying => {
                    if let Some(pipe) = self.borrow_pipe(reader, writer) {
                        self.state = State::Splicing(pipe);
                        continue;
                    }
                    None
                }
                State::Splicing(pipe) => {
                    match pipe.poll_round(cx, reader, writer, &mut self.carried)? {
                        Poll::Ready(Spliced::Progress(round)) => Some(Poll::Ready(round)),
                        Poll::Ready(Spliced::Copy) => None,
                        Poll::Ready(Spliced::Refused) => {
                            pipe.take(&mut self.buffered).map_err(CopyError::Write)?;
                            self.splice = Splice::Never;
                            self.state = State::Copying;
                            continue;
                        }
                        Poll::Pending => Some(Poll::Pending),
                    }
                }
                State::Ending => {
                    match ready!(Pin::new(&mut *writer).poll_shutdown(cx)) {
                        // The peer has reset it already; a read returns the error.
                        Err(e) if e.kind() == io::ErrorKind::NotConnected => {}
                        answer => answer.map_err(CopyError::Write)?,
                    }
                    self.state = State::Ended(None);
                    continue; // `Ended` arms the checkup: there may be no other poll
                }
                State::Holding => return self.poll_ended(cx, reader, End::Held),
                State::Ended(_) => return self.poll_ended(cx, reader, End::Passed),
                State::Delivering(count) => {
                    *count = writer.unacknowledged();
                    if *count == 0 {
                        return Poll::Ready(Ok(End::Held));
                    }
                    // Polled by the timer: there is no event for it. It can also have failed.
                    let failed = self.checkup.poll(cx, writer);
                    return failed.map(|error| Err(CopyError::Write(error)));
                }
            };
            let (buffered, carried) = (&mut self.buffered, &mut self.carried);
            let round = match spliced {
                Some(round) => round,
                None => copy::poll_round(cx, reader, writer, buffered, carried)?,
            };
            match round {
                Poll::Ready(Progress::Moved { filled: true }) => {
                    self.full = FULL.min(self.full + 1)
                }
                Poll::Ready(Progress::Moved { filled: false }) => self.full = 0,
                Poll::Ready(Progress::End) if self.torn => self.state = State::Delivering(0),
                Poll::Ready(Progress::End) if self.holds => self.state = State::Holding,
                Poll::Ready(Progress::End) => self.state = State::Ending,
                Poll::Pending => {
                    if self.give_back_pipe() {
                        return self.poll_stalled(cx, reader);
                    }
                    if !self.is_abandoned {
                        // Not at each move: bulk to a slow writer stalls again at once.
                        self.checkup.stop();
                        return Poll::Pending;
                    }
                    self.state = State::Delivering(0);
                }
            }
            if self.carried >= enough {
                break;
            }
        }
        // Not by the waker: its task would be polled again 61 times before tokio looks for events.
        let _ = pin!(yield_now()).poll(cx); // pending: it is polled once
        Poll::Pending
    }

    /// Returns a pipe if this direction should splice now, can, and the pool has one.
    fn borrow_pipe(
        &mut self,
        reader: &impl Transport,
        writer: &impl Transport,
    ) -> Option<PooledPipe> {
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

    /// Returns the pipe to the pool if it is empty, since there is nothing to move for now. Returns
    /// whether there is one that isn't.
    fn give_back_pipe(&mut self) -> bool {
        match &self.state {
            State::Splicing(pipe) if pipe.is_empty() => {
                // A burst that was worth a pipe is likely to be followed by another.
                self.full = if pipe.was_worth_it() { FULL } else { 0 };
                self.state = State::Copying;
                false
            }
            state => matches!(state, State::Splicing(_)),
        }
    }

    /// Checks a reader that isn't read from for now: otherwise its reset would go unnoticed.
    fn poll_stalled(
        &mut self,
        cx: &mut Context<'_>,
        reader: &impl Transport,
    ) -> Poll<Result<End, CopyError>> {
        self.checkup
            .poll(cx, reader)
            .map(|error| Err(CopyError::Noticed(error)))
    }

    /// Checks a reader that has ended.
    fn poll_ended(
        &mut self,
        cx: &mut Context<'_>,
        reader: &impl Transport,
        end: End,
    ) -> Poll<Result<End, CopyError>> {
        match self.poll_stalled(cx, reader) {
            Poll::Pending => Poll::Ready(Ok(end)),
            failed => failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::net::UnixStream;

    use super::*;
    use crate::io::UnixSocket;

    /// The timer outlived the stall: an extra wake-up, and its memory for as long as the tunnel.
    #[test]
    fn a_direction_holds_a_timer_only_while_it_stalls() {
        let runtime = crate::runtime().unwrap();
        runtime.block_on(async {
            let (source, reader) = UnixStream::pair().unwrap();
            let (writer, sink) = UnixStream::pair().unwrap();
            let (mut reader, mut writer) = (UnixSocket::from(reader), UnixSocket::from(writer));
            let mut half = HalfDuplex::new(Splice::Never, false);
            let (mut sent, mut received) = (0, 0);
            poll_fn(|cx| {
                sent += source.try_write(&[0; 4096]).unwrap_or(0);
                assert!(half.poll(cx, &mut reader, &mut writer).is_pending());
                if half.checkup.has_timer() {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            poll_fn(|cx| {
                received += sink.try_read(&mut [0; 4096]).unwrap_or(0);
                assert!(half.poll(cx, &mut reader, &mut writer).is_pending());
                if received == sent {
                    return Poll::Ready(());
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
            assert!(!half.checkup.has_timer());
        });
    }
}
