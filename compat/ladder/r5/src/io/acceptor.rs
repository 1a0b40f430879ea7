//! Listening sockets that are registered with one thread's runtime.
//!
//! ```text
//!   BoundSocket (any thread) ──register──▶ Acceptor (its runtime's thread) ──▶ Sockets
//! ```

use std::io;
use std::net::SocketAddr;
use std::task::{ready, Context, Poll};

use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

use super::socket::register;
use super::{BoundSocket, Socket};
use ptunnel_core::os::sys;

impl BoundSocket {
    pub(crate) fn register(self) -> io::Result<Acceptor> {
        Ok(Acceptor {
            name: self.name(),
            is_unix: self.path.is_some(),
            io: register(self.io, Interest::READABLE)?,
        })
    }
}

/// A listening socket that is registered with a runtime.
#[derive(Debug)]
pub(crate) struct Acceptor {
    io: AsyncFd<socket2::Socket>,
    is_unix: bool,
    name: String,
}

impl Acceptor {
    /// Accepts the next client; its address is `None` on a Unix socket.
    ///
    /// # Errors
    ///
    /// All errors of accept(2), including those of clients that have left.
    pub(crate) fn poll_accept(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(Socket, Option<SocketAddr>)>> {
        loop {
            let mut guard = ready!(self.io.poll_read_ready(cx))?;
            if let Ok(accepted) = guard.try_io(|io| sys::accept(io.get_ref())) {
                let (io, address) = accepted?;
                let socket = Socket::new(io, self.is_unix)?;
                return Poll::Ready(Ok((socket, address.as_socket())));
            }
        }
    }

    /// Returns the address or path for log lines.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
