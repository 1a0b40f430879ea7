//! The stream to a proxy or a destination: mostly a bare socket, which the relay knows best.

use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use openssl::ssl::{self, ErrorCode};
use ptunnel::config::TlsPeer;
use ptunnel::tls::{explain, is_alert};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_openssl::SslStream;

use super::{Forwarding, Rewind, Tcp, Transport};

/// A bare socket, or TLS over one, or over TLS: each proxy of a chain may speak its own. And what
/// lets one request through to any of these.
///
/// Good as it is for the few bytes of an opening. A tunnel's millions go over what
/// [`bare`](Upstream::bare) makes of it, so that the usual case costs nothing for the other.
///
/// The root drives OpenSSL itself; here tokio-openssl does.
pub enum Upstream {
    /// The socket itself.
    Bare(Tcp),
    /// TLS over it, or over another such stream, after its handshake.
    Secure(Box<Secured>),
    /// Any of these, for one request.
    Forwarding(Box<Forwarding<Rewind<Upstream>>>),
}

type Secured = SslStream<Below>;

/// What TLS goes over, and whom it is spoken with.
///
/// tokio-openssl ends it behind its own close_notify. But a destination isn't the next to see a FIN,
/// and squid for one takes the answer away with it: to a destination close_notify alone is the end.
pub struct Below {
    stream: Rewind<Upstream>,
    peer: TlsPeer,
}

impl Below {
    /// This stream, for TLS with such a peer.
    pub fn new(stream: Rewind<Upstream>, peer: TlsPeer) -> Below {
        Below { stream, peer }
    }
}

impl AsyncRead for Below {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Below {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
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
    /// The socket, if it is bare, with what was put back in front of it.
    ///
    /// # Errors
    ///
    /// The stream as it was, if it isn't.
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

/// OpenSSL's error inside an error of tokio-openssl's, in the words of the root.
fn explained(error: io::Error, peer: TlsPeer) -> io::Error {
    match error.downcast::<ssl::Error>() {
        Ok(error) => explain(error, peer),
        Err(error) => error,
    }
}

/// Whether an end is TLS's own: tokio-openssl reads that of the connection as one too, where
/// something may be missing.
fn poll_end(stream: &mut Secured, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    match ready!(Pin::new(&mut *stream).poll_peek(cx, &mut [0])) {
        Err(e) if e.code() != ErrorCode::ZERO_RETURN => {
            Poll::Ready(Err(explain(e, stream.get_ref().peer)))
        }
        _ => Poll::Ready(Ok(())),
    }
}

/// What a peer said before it reset the connection, so that a write failed: TLS 1.3's answer to our
/// certificate comes behind the handshake.
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
                let before = buffer.filled().len();
                let read = ready!(Pin::new(&mut **stream).poll_read(cx, buffer));
                read.map_err(|e| explained(e, stream.get_ref().peer))?;
                if buffer.filled().len() == before {
                    return poll_end(stream, cx);
                }
                Poll::Ready(Ok(()))
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
            Upstream::Secure(stream) => {
                let ended = Pin::new(&mut **stream).poll_shutdown(cx);
                ended.map_err(|e| explained(e, stream.get_ref().peer))
            }
            Upstream::Forwarding(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}

/// As far as it is true of both: the relay asks the bare one itself.
impl Transport for Upstream {
    fn error(&self) -> Option<io::Error> {
        match self {
            Upstream::Forwarding(stream) if stream.is_answered() => None,
            _ => self.socket().error(),
        }
    }

    async fn failed(&self) -> io::Error {
        self.socket().failed().await
    }

    fn reset(&self) {
        self.socket().reset()
    }
}
