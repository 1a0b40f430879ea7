//! The stream to a proxy or a destination: usually a bare socket, which the relay handles fastest.

use std::io::{self, Read, Write};

use futures::Poll;
use tokio_io::{AsyncRead, AsyncWrite};

use super::transport::Transport;
use super::{Rewind, Socket};
use ptunnel_core::os::sys::Pipe;
use ptunnel_proto::debug_by_name;

/// A bare socket, or a stream over one.
///
/// The enum is used while a tunnel is opened. The payload is carried by the socket that
/// [`bare`](Upstream::bare) returns, so the usual case has no overhead.
pub enum Upstream<S = Socket> {
    /// The socket itself.
    Bare(S),
    /// A stream of another kind over it, such as TLS.
    Layered(Box<dyn Transport>),
}

impl<S: Transport> Upstream<S> {
    /// Returns the socket if it is bare, with the bytes that were put back in front of it.
    ///
    /// # Errors
    ///
    /// The stream itself if it is layered.
    pub fn bare(stream: Rewind<Upstream<S>>) -> Result<Rewind<S>, Rewind<Upstream<S>>> {
        match stream.into_parts() {
            (Upstream::Bare(socket), front) => Ok(Rewind::new(socket, front)),
            (layered, front) => Err(Rewind::new(layered, front)),
        }
    }

    fn inner(&mut self) -> &mut dyn Transport {
        match self {
            Upstream::Bare(socket) => socket,
            Upstream::Layered(stream) => &mut **stream,
        }
    }
}

impl<S: Transport> Read for Upstream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner().read(buffer)
    }
}

impl<S: Transport> Write for Upstream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}

impl<S: Transport> AsyncRead for Upstream<S> {}

impl<S: Transport> AsyncWrite for Upstream<S> {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        self.inner().shutdown()
    }
}

impl<S: Transport> Transport for Upstream<S> {
    fn is_blocked(&mut self) -> bool {
        self.inner().is_blocked()
    }

    fn is_drained(&mut self) -> bool {
        self.inner().is_drained()
    }

    fn check(&mut self) -> io::Result<()> {
        self.inner().check()
    }

    fn unacknowledged(&self) -> usize {
        match self {
            Upstream::Bare(socket) => socket.unacknowledged(),
            Upstream::Layered(stream) => stream.unacknowledged(),
        }
    }

    fn can_splice(&self) -> bool {
        match self {
            Upstream::Bare(socket) => socket.can_splice(),
            Upstream::Layered(stream) => stream.can_splice(),
        }
    }

    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        self.inner().splice_from(pipe, most)
    }

    fn splice_into(&mut self, pipe: &Pipe, most: usize) -> Poll<usize, io::Error> {
        self.inner().splice_into(pipe, most)
    }

    fn reset(&mut self) {
        self.inner().reset()
    }
}

debug_by_name!(Upstream<S>);
