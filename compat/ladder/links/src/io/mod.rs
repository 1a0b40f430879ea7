//! Sockets, and the streams over them.
//!
//! - [`BoundSocket`]: a listening socket, not on a reactor yet; [`Accept`]: one on a reactor.
//! - [`connect`]: connects to one address; [`UnixSocket`]: a Unix stream.
//! - [`Restarting`]: a socket whose calls are repeated when a signal interrupts them.
//! - [`Transport`]: the methods that the relay calls on each of them.
//! - [`Rewind`]: a stream with bytes put back in front.
//! - [`Forwarding`]: a stream for one request and its reply.
//! - [`Upstream`]: the stream to a proxy or a destination: a bare socket, or a stream over one.
//!
//! The root has a reactor in the same folder, since mio 0.6 doesn't report a half-close, so that a
//! short read would not mean a drained socket. tokio 1 reports it.

mod forwarding;
mod restarting;
mod rewind;
mod socket;
mod transport;
mod unix;
mod upstream;

pub use self::forwarding::Forwarding;
pub use self::restarting::Restarting;
pub use self::rewind::Rewind;
pub use self::socket::{connect, Accept, BoundSocket, Tcp};
pub use self::transport::Transport;
pub use self::unix::UnixSocket;
pub use self::upstream::{Below, Upstream};
