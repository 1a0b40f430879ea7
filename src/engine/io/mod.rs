//! Byte streams and the loop that wakes them; what crosses a connection is left to `engine`.
//!
//! - [`Handle`]: an epoll set and a run queue on a tokio-core loop; one per thread.
//! - [`Socket`]: a TCP or Unix stream registered there, whose `shutdown` sends FIN.
//! - [`Rewind`]: a stream with bytes put back in front of it.
//! - `TlsStream`: a stream in TLS over any other (feature `tls`).
//! - [`Upstream`]: a bare socket, or any such stream over one.
//! - [`Transport`]: what the relay asks of a stream besides reading and writing.

#[cfg(test)]
pub(crate) mod mock_io;
mod reactor;
mod rewind;
mod socket;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod upstream;

pub use self::reactor::Handle;
pub use self::rewind::Rewind;
pub(crate) use self::socket::Acceptor;
pub use self::socket::{BoundSocket, Connecting, Socket};
#[cfg(feature = "tls")]
pub use self::tls::TlsStream;
pub(crate) use self::transport::poll_io;
pub use self::transport::Transport;
pub use self::upstream::Upstream;
pub use crate::os::sys::Pipe;
