//! Byte streams and the loop that wakes them; what crosses a connection is left to `engine`.
//!
//! - [`Handle`]: an epoll set and a run queue on a tokio-core loop; one per thread.
//! - [`Socket`]: a TCP or Unix stream registered there, whose `shutdown` sends FIN.
//! - [`Rewind`]: a stream with bytes put back in front of it.
//! - [`Transport`]: what the relay asks of a stream besides reading and writing.

mod reactor;
mod rewind;
#[cfg(test)]
pub(crate) mod script;
mod socket;
mod transport;

pub use self::reactor::Handle;
pub use self::rewind::Rewind;
pub(crate) use self::socket::Accepting;
pub use self::socket::{Connecting, Listening, Socket};
pub(crate) use self::transport::poll_io;
pub use self::transport::Transport;
pub use crate::sys::Pipe;
