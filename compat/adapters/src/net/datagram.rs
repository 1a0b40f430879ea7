//! Datagrams: UDP, and Unix sockets of that type.

use std::borrow::Borrow;
use std::fmt;
use std::io;
use std::path::Path;

use futures01::{Async, Future as Future01, Poll as Poll01};
use tokio::net::{UdpSocket, UnixDatagram};

use super::{not_ready, Directions, Readiness};
use crate::task::SharedCrossing;

/// A socket of tokio's for datagrams: `UdpSocket` and `UnixDatagram`.
///
/// Each method returns `WouldBlock` and forgets that the socket is ready, or fails with what the
/// system call says.
#[allow(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Datagram: Readiness {
    /// Where a datagram comes from.
    type Addr;
    /// Where it goes to.
    type Target: ?Sized;

    /// Receives a datagram from the socket's peer.
    fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize>;

    /// Sends a datagram to the socket's peer.
    fn try_send(&self, buf: &[u8]) -> io::Result<usize>;

    /// Receives a datagram.
    fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, Self::Addr)>;

    /// Sends a datagram to `target`.
    fn try_send_to(&self, buf: &[u8], target: &Self::Target) -> io::Result<usize>;
}

impl Datagram for UdpSocket {
    type Addr = std::net::SocketAddr;
    type Target = std::net::SocketAddr;

    fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_recv(buf)
    }

    fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.try_send(buf)
    }

    fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, Self::Addr)> {
        self.try_recv_from(buf)
    }

    fn try_send_to(&self, buf: &[u8], target: &Self::Target) -> io::Result<usize> {
        self.try_send_to(buf, *target)
    }
}

impl Datagram for UnixDatagram {
    type Addr = tokio::net::unix::SocketAddr;
    type Target = Path;

    fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_recv(buf)
    }

    fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.try_send(buf)
    }

    fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, Self::Addr)> {
        self.try_recv_from(buf)
    }

    fn try_send_to(&self, buf: &[u8], target: &Self::Target) -> io::Result<usize> {
        self.try_send_to(buf, target)
    }
}

/// A socket of tokio 1 for datagrams, as tokio-core's `UdpSocket` was used.
///
/// All of it takes `&self`, but for the futures. Calls outside of a 0.1 task panic; `WouldBlock`
/// means that the current task has been registered.
///
/// *Cost*: as [`AsIo01`](crate::io::AsIo01) by reference. *Cancellation*: dropping a [`SendDgram`] or
/// a [`RecvDgram`] drops the socket and the buffer with it, as with tokio-core; a datagram is never
/// lost in part. *Ownership*: this owns the socket; [`into_inner`](AsDatagram01::into_inner) gives it
/// back, and so do the futures when they end well.
///
/// ```
/// use futures01::Future as _;
/// use tokio::net::UdpSocket;
/// use tokio_core_compat::net::AsDatagram01;
/// use tokio_core_compat::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let near = AsDatagram01::new(UdpSocket::bind("127.0.0.1:0").await?);
/// let far = AsDatagram01::new(UdpSocket::bind("127.0.0.1:0").await?);
/// let (near_addr, far_addr) = (near.get_ref().local_addr()?, far.get_ref().local_addr()?);
///
/// let sent = near.send_dgram("a datagram", far_addr);
/// let received = sent.and_then(|_near| far.recv_dgram([0; 32]));
/// let (_far, buf, len, from) = received.into_std().await?;
/// assert_eq!((&buf[..len], from), (&b"a datagram"[..], near_addr));
/// # Ok(())
/// # }
/// ```
pub struct AsDatagram01<S> {
    io: S,
    reading: SharedCrossing,
    writing: SharedCrossing,
}

impl<S> AsDatagram01<S> {
    /// Wraps a socket of tokio 1.
    pub fn new(io: S) -> AsDatagram01<S> {
        AsDatagram01 {
            io,
            reading: SharedCrossing::default(),
            writing: SharedCrossing::default(),
        }
    }

    /// The socket inside, with all its options.
    pub fn get_ref(&self) -> &S {
        &self.io
    }

    /// Gives the socket back.
    pub fn into_inner(self) -> S {
        self.io
    }

    fn directions(&self) -> Directions<'_, S> {
        Directions {
            io: &self.io,
            reading: &self.reading,
            writing: &self.writing,
        }
    }
}

impl<S: Datagram> AsDatagram01<S> {
    /// Receives a datagram from the peer that the socket is connected to.
    ///
    /// # Errors
    ///
    /// `WouldBlock`; those of the system call.
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.directions().read(|io| io.try_recv(buf))
    }

    /// Sends a datagram to the peer that the socket is connected to.
    ///
    /// # Errors
    ///
    /// `WouldBlock`; those of the system call.
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.directions().write(|io| io.try_send(buf))
    }

    /// Receives a datagram.
    ///
    /// # Errors
    ///
    /// `WouldBlock`; those of the system call.
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, S::Addr)> {
        self.directions().read(|io| io.try_recv_from(buf))
    }

    /// Sends a datagram to `target`.
    ///
    /// # Errors
    ///
    /// `WouldBlock`; those of the system call.
    pub fn send_to(&self, buf: &[u8], target: &S::Target) -> io::Result<usize> {
        self.directions().write(|io| io.try_send_to(buf, target))
    }

    /// A future that sends `buf` to `target` and gives back the socket and `buf`.
    pub fn send_dgram<T, A>(self, buf: T, target: A) -> SendDgram<S, T, A>
    where
        T: AsRef<[u8]>,
        A: Borrow<S::Target>,
    {
        SendDgram(Some((self, buf, target)))
    }

    /// A future that receives a datagram into `buf` and gives back the socket, `buf`, the length and
    /// the sender. What does not fit into `buf` is lost.
    pub fn recv_dgram<T: AsMut<[u8]>>(self, buf: T) -> RecvDgram<S, T> {
        RecvDgram(Some((self, buf)))
    }

    /// As [`AsIo01::poll_read`](crate::io::AsIo01::poll_read).
    pub fn poll_read(&self) -> Async<()> {
        self.directions().poll_read()
    }

    /// As [`AsIo01::need_read`](crate::io::AsIo01::need_read).
    pub fn need_read(&self) {
        self.directions().need_read();
    }

    /// As [`AsIo01::poll_write`](crate::io::AsIo01::poll_write).
    pub fn poll_write(&self) -> Async<()> {
        self.directions().poll_write()
    }

    /// As [`AsIo01::need_write`](crate::io::AsIo01::need_write).
    pub fn need_write(&self) {
        self.directions().need_write();
    }
}

impl<S: fmt::Debug> fmt::Debug for AsDatagram01<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

/// Sends a datagram, made by [`AsDatagram01::send_dgram`].
///
/// # Panics
///
/// When it is polled again after its end.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct SendDgram<S, T, A>(Option<(AsDatagram01<S>, T, A)>);

impl<S, T, A> Future01 for SendDgram<S, T, A>
where
    S: Datagram,
    T: AsRef<[u8]>,
    A: Borrow<S::Target>,
{
    type Item = (AsDatagram01<S>, T);
    type Error = io::Error;

    fn poll(&mut self) -> Poll01<Self::Item, io::Error> {
        let (socket, buf, target) = self.0.as_ref().expect(ENDED);
        let Async::Ready(sent) = not_ready(socket.send_to(buf.as_ref(), target.borrow()))? else {
            return Ok(Async::NotReady);
        };
        if sent < buf.as_ref().len() {
            return Err(sent_in_part());
        }
        let (socket, buf, _) = self.0.take().expect("seen above");
        Ok(Async::Ready((socket, buf)))
    }
}

const ENDED: &str = "a net::SendDgram or RecvDgram was polled after it had resolved: make another \
                     with the socket that it gave back";

pub(super) fn sent_in_part() -> io::Error {
    io::Error::other("a datagram was sent in part")
}

/// Receives a datagram, made by [`AsDatagram01::recv_dgram`].
///
/// # Panics
///
/// When it is polled again after its end.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct RecvDgram<S, T>(Option<(AsDatagram01<S>, T)>);

impl<S, T> Future01 for RecvDgram<S, T>
where
    S: Datagram,
    T: AsMut<[u8]>,
{
    type Item = (AsDatagram01<S>, T, usize, S::Addr);
    type Error = io::Error;

    fn poll(&mut self) -> Poll01<Self::Item, io::Error> {
        let (socket, buf) = self.0.as_mut().expect(ENDED);
        let Async::Ready((n, from)) = not_ready(socket.recv_from(buf.as_mut()))? else {
            return Ok(Async::NotReady);
        };
        let (socket, buf) = self.0.take().expect("seen above");
        Ok(Async::Ready((socket, buf, n, from)))
    }
}
