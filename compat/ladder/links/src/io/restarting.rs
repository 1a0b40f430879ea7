//! Calls that a signal interrupts.

use std::future::Future;
use std::io;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Transport;

/// A stream whose calls are made again when a signal has interrupted them.
///
/// tokio hands EINTR to its caller, and tokio-openssl and `AsyncReadExt` hand it on: a tunnel would
/// be cut.
#[derive(Debug)]
pub struct Restarting<S>(S);

impl<S> Restarting<S> {
    /// Reads from and writes to `stream`.
    pub fn new(stream: S) -> Restarting<S> {
        Restarting(stream)
    }

    /// Returns the stream.
    pub fn get_ref(&self) -> &S {
        &self.0
    }
}

fn is_interrupted<T>(answer: &io::Result<T>) -> bool {
    matches!(answer, Err(e) if e.kind() == io::ErrorKind::Interrupted)
}

/// Calls until no signal interrupts it.
fn restarted<T>(mut call: impl FnMut() -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Poll::Ready(answer) if is_interrupted(&answer) => {}
            answer => return answer,
        }
    }
}

/// Calls likewise; `None` if the call wasn't tried.
fn restarted_now<T>(mut call: impl FnMut() -> Option<io::Result<T>>) -> Option<io::Result<T>> {
    loop {
        match call() {
            Some(answer) if is_interrupted(&answer) => {}
            answer => return answer,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Restarting<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        restarted(|| Pin::new(&mut self.0).poll_read(cx, buffer))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Restarting<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        restarted(|| Pin::new(&mut self.0).poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl<S: Transport> Transport for Restarting<S> {
    fn can_splice(&self) -> bool {
        self.0.can_splice()
    }

    fn poll_readable<T>(
        &self,
        cx: &mut Context<'_>,
        mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        restarted(|| self.0.poll_readable(cx, &mut call))
    }

    fn poll_writable<T>(
        &self,
        cx: &mut Context<'_>,
        mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        restarted(|| self.0.poll_writable(cx, &mut call))
    }

    fn read_now(&self, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        restarted_now(|| self.0.read_now(buffer))
    }

    fn write_now(&self, bytes: &[u8]) -> Option<io::Result<usize>> {
        restarted_now(|| self.0.write_now(bytes))
    }

    fn error(&self) -> Option<io::Error> {
        self.0.error()
    }

    fn failed(&self) -> impl Future<Output = io::Error> {
        self.0.failed()
    }

    fn unacknowledged(&self) -> usize {
        self.0.unacknowledged()
    }

    fn reset(&self) {
        self.0.reset();
    }
}
