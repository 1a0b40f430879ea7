//! A Unix socket whose short read doesn't mean that it is drained.

use std::io;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use rustix::net::{recv, RecvFlags};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

use super::Transport;

/// A Unix stream that is read until it would block.
///
/// tokio's takes a short read for a drained socket. But a read ends before a message with other
/// credentials or with descriptors (SCM_RIGHTS), and no event reports the bytes after that.
#[derive(Debug)]
pub struct UnixSocket(UnixStream);

impl From<UnixStream> for UnixSocket {
    fn from(stream: UnixStream) -> UnixSocket {
        UnixSocket(stream)
    }
}

impl Deref for UnixSocket {
    type Target = UnixStream;

    fn deref(&self) -> &UnixStream {
        &self.0
    }
}

impl AsyncRead for UnixSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let free = buffer.initialize_unfilled();
        let count = ready!(self.poll_readable(cx, |socket| {
            let received = recv(socket.as_fd(), &mut *free, RecvFlags::empty());
            Ok(received.map(|(_, count)| count)?)
        }))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for UnixSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
