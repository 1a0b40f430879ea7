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
//! In `Ending` what is owned is written, then FIN. A direction that holds keeps its reader's end to
//! itself until the relay releases it: see `--half-close-delay`.
//!
//! A reader that fails has no end to pass on. What it sent before is delivered all the same: what is
//! owned is written, and then the writer's peer gets the time to take it (`Delivering`).

use std::io;

use futures::{task, try_ready, Async, Poll};

use super::copy::{self, WriteBuffer};
use super::splice::{PooledPipe, Spliced};
use crate::config::Splice;
use crate::engine::io::Transport;
use crate::os::exhaustion::is_shortage;

/// Rounds in one poll before other tunnels get their turn.
const ROUNDS: usize = 16;

/// Bytes in one poll after which others get theirs, however few rounds it took: a spliced round
/// may be as long as sixteen copied ones, and a ping waits for every bulk tunnel before it.
const SHARE: u64 = 128 * 1024;

/// Full scratch buffers in a row after which a direction moves to splice.
const FULL: u8 = 2;

/// Where a direction stands, what it owns for its writer, and what it has carried.
#[derive(Debug)]
pub(super) struct HalfDuplex {
    state: State,
    backlog: WriteBuffer,
    carried: u64,
    splice: Splice,
    /// Full scratch buffers in a row, up to [`FULL`].
    full: u8,
    /// Whether the reader's end waits for [`release`](HalfDuplex::release).
    holds: bool,
    /// The reader's stream has failed: its end is none.
    torn: bool,
    /// What the reader may still send isn't waited for: its connection lives, and tells no end.
    is_abandoned: bool,
}

#[derive(Debug)]
enum State {
    Copying,
    Splicing(PooledPipe),
    Holding,
    Ending,
    /// With what the other direction had carried by then, if that one went on.
    Ended(Option<u64>),
    /// So much was written that the writer's peer hasn't acknowledged.
    Delivering(usize),
}

/// What has become of the reader's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The writer has got everything but the end.
    Held,
    /// The writer has got that, too.
    Passed,
}

/// What a round came to.
pub(super) enum Progress {
    /// Something moved, and more may.
    Moved { filled: bool },
    /// Nothing more for now; the current task is notified when there is.
    Blocked,
    /// The reader's end.
    End,
}

/// Which half of the work failed.
#[derive(Debug)]
pub(super) enum CopyError {
    /// There is nothing more to read.
    Read(io::Error),
    /// The reader has failed, and what it received before may still be read.
    Noticed(io::Error),
    Write(io::Error),
}

impl HalfDuplex {
    pub(super) fn new(splice: Splice) -> HalfDuplex {
        HalfDuplex {
            state: State::Copying,
            backlog: WriteBuffer::default(),
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

    /// Lets the reader's end go on to the writer, at the next poll.
    pub(super) fn release(&mut self) {
        if let State::Holding = self.state {
            self.state = State::Ending;
        }
    }

    /// Bytes that the writer took.
    pub(super) fn carried(&self) -> u64 {
        self.carried
    }

    /// Whether the end was passed on.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }

    /// Notes that the other direction, which has carried this much, outlasts this one. The first
    /// note counts.
    pub(super) fn note_outlasted(&mut self, by: u64) {
        if let State::Ended(other @ None) = &mut self.state {
            *other = Some(by);
        }
    }

    /// What the other direction had carried at this one's end, if it outlasted this one.
    pub(super) fn outlasted_by(&self) -> Option<u64> {
        match self.state {
            State::Ended(other) => other,
            _ => None,
        }
    }

    /// How many bytes the writer's peer hasn't acknowledged, while that is what it waits for: no
    /// event tells.
    pub(super) fn undelivered(&self) -> Option<usize> {
        match self.state {
            State::Delivering(count) => Some(count),
            _ => None,
        }
    }

    /// The reader's stream has failed with `error`: from now on this delivers what came before.
    pub(super) fn tear(&mut self, error: &io::Error) {
        self.torn = true;
        self.is_abandoned = is_shortage(error);
        if let State::Holding | State::Ending | State::Ended(_) = self.state {
            self.state = State::Delivering(0);
        }
    }

    /// Ready once the reader has ended, and from then on; once all is delivered if it has failed,
    /// which is returned once.
    pub(super) fn poll<R, W>(&mut self, reader: &mut R, writer: &mut W) -> Poll<End, CopyError>
    where
        R: Transport,
        W: Transport,
    {
        loop {
            let was_torn = self.torn;
            match self.advance(reader, writer) {
                Err(CopyError::Read(e)) => {
                    self.torn = true;
                    self.state = State::Delivering(0);
                    if !was_torn {
                        return Err(CopyError::Read(e));
                    }
                }
                Err(CopyError::Noticed(e)) => {
                    self.tear(&e);
                    if !was_torn {
                        return Err(CopyError::Noticed(e));
                    }
                }
                polled => return polled,
            }
        }
    }

    fn advance<R, W>(&mut self, reader: &mut R, writer: &mut W) -> Poll<End, CopyError>
    where
        R: Transport,
        W: Transport,
    {
        let enough = self.carried + SHARE;
        for _ in 0..ROUNDS {
            // What was read earlier goes first, in every state.
            if !self.backlog.is_empty()
                && !self.backlog.write_to(writer, &mut self.carried)?.is_ready()
            {
                return stalled(reader);
            }
            let round = match &mut self.state {
                State::Copying => {
                    if let Some(loan) = self.borrow_pipe(reader, writer) {
                        self.state = State::Splicing(loan);
                        continue;
                    }
                    copy::round(reader, writer, &mut self.backlog, &mut self.carried)?
                }
                State::Splicing(loan) => match loan.round(reader, writer, &mut self.carried)? {
                    Spliced::Progress(round) => round,
                    Spliced::Copy => {
                        copy::round(reader, writer, &mut self.backlog, &mut self.carried)?
                    }
                    Spliced::Refused => {
                        loan.take(&mut self.backlog).map_err(CopyError::Write)?;
                        self.splice = Splice::Never;
                        self.state = State::Copying;
                        continue;
                    }
                },
                State::Holding => return ended(reader, End::Held),
                State::Ending => {
                    try_ready!(writer.shutdown().map_err(CopyError::Write));
                    self.state = State::Ended(None);
                    continue; // `Ended` looks for an error: there may be no other poll
                }
                State::Ended(_) => return ended(reader, End::Passed),
                State::Delivering(count) => {
                    writer.check().map_err(CopyError::Write)?;
                    *count = writer.unacknowledged();
                    return Ok(match count {
                        0 => Async::Ready(End::Held),
                        _ => Async::NotReady,
                    });
                }
            };
            match round {
                Progress::Moved { filled: true } => self.full = FULL.min(self.full + 1),
                Progress::Moved { filled: false } => self.full = 0,
                Progress::Blocked => {
                    self.give_back_pipe();
                    match &self.state {
                        State::Splicing(_) => return stalled(reader), // the pipe isn't empty
                        _ if self.is_abandoned => self.state = State::Delivering(0),
                        _ => return Ok(Async::NotReady),
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
        task::current().notify();
        Ok(Async::NotReady)
    }

    /// A pipe, if this direction shall splice now, can, and one is to be had.
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
        if !wanted || !reader.can_splice() || !writer.can_splice() || reader.is_blocked() {
            return None;
        }
        let loan = PooledPipe::new();
        if loan.is_none() {
            self.full = 0; // ask again after as many full buffers
        }
        loan
    }

    /// An empty pipe isn't held while there is nothing to move; bytes in one stay where they are.
    fn give_back_pipe(&mut self) {
        if let State::Splicing(loan) = &self.state {
            if loan.is_empty() {
                // A burst that was worth a pipe is likely to be followed by another.
                self.full = if loan.was_worth_it() { FULL } else { 0 };
                self.state = State::Copying;
            }
        }
    }
}

/// Nothing is read for now, so a reader that was reset wouldn't be noticed by its reads.
fn stalled<R: Transport>(reader: &mut R) -> Poll<End, CopyError> {
    reader.check().map_err(CopyError::Noticed)?;
    Ok(Async::NotReady)
}

/// The same of a reader that has ended.
fn ended<R: Transport>(reader: &mut R, end: End) -> Poll<End, CopyError> {
    stalled(reader).map(|_| Async::Ready(end))
}
