//! Sockets on tokio 1, and the streams over them, on tokio-io 0.1's traits.
//!
//! - [`Handle`]: a thread's, with a limit to what a task's panic ends, and descriptors in reserve.
//! - [`BoundSocket`]: a listening socket.
//! - [`Socket`]: a TCP or Unix stream; its `shutdown` sends FIN.
//! - [`Rewind`]: a stream with bytes put back in front.
//! - `TlsStream`: TLS over any stream (feature `tls`).
//! - [`Upstream`]: the stream to a proxy or a destination: a bare socket, or a stream over one.
//! - [`Transport`]: the methods that the relay calls on each of them.
//!
//! Must not interpret the bytes.

mod acceptor;
mod bound_socket;
mod handle;
mod rewind;
mod socket;
mod std_transport;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod upstream;

pub(crate) use self::acceptor::Acceptor;
pub use self::bound_socket::BoundSocket;
pub(crate) use self::handle::runtime;
pub use self::handle::Handle;
pub use self::rewind::Rewind;
pub use self::socket::Socket;
#[cfg(feature = "tls")]
pub use self::tls::TlsStream;
pub(crate) use self::std_transport::as_tokio;
pub use self::std_transport::Transport;
pub(crate) use self::transport::poll_io;
pub use self::transport::Transport as Transport01;
pub use self::upstream::Upstream;
