//! The work as one hand-written future.

use std::io::{self, Read, Write};

use futures::{try_ready, Async, Future, Poll};
use tokio_io::try_nb;

use crate::work::{Message, Script};

/// ```text
/// Length ── 4 bytes ──▶ Body ── whole ──▶ Answer ── written ──▶ Length, or done after the last
/// ```
enum State {
    Length,
    Body,
    Answer,
}

/// Answers until the last message, and gives the script back.
pub struct Serve {
    /// Gone at the end.
    script: Option<Script>,
    message: Message,
    state: State,
    /// How much of the current part is done.
    done: usize,
}

impl Serve {
    pub fn new(script: Script) -> Serve {
        Serve {
            script: Some(script),
            message: Message::default(),
            state: State::Length,
            done: 0,
        }
    }

    fn read(&mut self) -> Poll<(), io::Error> {
        let script = self.script.as_mut().expect("polled after its end");
        let part = self.message.as_mut();
        while self.done < part.len() {
            let count = try_nb!(script.read(&mut part[self.done..]));
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.done += count;
        }
        self.done = 0;
        Ok(Async::Ready(()))
    }

    fn write(&mut self) -> Poll<(), io::Error> {
        let script = self.script.as_mut().expect("polled after its end");
        let part = self.message.as_ref();
        while self.done < part.len() {
            let count = try_nb!(script.write(&part[self.done..]));
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.done += count;
        }
        self.done = 0;
        Ok(Async::Ready(()))
    }
}

impl Future for Serve {
    type Item = Script;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Script, io::Error> {
        loop {
            self.state = match self.state {
                State::Length => {
                    try_ready!(self.read());
                    self.message.await_body();
                    State::Body
                }
                State::Body => {
                    try_ready!(self.read());
                    self.message.answer();
                    State::Answer
                }
                State::Answer => {
                    try_ready!(self.write());
                    if self.message.is_last() {
                        let script = self.script.take().expect("it was written to");
                        return Ok(Async::Ready(script));
                    }
                    self.message.await_length();
                    State::Length
                }
            }
        }
    }
}
