//! Sockets, and what the relay asks of them.
//!
//! - [`BoundSocket`]: bound, not on any reactor yet; [`Accept`]: on one.
//! - [`connect`]: one address, one socket; [`UnixSocket`]: a client on this machine.
//! - [`Restarting`]: a socket whose calls a signal may interrupt.
//! - [`Transport`]: splice and reset, besides reading and writing.
//! - [`Rewind`]: a stream with bytes put back in front of it.
//! - [`Forwarding`]: one to which a single request goes.
//! - [`Upstream`]: a bare socket, or one of these or TLS over one.
//!
//! The root has a reactor of its own in the same place: mio 0.6 reports no half-close, so that
//! a short read couldn't be trusted. tokio 1 does what it was written for, and it is gone.

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
