//! Connecting.

use std::io;
use std::net;

use drop_in_io::Connecting;
use futures::{Future, Poll};
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
    state: Connecting<Watched<net::TcpStream>>,
}

impl ConnectFuture {
    pub(crate) fn new(begun: io::Result<Watched<net::TcpStream>>) -> ConnectFuture {
        ConnectFuture {
            state: begun.into(),
        }
    }
}

impl Future for ConnectFuture {
    type Item = TcpStream;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<TcpStream, io::Error> {
        let connected = self.state.poll(
            Watched::poll_write_ready,
            |io| io.get_ref().take_error(),
            "can't poll TCP stream twice",
        )?;
        Ok(connected.map(TcpStream::from))
    }
}
