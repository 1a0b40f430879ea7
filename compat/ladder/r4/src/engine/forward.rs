//! The stream of a forwarded request (`http://` over `--serve-proxy`): the destination gets that
//! one request, and the client gets the reply to it.
//!
//! Invariant: no byte after the request is sent, and no byte after the reply is read, even if the
//! client or the server continues to send.

use std::io::{self, Read, Write};
use std::task::Context;

use futures::{Async, Poll};
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::engine::io::{Rewind, Transport, Upstream};
use crate::proto::{Reply, RequestBoundary};

/// Returns a stream that carries one request and its reply.
///
/// Bytes written after the request are discarded, as if they had been sent. Reads end after the
/// reply, whether or not the server ends the connection. Once both are complete, the stream is shut
/// down. A FIN of the client before that isn't passed on, since some servers, such as squid, would
/// drop the reply; the end of an incomplete request is passed on. Reads and writes fail with
/// `InvalidData` if the end of the message can't be determined.
pub fn forwarding<S>(stream: Rewind<Upstream<S>>, boundary: RequestBoundary) -> Rewind<Upstream<S>>
where
    S: Transport + 'static,
{
    let stream = AsIo01::new(stream, ShutdownPolicy::Fin);
    let forwarding = Forwarding::new(stream, boundary);
    // Its own `shutdown` passes the end on.
    let forwarding = AsTokio::with_half_close(forwarding, |_| Ok(()));
    Rewind::new(Upstream::Layered(Box::new(forwarding)), Vec::new())
}

struct Forwarding<S> {
    stream: S,
    boundary: RequestBoundary,
    reply: Reply,
    /// The stream was shut down, or can't be written to any more.
    has_ended: bool,
}

impl<S> Forwarding<S> {
    fn new(stream: S, boundary: RequestBoundary) -> Forwarding<S> {
        Forwarding {
            stream,
            boundary,
            reply: boundary.reply(),
            has_ended: false,
        }
    }
}

impl<S: AsyncWrite> Forwarding<S> {
    /// Shuts the stream down once request and reply are complete.
    fn settle(&mut self) {
        if self.reply.has_ended() && self.boundary.has_ended() && !self.has_ended {
            self.has_ended = true;
            // If the stream can't send its end now, the connection is closed without one.
            let _ = self.stream.shutdown();
        }
    }
}

impl<S: AsyncWrite + Read> Read for Forwarding<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            if let Some(count) = self.reply.take(buffer)? {
                return Ok(count);
            }
            let count = self.stream.read(buffer)?;
            let count = self.reply.feed(&buffer[..count]);
            self.settle();
            if count > 0 {
                return Ok(count);
            }
        }
        Ok(0)
    }
}

impl<S: AsyncWrite> Write for Forwarding<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut boundary = self.boundary;
        let count = boundary.take(bytes)?;
        if count > 0 && !self.has_ended {
            match self.stream.write(&bytes[..count]) {
                Ok(written) if written < count => {
                    self.boundary.take(&bytes[..written])?;
                    return Ok(written);
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Err(e),
                // The server has replied and doesn't read the rest of the request.
                Err(_) if self.reply.has_ended() => self.has_ended = true,
                Err(e) => return Err(e),
            }
        }
        self.boundary = boundary;
        self.settle();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl<S: AsyncRead + AsyncWrite> AsyncRead for Forwarding<S> {}

impl<S: AsyncWrite> AsyncWrite for Forwarding<S> {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        if self.has_ended || self.boundary.has_ended() {
            return Ok(Async::Ready(()));
        }
        match self.stream.shutdown() {
            Err(_) if self.reply.has_ended() => Ok(Async::Ready(())),
            ended => ended,
        }
    }
}

/// Can't be spliced, since it looks at each byte.
impl<S: Transport> Transport for AsTokio<Forwarding<AsIo01<S>>> {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Forwarding { stream, reply, .. } = self.get_mut();
        if reply.has_ended() {
            return Ok(());
        }
        stream.get_mut().check(cx)
    }

    fn unacknowledged(&self) -> usize {
        self.get_ref().stream.get_ref().unacknowledged()
    }

    fn reset(&mut self) {
        self.get_mut().stream.get_mut().reset()
    }
}
