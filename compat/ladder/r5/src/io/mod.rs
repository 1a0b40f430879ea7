//! Sockets, the streams over them, and the tasks that use them.
//!
//! - [`Handle`]: the tasks of one thread.
//! - [`BoundSocket`]: a listening socket.
//! - [`Socket`]: a TCP or Unix stream; its `shutdown` sends FIN.
//! - [`Rewind`]: a stream with bytes put back in front.
//! - [`TlsStream`]: TLS over any stream.
//! - [`Upstream`]: the stream to a proxy or a destination: a bare socket, or a stream over one.
//! - [`Transport`]: the methods that the relay calls on each of them.
//!
//! Must not interpret the bytes.

mod acceptor;
mod bound_socket;
mod handle;
mod rewind;
mod socket;
mod tls;
mod transport;
mod upstream;

pub(crate) use self::acceptor::Acceptor;
pub use self::bound_socket::BoundSocket;
pub(crate) use self::handle::runtime;
pub use self::handle::Handle;
pub use self::rewind::Rewind;
pub use self::socket::Socket;
pub use self::tls::TlsStream;
pub use self::transport::Transport;
pub use self::upstream::Upstream;
pub use ptunnel_core::os::sys::Pipe;
