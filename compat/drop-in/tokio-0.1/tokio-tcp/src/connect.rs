//! Connecting.

use std::io;
use std::mem;
use std::net;

use futures::{try_ready, Async, Future, Poll};
use tokio_reactor::Watched;

use crate::TcpStream;

/// A TCP connection that is being opened; made by [`TcpStream::connect`].
///
/// Resolves to the stream. Dropping it closes the socket.
///
/// # Errors
///
/// With the system's error, e.g. `ConnectionRefused`, or when the reactor is dropped first.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct ConnectFuture {
    state: State,
}

#[derive(Debug)]
enum State {
    Connecting(Watched<net::TcpStream>),
    Failed(io::Error),
    Done,
}

impl ConnectFuture {
    pub(crate) fn new(begun: io::Result<Watched<net::TcpStream>>) -> ConnectFuture {
        ConnectFuture {
            state: match begun {
                Ok(io) => State::Connecting(io),
                Err(error) => State::Failed(error),
            },
        }
    }
}

impl Future for ConnectFuture {
    type Item = TcpStream;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<TcpStream, io::Error> {
        if let State::Connecting(io) = &self.state {
            try_ready!(io.poll_write_ready());
        }
        match mem::replace(&mut self.state, State::Done) {
            State::Connecting(io) => match io.get_ref().take_error()? {
                Some(error) => Err(error),
                None => Ok(Async::Ready(TcpStream::from(io))),
            },
            State::Failed(error) => Err(error),
            State::Done => panic!("can't poll TCP stream twice"),
        }
    }
}
