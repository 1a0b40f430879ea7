//! Sockets, the streams over them, and the loop that wakes their tasks.
//!
//! - [`Handle`]: an epoll set and a run queue, nested in a tokio-core loop; one per thread.
//! - [`BoundSocket`]: a listening socket.
//! - [`Socket`]: a TCP or Unix stream; its `shutdown` sends FIN.
//! - [`Interval`]: a timer with a fixed period.
//! - [`Rewind`]: a stream with bytes put back in front.
//! - `TlsStream`: TLS over any stream (feature `tls`).
//! - [`Upstream`]: the stream to a proxy or a destination: a bare socket, or a stream over one.
//! - [`Transport`]: the methods that the relay calls on each of them.
//!
//! Must not interpret the bytes. The listeners, the steps to a destination, the relay and the
//! examples use it.

mod acceptor;
mod bound_socket;
mod interval;
mod reactor;
mod rewind;
mod socket;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod upstream;

pub(crate) use self::acceptor::Acceptor;
pub use self::bound_socket::BoundSocket;
pub use self::interval::Interval;
pub use self::reactor::Handle;
pub use self::rewind::Rewind;
pub use self::socket::{Connecting, Socket};
#[cfg(feature = "tls")]
pub use self::tls::TlsStream;
pub(crate) use self::transport::poll_io;
pub use self::transport::Transport;
pub use self::upstream::Upstream;
pub use ptunnel_core::os::sys::Pipe;
