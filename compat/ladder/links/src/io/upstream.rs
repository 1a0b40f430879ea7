//! The stream to a proxy or a destination: usually a bare socket, which the relay handles best.

use std::future::Future;
use std::io;
use std::pin::{pin, Pin};
use std::task::{ready, Context, Poll};

use openssl::ssl;
use ptunnel::config::TlsPeer;
use ptunnel::upstream::tls::{explain, is_alert, Ending, ROUNDS};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;
use tokio_openssl::SslStream;

use super::{Forwarding, Rewind, Tcp, Transport};

/// A bare socket, TLS over one or over TLS, since each proxy of a chain can have its own, or a stream
/// for one request over any of these.
///
/// Each call matches on the kind. The relay uses the socket that [`bare`](Upstream::bare) returns, so
/// that the usual tunnel doesn't pay for that.
///
/// The root drives OpenSSL itself; here tokio-openssl does.
pub enum Upstream {
    /// The socket itself.
    Bare(Tcp),
    /// TLS over it, or over another such stream, after its handshake.
    Secure(Box<Secured>),
    /// One of these, for one request.
    Forwarding(Box<Forwarding<Rewind<Upstream>>>),
}

type Secured = SslStream<Below>;

/// The stream below TLS, and the peer of the TLS connection.
///
/// tokio-openssl sends FIN after close_notify. But the next peer to see the FIN of a TLS connection to
/// a destination is a proxy, and some, such as squid, drop the reply then: close_notify alone is the
/// end for a destination.
pub struct Below {
    stream: Rewind<Upstream>,
    peer: TlsPeer,
    ending: Ending,
    /// The task is woken once the last call can go on.
    waits: bool,
}

impl Below {
    /// Returns this stream, for TLS with such a peer.
    pub fn new(stream: Rewind<Upstream>, peer: TlsPeer, ending: Ending) -> Below {
        Below {
            stream,
            peer,
            ending,
            waits: false,
        }
    }
}

impl AsyncRead for Below {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.waits |= polled.is_pending();
        polled
    }
}

impl AsyncWrite for Below {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.waits |= polled.is_pending();
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.peer {
            TlsPeer::Proxy => Pin::new(&mut self.stream).poll_shutdown(cx),
            TlsPeer::Destination => Poll::Ready(Ok(())),
        }
    }
}

impl Upstream {
    /// Returns the socket if it is bare, with the bytes that were put back in front of it.
    ///
    /// # Errors
    ///
    /// The stream itself, if it isn't a bare socket.
    pub fn bare(stream: Rewind<Upstream>) -> Result<Rewind<Tcp>, Rewind<Upstream>> {
        match stream.into_parts() {
            (Upstream::Bare(socket), front) => Ok(Rewind::new(socket, front)),
            (other, front) => Err(Rewind::new(other, front)),
        }
    }

    fn socket(&self) -> &Tcp {
        match self {
            Upstream::Bare(socket) => socket,
            Upstream::Secure(stream) => stream.get_ref().stream.get_ref().socket(),
            Upstream::Forwarding(stream) => stream.get_ref().get_ref().socket(),
        }
    }
}

/// Returns OpenSSL's error inside an error of tokio-openssl, as the root reports it.
fn explained(error: io::Error, peer: TlsPeer) -> io::Error {
    match error.downcast::<ssl::Error>() {
        Ok(error) => explain(error, peer),
        Err(error) => error,
    }
}

/// Is ready once there is something to be read: `true` means data, `false` the end.
///
/// tokio-openssl's `poll_read` takes the connection's end for the end of TLS, and goes on for as long
/// as records without data come, such as session tickets. A peek does neither; for a record without
/// data it returns like a call that would block, but no task will be woken.
fn poll_data(stream: &mut Secured, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
    for _ in 0..ROUNDS {
        if stream.ssl().pending() > 0 {
            return Poll::Ready(Ok(true));
        }
        stream.get_mut().waits = false;
        match Pin::new(&mut *stream).poll_peek(cx, &mut [0]) {
            Poll::Ready(Ok(_)) => return Poll::Ready(Ok(true)),
            Poll::Ready(Err(e)) => {
                return Poll::Ready(stream.get_ref().ending.judge(e).map(|()| false))
            }
            Poll::Pending if stream.get_ref().waits => return Poll::Pending,
            Poll::Pending => {}
        }
    }
    // Other tasks run first. Not by the waker: see the relay.
    pin!(yield_now()).poll(cx).map(|()| Ok(true))
}

/// Returns the alert that a peer sent before it reset the connection, so that a write failed: TLS
/// 1.3 judges the client's certificate after the handshake.
fn last_word(stream: &mut Secured, cx: &mut Context<'_>) -> Option<io::Error> {
    let mut byte = [0];
    match Pin::new(&mut *stream).poll_read(cx, &mut ReadBuf::new(&mut byte)) {
        Poll::Ready(Err(e)) => {
            let alert = e.downcast::<ssl::Error>().ok().filter(is_alert);
            alert.map(|e| explain(e, stream.get_ref().peer))
        }
        _ => None,
    }
}

impl AsyncRead for Upstream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Upstream::Bare(socket) => Pin::new(socket).poll_read(cx, buffer),
            Upstream::Secure(stream) => {
                if !ready!(poll_data(stream, cx))? {
                    return Poll::Ready(Ok(()));
                }
                let read = ready!(Pin::new(&mut **stream).poll_read(cx, buffer));
                Poll::Ready(read.map_err(|e| explained(e, stream.get_ref().peer)))
            }
            Upstream::Forwarding(stream) => Pin::new(&mut **stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Upstream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Upstream::Bare(socket) => Pin::new(socket).poll_write(cx, bytes),
            Upstream::Secure(stream) => {
                let written = Pin::new(&mut **stream).poll_write(cx, bytes);
                written.map_err(|e| {
                    stream.get_ref().ending.note_failure();
                    let last = last_word(stream, cx);
                    last.unwrap_or_else(|| explained(e, stream.get_ref().peer))
                })
            }
            Upstream::Forwarding(stream) => Pin::new(&mut **stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Upstream::Bare(socket) => Pin::new(socket).poll_flush(cx),
            Upstream::Secure(stream) => Pin::new(&mut **stream).poll_flush(cx),
            Upstream::Forwarding(stream) => Pin::new(&mut **stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Upstream::Bare(socket) => Pin::new(socket).poll_shutdown(cx),
            Upstream::Secure(stream) => match ready!(Pin::new(&mut **stream).poll_shutdown(cx)) {
                Err(e) if stream.get_ref().ending.is_moot(&e) => Poll::Ready(Ok(())),
                ended => Poll::Ready(ended.map_err(|e| explained(e, stream.get_ref().peer))),
            },
            Upstream::Forwarding(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}

/// The hints that are true of both; the relay uses the bare socket itself.
impl Transport for Upstream {
    fn error(&self) -> Option<io::Error> {
        match self {
            Upstream::Bare(socket) => socket.error(),
            Upstream::Secure(stream) => {
                let error = stream.get_ref().stream.error();
                if error.is_some() {
                    stream.get_ref().ending.note_failure();
                }
                error
            }
            Upstream::Forwarding(stream) if stream.is_answered() => None,
            Upstream::Forwarding(stream) => stream.get_ref().error(),
        }
    }

    fn unacknowledged(&self) -> usize {
        self.socket().unacknowledged()
    }

    async fn failed(&self) -> io::Error {
        self.socket().failed().await
    }

    fn reset(&self) {
        self.socket().reset()
    }
}

#[cfg(test)]
mod tests;
