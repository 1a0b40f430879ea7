//! The stream to a proxy or a destination: usually a bare socket, which the relay handles fastest.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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

impl<S: Transport> AsyncRead for Upstream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(self.inner()).poll_read(cx, buffer)
    }
}

impl<S: Transport> AsyncWrite for Upstream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.inner()).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.inner()).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.inner()).poll_shutdown(cx)
    }
}

impl<S: Transport> Transport for Upstream<S> {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        self.inner().check(cx)
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

    fn splice_from(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        self.inner().splice_from(cx, pipe, most)
    }

    fn splice_into(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        self.inner().splice_into(cx, pipe, most)
    }

    fn reset(&mut self) {
        self.inner().reset()
    }
}

debug_by_name!(Upstream<S>);
