//! Connecting.

use std::io;
use std::mem;
use std::net::{self, SocketAddr};

use futures::{Async, Future, Poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::TcpStream;
use crate::reactor::Readiness;

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
    Connecting(Readiness<net::TcpStream>),
    Failed(io::Error),
    Done,
}

impl TcpStreamNew {
    pub(super) fn new(begun: io::Result<Readiness<net::TcpStream>>) -> TcpStreamNew {
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
            if !io.poll_connected()?.is_ready() {
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

/// Starts to connect a new socket.
pub(super) fn begin(addr: &SocketAddr) -> io::Result<net::TcpStream> {
    let socket = Socket::new(
        Domain::for_address(*addr),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    begin_with(socket, addr)
}

/// Starts to connect `socket`.
pub(super) fn begin_with(socket: Socket, addr: &SocketAddr) -> io::Result<net::TcpStream> {
    socket.set_nonblocking(true)?;
    match socket.connect(&(*addr).into()) {
        Ok(()) => {}
        Err(error) if is_in_progress(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into())
}

fn is_in_progress(error: &io::Error) -> bool {
    // std has no stable `ErrorKind` for it.
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::EINPROGRESS)
}
