//! Listening sockets that are registered with one thread's `Core`.
//!
//! ```text
//!   BoundSocket (any thread) ──register──▶ Acceptor (its Core's thread) ──▶ Sockets
//! ```

use std::io;
use std::net::{self, SocketAddr};

use futures::{Async, Poll};
use tokio_core::net::TcpListener;

use super::{poll_io, BoundSocket, Handle, Socket};
use crate::os::sys;

impl BoundSocket {
    pub(crate) fn register(self, handle: &Handle) -> io::Result<Acceptor> {
        Ok(Acceptor {
            listener: self.watch(handle)?,
            listening: self,
            handle: handle.clone(),
        })
    }

    /// Registers a duplicate of the socket.
    fn watch(&self, handle: &Handle) -> io::Result<TcpListener> {
        let listener = net::TcpListener::from(self.io.try_clone()?);
        // tokio-core has no use for the address.
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        TcpListener::from_listener(listener, &address, handle.core())
    }
}

/// A listening socket that is registered with a `Core`.
#[derive(Debug)]
pub(crate) struct Acceptor {
    listener: TcpListener,
    listening: BoundSocket,
    handle: Handle,
}

impl Acceptor {
    /// Accepts the next client; its address is `None` on a Unix socket.
    ///
    /// # Errors
    ///
    /// All of accept(2), among them those of clients that are gone.
    pub(crate) fn poll_accept(&mut self) -> Poll<(Socket, Option<SocketAddr>), io::Error> {
        if self.listening.path.is_some() {
            return self.poll_accept_unix();
        }
        let accepted = poll_io(self.listener.accept())?;
        Ok(accepted.map(|(tcp, address)| (Socket::of_tcp(tcp, &self.handle), Some(address))))
    }

    /// tokio-core has no Unix sockets, and its `accept` fails without an address of IP. It reports
    /// when the socket is readable, once: only another registration reports that again.
    fn poll_accept_unix(&mut self) -> Poll<(Socket, Option<SocketAddr>), io::Error> {
        while self.listener.poll_read().is_ready() {
            match sys::accept(&self.listening.io) {
                Ok((unix, _)) => {
                    return Ok(Async::Ready((Socket::of_unix(unix, &self.handle)?, None)));
                }
                Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.listener = self.listening.watch(&self.handle)?;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(Async::NotReady)
    }

    /// Returns the address or path for log lines.
    pub(crate) fn name(&self) -> String {
        self.listening.name()
    }
}
