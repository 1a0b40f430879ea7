//! Listening sockets that are registered with one thread's reactor.
//!
//! ```text
//!   BoundSocket (any thread) ──register──▶ Acceptor (its reactor's thread) ──▶ Sockets
//! ```

use std::io;
use std::net::SocketAddr;

use futures::{Async, Poll};

use super::reactor::{Readiness, Registration};
use super::{BoundSocket, Handle, Socket};
use ptunnel_core::os::sys;

impl BoundSocket {
    pub(crate) fn register(self, handle: &Handle) -> io::Result<Acceptor> {
        let registration = handle.register(&self.io, Readiness::READ)?;
        Ok(Acceptor {
            registration,
            listening: self,
            handle: handle.clone(),
        })
    }
}

/// A listening socket that is registered with a reactor.
#[derive(Debug)]
pub(crate) struct Acceptor {
    // Dropped first: the descriptor is deregistered before it is closed.
    registration: Registration,
    listening: BoundSocket,
    handle: Handle,
}

impl Acceptor {
    /// Accepts the next client; its address is `None` on a Unix socket.
    ///
    /// # Errors
    ///
    /// All errors of accept(2), including those of clients that have left.
    pub(crate) fn poll_accept(&mut self) -> Poll<(Socket, Option<SocketAddr>), io::Error> {
        if let Async::NotReady = self.registration.poll_ready(Readiness::READ) {
            return Ok(Async::NotReady);
        }
        match sys::accept(&self.listening.io) {
            Ok((io, address)) => {
                let is_unix = self.listening.path.is_some();
                let socket = Socket::new(io, is_unix, &self.handle)?;
                Ok(Async::Ready((socket, address.as_socket())))
            }
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.registration.would_block(Readiness::READ);
                Ok(Async::NotReady)
            }
            Err(e) => Err(e),
        }
    }

    /// Returns the address or path for log lines.
    pub(crate) fn name(&self) -> String {
        self.listening.name()
    }
}
