//! Streams of bytes of one generation, used by the other, in one hop.
//!
//! | you have | and want to | wrap it in |
//! |---|---|---|
//! | a tokio 1 stream | hand it to code that asks for tokio-io 0.1's `AsyncRead + AsyncWrite` | [`AsIo01`] |
//! | a tokio-io 0.1 stream | hand it to code that asks for tokio 1's | [`AsTokio`] |
//! | either, and code over futures-io's traits | the same | `AsFuturesIo`, `AsIo01::from_futures_io` (feature `futures-io`) |
//!
//! Neither copies nor buffers: each call is one call of the stream inside, on the caller's buffer.
//! Vectored writes stay vectored both ways.
//!
//! # Half-close
//!
//! The two generations disagree about the end of a stream, and no compiler says so: `shutdown` on
//! tokio-core's `TcpStream` does nothing, on tokio 1's it sends FIN. Code that called it out of
//! habit cuts its peer off once it runs on tokio 1; code that relies on it leaves the peer waiting
//! when it runs on tokio-core. So both wrappers ask for a [`ShutdownPolicy`].

mod as_io_01;
mod as_tokio;
#[cfg(feature = "futures-io")]
mod futures_io;

#[cfg(all(unix, feature = "net"))]
pub(crate) use self::as_io_01::{would_block, Slices};

pub use self::as_io_01::AsIo01;
pub use self::as_tokio::{AsTokio, HalfClose};
#[cfg(feature = "futures-io")]
pub use self::futures_io::{AsFuturesIo, FuturesIo};

/// What `shutdown` does to the sending half of the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownPolicy {
    /// It is closed: what was written goes out, then a FIN, as with tokio 1.
    Fin,
    /// It stays open: what was written goes out, and the peer receives no FIN, as with tokio-core.
    /// The FIN comes when the socket is dropped.
    Ignore,
}
