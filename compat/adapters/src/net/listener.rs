//! Listeners: 0.1 streams of accepted connections.

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use futures01::{Poll as Poll01, Stream as Stream01};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use super::not_ready;
use crate::io::{would_block, AsIo01, ShutdownPolicy};
use crate::task::SharedCrossing;

/// A listener of tokio's: `TcpListener` and `UnixListener`.
pub trait Accept {
    /// What it accepts.
    type Stream;
    /// Where that comes from.
    type Addr;

    /// Accepts a connection.
    ///
    /// # Errors
    ///
    /// Those of the system call.
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Stream, Self::Addr)>>;
}

impl Accept for TcpListener {
    type Stream = TcpStream;
    type Addr = std::net::SocketAddr;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Stream, Self::Addr)>> {
        self.poll_accept(cx)
    }
}

impl Accept for UnixListener {
    type Stream = UnixStream;
    type Addr = tokio::net::unix::SocketAddr;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Self::Stream, Self::Addr)>> {
        self.poll_accept(cx)
    }
}

/// A listener of tokio 1, as tokio-core's: [`accept`](AsListener01::accept) in 0.1 style, and
/// [`incoming`](AsListener01::incoming).
///
/// *Cost*: as [`AsIo01`]; a connection costs its registration with tokio and nothing of the bridge.
/// *Cancellation*: connections that were not accepted stay in the system's queue. *Ownership*: this
/// owns the listener, and dropping it closes the socket; each connection belongs to its receiver.
///
/// An accepted connection is registered with the runtime of the listener at once. With tokio-core it
/// was a Core's, and `accept` off that Core's thread took a round trip.
///
/// ```
/// use futures01::{Future as _, Stream as _};
/// use tokio::net::{TcpListener, TcpStream};
/// use tokio_core_compat::io::ShutdownPolicy;
/// use tokio_core_compat::net::AsListener01;
/// use tokio_core_compat::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let addr = listener.local_addr()?;
/// let greeted = AsListener01::new(listener, ShutdownPolicy::Ignore)
///     .incoming()
///     .take(1)
///     .for_each(|(stream, _)| tokio_io::io::write_all(stream, "hello").map(drop));
/// let client = TcpStream::connect(addr).await?;
/// greeted.into_std().await?;
/// # let mut hello = [0; 5];
/// # client.readable().await?;
/// # assert_eq!(client.try_read(&mut hello)?, 5);
/// # Ok(())
/// # }
/// ```
pub struct AsListener01<L> {
    listener: L,
    policy: ShutdownPolicy,
    accepting: SharedCrossing,
}

impl<L> AsListener01<L> {
    /// Wraps a listener of tokio 1. `policy` is that of each connection.
    pub fn new(listener: L, policy: ShutdownPolicy) -> AsListener01<L> {
        AsListener01 {
            listener,
            policy,
            accepting: SharedCrossing::default(),
        }
    }

    /// The listener inside.
    pub fn get_ref(&self) -> &L {
        &self.listener
    }

    /// Gives the listener back.
    pub fn into_inner(self) -> L {
        self.listener
    }

    /// All connections, one after the other. The stream does not end.
    ///
    /// An error does not end it either. After one for which this machine is to blame (`EMFILE`), the
    /// connection is still in the queue, and the next poll fails again: wait before it.
    pub fn incoming(self) -> Incoming<L> {
        Incoming { listener: self }
    }
}

impl<L: Accept> AsListener01<L> {
    /// Accepts a connection.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is none and the current task has been registered; those of the system
    /// call.
    ///
    /// # Panics
    ///
    /// Outside of a 0.1 task.
    pub fn accept(&self) -> io::Result<(AsIo01<L::Stream>, L::Addr)> {
        let accepted = self
            .accepting
            .poll("a net::AsListener01", |cx| self.listener.poll_accept(cx));
        let (stream, addr) = would_block(accepted)?;
        Ok((AsIo01::new(stream, self.policy), addr))
    }
}

impl<L: fmt::Debug> fmt::Debug for AsListener01<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listener.fmt(f)
    }
}

/// A 0.1 stream of accepted connections, made by [`AsListener01::incoming`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct Incoming<L> {
    listener: AsListener01<L>,
}

impl<L> Incoming<L> {
    /// The listener inside.
    pub fn get_ref(&self) -> &AsListener01<L> {
        &self.listener
    }

    /// Gives the listener back.
    pub fn into_inner(self) -> AsListener01<L> {
        self.listener
    }
}

impl<L: Accept> Stream01 for Incoming<L> {
    type Item = (AsIo01<L::Stream>, L::Addr);
    type Error = io::Error;

    fn poll(&mut self) -> Poll01<Option<Self::Item>, io::Error> {
        Ok(not_ready(self.listener.accept())?.map(Some))
    }
}
