//! A stream in TLS, over any other stream.

use std::fmt;
use std::io::{self, Read, Write};

use futures::{task, try_ready, Async, Poll};
use openssl::ssl::{self, ErrorCode, SslRef, SslStream};
use tokio_io::{AsyncRead, AsyncWrite};

use super::transport::poll_io;
use super::Transport;
use crate::config::TlsPeer;
use crate::upstream::tls::{explain, is_alert, is_without_data, Ending, TlsSetup, ROUNDS};

/// The client's side of a TLS connection; [`handshake`](TlsStream::poll_handshake) first.
///
/// The peer's close_notify is its end. Whether that of the connection alone is one, too,
/// [`Ending`] judges; otherwise it is an error, since something may be missing.
pub struct TlsStream<S> {
    stream: SslStream<S>,
    peer: TlsPeer,
    ending: Ending,
    /// The last read has something to answer to the peer (a KeyUpdate), and no room for it.
    answers: bool,
    /// Our close_notify is on its way.
    ended: bool,
}

impl<S: Read + Write> TlsStream<S> {
    /// Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// When OpenSSL has no memory.
    pub fn new(session: TlsSetup, stream: S) -> io::Result<TlsStream<S>> {
        Ok(TlsStream {
            stream: SslStream::new(session.ssl, stream)?,
            peer: session.peer,
            ending: session.ending,
            answers: false,
            ended: false,
        })
    }

    /// Goes on with the handshake; ready once bytes may be read and written.
    ///
    /// # Errors
    ///
    /// OpenSSL's, for [`VerifyReport::explain`](crate::upstream::tls::VerifyReport::explain).
    pub fn poll_handshake(&mut self) -> Poll<(), ssl::Error> {
        match self.stream.connect() {
            Ok(()) => Ok(Async::Ready(())),
            Err(e) if would_block(&e) => Ok(Async::NotReady),
            Err(e) => Err(e),
        }
    }

    /// Returns the parameters of the connection, of which the version is `TLSv1.3`, for example.
    pub fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    /// Why a write failed. A peer that doesn't like our certificate says so behind the handshake
    /// (TLS 1.3) and resets the connection: then the write fails, and the alert is still unread.
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

    /// Repeats the call while OpenSSL meets records without data, such as session tickets. A peer
    /// that sends nothing else has to wait until others had their turn.
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
    /// After `WouldBlock` the next write must begin with the same bytes: they are encrypted
    /// already. The relay's backlog, and whoever else writes what he has in order, does so.
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
    /// Sends close_notify and then, to a proxy, ends the stream underneath, with FIN on a socket:
    /// nothing may follow a close_notify (RFC 8446 §6.1), and a peer that only looks at TCP knows as
    /// well. What it still sends can be read.
    ///
    /// A destination isn't the next to see that FIN, and squid for one takes the answer away with
    /// it: close_notify alone is its end.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        if !self.ended {
            match self.stream.shutdown() {
                Ok(_) => {}
                Err(ref e) if e.code() == ErrorCode::ZERO_RETURN => {}
                Err(e) => {
                    let error = explain(e, self.peer);
                    if !self.ending.is_moot(&error) {
                        // Only a poll that would block comes back to this.
                        try_ready!(poll_io(Err(error)));
                    }
                }
            }
            self.ended = true;
        }
        match self.peer {
            TlsPeer::Proxy => self.stream.get_mut().shutdown(),
            TlsPeer::Destination => Ok(Async::Ready(())),
        }
    }
}

impl<S: Transport> Transport for TlsStream<S> {
    /// What OpenSSL has read and decrypted already, no event will ever tell of.
    ///
    /// `is_drained` stays `false`: OpenSSL reads a record by its length, so that a read which came
    /// short says nothing about what is behind it.
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

impl<S> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream")
            .field("ended", &self.ended)
            .finish()
    }
}

#[cfg(test)]
mod tests;
