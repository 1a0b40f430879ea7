//! TLS over any other stream, with tokio-openssl, where the root drives OpenSSL itself.
//!
//! Must not hold settings or the meaning of OpenSSL's errors: both are in `upstream::tls`.
//! `tls` makes the stream and runs its handshake.

use std::future::Future;
use std::io;
use std::pin::{pin, Pin};
use std::task::{ready, Context, Poll};

use openssl::ssl::{self, SslRef};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;
use tokio_openssl::SslStream;

use super::transport::Transport;
use ptunnel_core::upstream::tls::{explain, is_alert, Ending, TlsSetup, ROUNDS};
use ptunnel_proto::debug_by_name;
use ptunnel_proto::values::TlsPeer;

/// ptunnel's side of a TLS connection. The [`handshake`](TlsStream::handshake) comes first.
///
/// The stream ends with the peer's close_notify. If the connection ends without one, [`Ending`]
/// decides whether that is an end too, or an error because bytes can be missing.
pub struct TlsStream<S> {
    stream: SslStream<Below<S>>,
    ending: Ending,
}

/// The stream below TLS, and the peer of the TLS connection.
///
/// tokio-openssl sends FIN after close_notify. But the FIN of a TLS connection to a destination
/// reaches a proxy first, and some proxies, such as squid, then drop the reply: a destination gets
/// close_notify alone.
struct Below<S> {
    stream: S,
    peer: TlsPeer,
    /// The task is woken once the last call can continue.
    waits: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    /// Returns a stream that has sent nothing yet.
    ///
    /// # Errors
    ///
    /// OpenSSL's, if it lacks memory.
    pub fn new(session: TlsSetup, stream: S) -> io::Result<TlsStream<S>> {
        let below = Below {
            stream,
            peer: session.peer,
            waits: false,
        };
        Ok(TlsStream {
            stream: SslStream::new(session.ssl, below)?,
            ending: session.ending,
        })
    }

    /// Runs the handshake, after which the stream can be read and written.
    ///
    /// # Errors
    ///
    /// OpenSSL's, for [`VerifyReport::explain`](ptunnel_core::upstream::tls::VerifyReport::explain).
    pub async fn handshake(&mut self) -> Result<(), ssl::Error> {
        Pin::new(&mut self.stream).do_handshake().await
    }

    /// Returns the parameters of the connection, of which the version is `TLSv1.3`, for example.
    pub fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    fn peer(&self) -> TlsPeer {
        self.stream.get_ref().peer
    }

    /// Returns the error of a failed write. A peer that rejects the client's certificate sends its
    /// alert after the handshake (TLS 1.3) and resets the connection. Then a write fails while the
    /// alert, which explains the failure, is still unread.
    fn last_word(&mut self, cx: &mut Context<'_>, error: io::Error) -> io::Error {
        self.ending.note_failure();
        let mut byte = [0];
        if let Poll::Ready(Err(e)) =
            Pin::new(&mut self.stream).poll_read(cx, &mut ReadBuf::new(&mut byte))
        {
            let alert = e.downcast::<ssl::Error>().ok().filter(is_alert);
            if let Some(alert) = alert {
                return explain(alert, self.peer());
            }
        }
        explained(error, self.peer())
    }

    /// Is ready once there is something to read: `true` means data, `false` the end.
    ///
    /// tokio-openssl's `poll_read` treats the connection's end as the end of TLS, and continues for
    /// as long as records without data arrive, such as session tickets. A peek does neither; for a
    /// record without data it returns like a call that would block, but no task will be woken.
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        for _ in 0..ROUNDS {
            if self.stream.ssl().pending() > 0 {
                return Poll::Ready(Ok(true));
            }
            self.stream.get_mut().waits = false;
            match Pin::new(&mut self.stream).poll_peek(cx, &mut [0]) {
                Poll::Ready(Ok(_)) => return Poll::Ready(Ok(true)),
                Poll::Ready(Err(e)) => return Poll::Ready(self.ending.judge(e).map(|()| false)),
                Poll::Pending if self.stream.get_ref().waits => return Poll::Pending,
                Poll::Pending => {}
            }
        }
        // Other tasks run first. Not by the waker: see the relay.
        pin!(yield_now()).poll(cx).map(|()| Ok(true))
    }
}

/// Returns OpenSSL's error inside an error of tokio-openssl, as the root reports it.
fn explained(error: io::Error, peer: TlsPeer) -> io::Error {
    match error.downcast::<ssl::Error>() {
        Ok(error) => explain(error, peer),
        Err(error) => error,
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !ready!(this.poll_data(cx))? {
            return Poll::Ready(Ok(()));
        }
        let read = ready!(Pin::new(&mut this.stream).poll_read(cx, buffer));
        Poll::Ready(read.map_err(|e| explained(e, this.peer())))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes));
        Poll::Ready(written.map_err(|e| this.last_word(cx, e)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Sends close_notify and then, to a proxy or a client, shuts down the stream underneath, which is
    /// FIN on a socket: nothing can follow a close_notify (RFC 8446 §6.1), and a peer that looks at TCP
    /// alone sees the end too. Bytes that the peer still sends can be read.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.stream).poll_shutdown(cx)) {
            Err(e) if self.ending.is_moot(&e) => Poll::Ready(Ok(())),
            ended => Poll::Ready(ended.map_err(|e| explained(e, self.peer()))),
        }
    }
}

impl<S: Transport> Transport for TlsStream<S> {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let checked = self.stream.get_mut().stream.check(cx);
        if checked.is_err() {
            self.ending.note_failure();
        }
        checked
    }

    fn unacknowledged(&self) -> usize {
        self.stream.get_ref().stream.unacknowledged()
    }

    fn reset(&mut self) {
        self.stream.get_mut().stream.reset();
    }
}

debug_by_name!(TlsStream<S>);

impl<S: AsyncRead + Unpin> AsyncRead for Below<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Below<S> {
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
            TlsPeer::Proxy | TlsPeer::Client => Pin::new(&mut self.stream).poll_shutdown(cx),
            TlsPeer::Destination | TlsPeer::PacServer => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests;
