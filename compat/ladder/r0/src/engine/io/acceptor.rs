//! Listening sockets of one thread's `Core`.
//!
//! ```text
//!   BoundSocket (any thread) ──register──▶ Acceptor (its Core's thread) ──▶ Sockets
//! ```

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::{try_ready, Async, Poll};
use tokio_core::net::TcpListener;

use super::recheck::Recheck;
use super::{poll_io, BoundSocket, Handle, Socket};
use crate::os::sys;
use crate::text::debug::debug_by_name;

/// Time between two attempts to accept from a socket that isn't registered.
const RETRY: Duration = Duration::from_millis(20);

impl BoundSocket {
    pub(crate) fn register(self, handle: &Handle) -> io::Result<Acceptor> {
        Ok(Acceptor {
            name: self.name(),
            listening: Listening::new(self, handle)?,
            handle: handle.clone(),
        })
    }
}

/// A listening socket from which a `Core` accepts.
pub(crate) struct Acceptor {
    listening: Listening,
    name: String,
    handle: Handle,
}

enum Listening {
    Registered(TcpListener),
    /// Checked each [`RETRY`].
    Unregistered(socket2::Socket, Recheck),
}

impl Listening {
    /// tokio-core has no Unix sockets, and its `accept` fails without an IP address.
    fn new(socket: BoundSocket, handle: &Handle) -> io::Result<Listening> {
        if socket.path.is_some() {
            return Ok(Listening::Unregistered(socket.io, Recheck::default()));
        }
        let (address, again) = (socket.local_addr()?, socket.io.try_clone()?);
        match TcpListener::from_listener(socket.io.into(), &address, handle.core()) {
            // A TcpListener leaves the epoll set when its descriptor is closed, but an inherited
            // socket has another descriptor: after a reload it can still be registered, under the
            // same number.
            Err(ref e) if e.kind() == io::ErrorKind::AlreadyExists => {
                Ok(Listening::Unregistered(again, Recheck::default()))
            }
            registered => registered.map(Listening::Registered),
        }
    }
}

impl Acceptor {
    /// Accepts the next client; its address is `None` on a Unix socket.
    ///
    /// # Errors
    ///
    /// All errors of accept(2), including those of clients that have left.
    pub(crate) fn poll_accept(&mut self) -> Poll<(Socket, Option<SocketAddr>), io::Error> {
        let handle = &self.handle;
        match &mut self.listening {
            Listening::Registered(listener) => {
                let accepted = poll_io(listener.accept())?;
                Ok(accepted.map(|(tcp, address)| (Socket::of_tcp(tcp, handle), Some(address))))
            }
            Listening::Unregistered(listener, recheck) => loop {
                if let Async::Ready((io, address)) = poll_io(sys::accept(listener))? {
                    let address = address.as_socket();
                    let socket = Socket::from_accepted(io, address.is_none(), handle)?;
                    return Ok(Async::Ready((socket, address)));
                }
                try_ready!(recheck.poll(RETRY, handle));
            },
        }
    }

    /// Returns the address or path for log lines.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }
}

debug_by_name!(Acceptor);
