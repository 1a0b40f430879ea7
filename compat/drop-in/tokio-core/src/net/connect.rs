//! Connecting.

use std::io;
use std::net;

use drop_in_io::{Connecting, Ready};
use futures::{Future, Poll};

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
    state: Connecting<Source<net::TcpStream>>,
}

impl TcpStreamNew {
    pub(super) fn new(begun: io::Result<Source<net::TcpStream>>) -> TcpStreamNew {
        TcpStreamNew {
            state: begun.into(),
        }
    }
}

impl Future for TcpStreamNew {
    type Item = TcpStream;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<TcpStream, io::Error> {
        let connected = self.state.poll(
            |io| io.poll_events(Ready::WRITE),
            |io| io.get_ref().take_error(),
            "TcpStreamNew was polled after it had resolved",
        )?;
        Ok(connected.map(TcpStream::from))
    }
}
