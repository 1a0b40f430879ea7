//! Connecting.

use std::io;
use std::mem;
use std::net;

use drop_in_io::Ready;
use futures::{Async, Future, Poll};

use super::TcpStream;
use crate::reactor::Source;

/// A TCP connection that is being opened; made by [`TcpStream::connect`].
///
/// Resolves to the stream. Dropping it closes the socket.
///
/// # Errors
///
/// With the system's error, e.g. `ConnectionRefused`, or when the `Core` is dropped first.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct TcpStreamNew {
    state: State,
}

enum State {
    Connecting(Source<net::TcpStream>),
    Failed(io::Error),
    Done,
}

impl TcpStreamNew {
    pub(super) fn new(begun: io::Result<Source<net::TcpStream>>) -> TcpStreamNew {
        TcpStreamNew {
            state: match begun {
                Ok(io) => State::Connecting(io),
                Err(error) => State::Failed(error),
            },
        }
    }
}

impl Future for TcpStreamNew {
    type Item = TcpStream;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<TcpStream, io::Error> {
        if let State::Connecting(io) = &self.state {
            if !io.poll_events(Ready::WRITE)?.is_ready() {
                return Ok(Async::NotReady);
            }
        }
        match mem::replace(&mut self.state, State::Done) {
            State::Connecting(io) => match io.get_ref().take_error()? {
                Some(error) => Err(error),
                None => Ok(Async::Ready(TcpStream::from(io))),
            },
            State::Failed(error) => Err(error),
            State::Done => panic!("TcpStreamNew was polled after it had resolved"),
        }
    }
}
