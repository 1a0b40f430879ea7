//! TLS over any other stream, with OpenSSL.
//!
//! Must not hold settings or the meaning of OpenSSL's errors: both are in `upstream::tls`.
//! `tls` makes the stream and runs its handshake.

use std::io::{self, Read, Write};

use futures::{task, try_ready, Async, Poll};
use openssl::ssl::{self, ErrorCode, SslRef, SslStream};
use tokio_io::{AsyncRead, AsyncWrite};

use super::transport::{poll_io, Transport};
use ptunnel_core::upstream::tls::{explain, is_alert, is_without_data, Ending, TlsSetup, ROUNDS};
use ptunnel_proto::debug_by_name;
use ptunnel_proto::values::TlsPeer;

/// ptunnel's side of a TLS connection. The [`handshake`](TlsStream::poll_handshake) comes first.
///
/// The stream ends with the peer's close_notify. If the connection ends without one, [`Ending`]
/// decides whether that is an end too, or an error because bytes can be missing.
pub struct TlsStream<S> {
    stream: SslStream<S>,
    peer: TlsPeer,
    ending: Ending,
    /// The last read must send a reply to the peer (a KeyUpdate), and the stream had no room for it.
    answers: bool,
    /// The close_notify was sent.
    ended: bool,
}

impl<S: Read + Write> TlsStream<S> {
    /// Returns a stream that has sent nothing yet.
    ///
    /// # Errors
    ///
    /// OpenSSL's, if it lacks memory.
    pub fn new(session: TlsSetup, stream: S) -> io::Result<TlsStream<S>> {
        Ok(TlsStream {
            stream: SslStream::new(session.ssl, stream)?,
            peer: session.peer,
            ending: session.ending,
            answers: false,
            ended: false,
        })
    }

    /// Continues the handshake; ready once the stream can be read and written.
    ///
    /// # Errors
    ///
    /// OpenSSL's, for [`VerifyReport::explain`](ptunnel_core::upstream::tls::VerifyReport::explain).
    pub fn poll_handshake(&mut self) -> Poll<(), ssl::Error> {
        match self.stream.do_handshake() {
            Ok(()) => Ok(Async::Ready(())),
            Err(e) if would_block(&e) => Ok(Async::NotReady),
            Err(e) => Err(e),
        }
    }

    /// Returns the parameters of the connection, of which the version is `TLSv1.3`, for example.
    pub fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    /// Returns the error of a failed write. A peer that rejects the client's certificate sends its
    /// alert after the handshake (TLS 1.3) and resets the connection. Then a write fails while the
    /// alert, which explains the failure, is still unread.
    fn last_word(&mut self, error: ssl::Error) -> io::Error {
        if !would_block(&error) {
            self.ending.note_failure();
            match self.stream.ssl_read(&mut [0]) {
                Err(alert) if is_alert(&alert) => return explain(alert, self.peer),
                _ => {}
            }
        }
        explain(error, self.peer)
    }

    /// Repeats the call while OpenSSL meets records without data, such as session tickets. After
    /// [`ROUNDS`] of them the task yields.
    fn attempt(
        &mut self,
        mut call: impl FnMut(&mut SslStream<S>) -> Result<usize, ssl::Error>,
    ) -> Result<Option<usize>, ssl::Error> {
        for _ in 0..ROUNDS {
            match call(&mut self.stream) {
                Err(ref e) if is_without_data(e) => {}
                answer => return answer.map(Some),
            }
        }
        task::current().notify();
        Ok(None)
    }
}

fn would_block(e: &ssl::Error) -> bool {
    let kind = e.io_error().map(io::Error::kind);
    kind == Some(io::ErrorKind::WouldBlock)
}

impl<S: Read + Write> Read for TlsStream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let answer = self.attempt(|stream| stream.ssl_read(buffer));
        self.answers = matches!(&answer, Err(e) if e.code() == ErrorCode::WANT_WRITE);
        match answer {
            Ok(Some(count)) => Ok(count),
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            Err(e) => self.ending.judge(e).map(|()| 0),
        }
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    /// After `WouldBlock` the next write must begin with the same bytes, which are encrypted
    /// already. Every caller does so, because it writes its bytes in order.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.attempt(|stream| stream.ssl_write(bytes)) {
            Ok(Some(count)) => Ok(count),
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            Err(e) => Err(self.last_word(e)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.get_mut().flush()
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncRead for TlsStream<S> {}

impl<S: AsyncRead + AsyncWrite> AsyncWrite for TlsStream<S> {
    /// Sends close_notify and then, to a proxy or a client, shuts down the stream underneath, which is
    /// FIN on a socket: nothing can follow a close_notify (RFC 8446 §6.1), and a peer that looks at TCP
    /// alone sees the end too. Bytes that the peer still sends can be read.
    ///
    /// A destination gets close_notify alone. The FIN would reach the proxy before it, and some
    /// proxies, such as squid, would drop the reply.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        if !self.ended {
            match self.stream.shutdown() {
                Ok(_) => {}
                Err(ref e) if e.code() == ErrorCode::ZERO_RETURN => {}
                Err(e) => {
                    let error = explain(e, self.peer);
                    if !self.ending.is_moot(&error) {
                        // Only after `WouldBlock` is this called again.
                        try_ready!(poll_io(Err(error)));
                    }
                }
            }
            self.ended = true;
        }
        match self.peer {
            TlsPeer::Proxy | TlsPeer::Client => self.stream.get_mut().shutdown(),
            TlsPeer::Destination | TlsPeer::PacServer => Ok(Async::Ready(())),
        }
    }
}

impl<S: Transport> Transport for TlsStream<S> {
    /// Returns `false` also for bytes that OpenSSL has decrypted already, which no event reports.
    ///
    /// `is_drained` stays `false`: OpenSSL reads record by record, so a short read doesn't mean that the
    /// socket is empty.
    fn is_blocked(&mut self) -> bool {
        !self.answers && self.stream.ssl().pending() == 0 && self.stream.get_mut().is_blocked()
    }

    fn check(&mut self) -> io::Result<()> {
        let checked = self.stream.get_mut().check();
        if checked.is_err() {
            self.ending.note_failure();
        }
        checked
    }

    fn unacknowledged(&self) -> usize {
        self.stream.get_ref().unacknowledged()
    }

    fn reset(&mut self) {
        self.stream.get_mut().reset();
    }
}

debug_by_name!(TlsStream<S>);

#[cfg(test)]
mod tests;
