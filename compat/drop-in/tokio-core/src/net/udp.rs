//! UDP sockets.

use std::fmt;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

use drop_in_io::options;
use futures::{Async, Future, Poll};

use super::udp_framed::{UdpCodec, UdpFramed};
use crate::reactor::{Handle, Source};

/// A UDP socket.
///
/// A call that would block fails with `WouldBlock`, and the current task is notified when it is
/// worth another try; outside of a task it panics. At most one task can wait in each direction: the
/// last one. Dropping it closes the socket.
pub struct UdpSocket {
    io: Source<net::UdpSocket>,
}

impl UdpSocket {
    /// Binds a socket to `addr`. Port 0 is a free port.
    ///
    /// # Errors
    ///
    /// With the system's error, e.g. `AddrInUse`, or when the `Core` is gone.
    pub fn bind(addr: &SocketAddr, handle: &Handle) -> io::Result<UdpSocket> {
        UdpSocket::from_socket(net::UdpSocket::bind(addr)?, handle)
    }

    /// Takes over a std socket.
    ///
    /// # Errors
    ///
    /// When the `Core` is gone, or the system's error.
    pub fn from_socket(socket: net::UdpSocket, handle: &Handle) -> io::Result<UdpSocket> {
        socket.set_nonblocking(true)?;
        Ok(UdpSocket {
            io: Source::new(socket, handle)?,
        })
    }

    /// Turns the socket into a stream and a sink of messages, one for each datagram.
    pub fn framed<C: UdpCodec>(self, codec: C) -> UdpFramed<C> {
        UdpFramed::new(self, codec)
    }

    /// Returns the address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Sets the address that [`send`](UdpSocket::send) sends to, and the only one from which
    /// datagrams are received.
    pub fn connect(&self, addr: &SocketAddr) -> io::Result<()> {
        self.io.get_ref().connect(addr)
    }

    /// Sends a datagram to the address of [`connect`](UdpSocket::connect); returns its length.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room, else the system's error.
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.write_with(|udp| udp.send(buf))
    }

    /// Receives a datagram from the address of [`connect`](UdpSocket::connect); returns its length.
    /// What doesn't fit into `buf` is lost.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when none has arrived, else the system's error.
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.read_with(|udp| udp.recv(buf))
    }

    /// Returns whether a datagram may have arrived. If not, the current task is notified when one
    /// has.
    ///
    /// # Panics
    ///
    /// Outside of a task, when none has arrived.
    pub fn poll_read(&self) -> Async<()> {
        self.io.poll_read()
    }

    /// Returns whether there may be room to send. If not, the current task is notified when there
    /// is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is no room.
    pub fn poll_write(&self) -> Async<()> {
        self.io.poll_write()
    }

    /// Sends a datagram to `target`; returns its length.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room, else the system's error.
    pub fn send_to(&self, buf: &[u8], target: &SocketAddr) -> io::Result<usize> {
        self.io.write_with(|udp| udp.send_to(buf, target))
    }

    /// Returns a future that sends `buf` as one datagram, and gives socket and buffer back.
    pub fn send_dgram<T>(self, buf: T, addr: SocketAddr) -> SendDgram<T>
    where
        T: AsRef<[u8]>,
    {
        SendDgram(Some((self, buf, addr)))
    }

    /// Receives a datagram; returns its length and where it came from. What doesn't fit into `buf`
    /// is lost.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when none has arrived, else the system's error.
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.read_with(|udp| udp.recv_from(buf))
    }

    /// Returns a future that receives one datagram into `buf`, and gives socket and buffer back.
    pub fn recv_dgram<T>(self, buf: T) -> RecvDgram<T>
    where
        T: AsMut<[u8]>,
    {
        RecvDgram(Some((self, buf)))
    }

    /// Returns `SO_BROADCAST`.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.io.get_ref().broadcast()
    }

    /// Sets `SO_BROADCAST`: whether the socket may send to a broadcast address.
    pub fn set_broadcast(&self, on: bool) -> io::Result<()> {
        self.io.get_ref().set_broadcast(on)
    }

    /// Returns `IP_MULTICAST_LOOP`.
    pub fn multicast_loop_v4(&self) -> io::Result<bool> {
        self.io.get_ref().multicast_loop_v4()
    }

    /// Sets `IP_MULTICAST_LOOP`: whether this host receives what it sends to an IPv4 group.
    pub fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        self.io.get_ref().set_multicast_loop_v4(on)
    }

    /// Returns `IP_MULTICAST_TTL`.
    pub fn multicast_ttl_v4(&self) -> io::Result<u32> {
        self.io.get_ref().multicast_ttl_v4()
    }

    /// Sets `IP_MULTICAST_TTL`, the number of hops that datagrams to an IPv4 group may take. The
    /// default is 1.
    pub fn set_multicast_ttl_v4(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_multicast_ttl_v4(ttl)
    }

    /// Returns `IPV6_MULTICAST_LOOP`.
    pub fn multicast_loop_v6(&self) -> io::Result<bool> {
        self.io.get_ref().multicast_loop_v6()
    }

    /// Sets `IPV6_MULTICAST_LOOP`: whether this host receives what it sends to an IPv6 group.
    pub fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        self.io.get_ref().set_multicast_loop_v6(on)
    }

    /// Returns `IP_TTL`.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets `IP_TTL`, the number of hops that datagrams may take.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }

    /// Joins an IPv4 group on the interface with that address; 0.0.0.0 leaves the choice to the
    /// system.
    pub fn join_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().join_multicast_v4(multiaddr, interface)
    }

    /// Joins an IPv6 group on the interface with that index; 0 leaves the choice to the system.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a group that [`join_multicast_v4`](UdpSocket::join_multicast_v4) joined.
    pub fn leave_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v4(multiaddr, interface)
    }

    /// Leaves a group that [`join_multicast_v6`](UdpSocket::join_multicast_v6) joined.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v6(multiaddr, interface)
    }

    /// Sets `IPV6_V6ONLY`: whether an IPv6 socket refuses IPv4. The system takes it only before the
    /// socket is bound.
    pub fn set_only_v6(&self, only_v6: bool) -> io::Result<()> {
        options::set_only_v6(self.io.get_ref(), only_v6)
    }

    /// Returns `IPV6_V6ONLY`.
    pub fn only_v6(&self) -> io::Result<bool> {
        options::only_v6(self.io.get_ref())
    }
}

impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.io.get_ref().as_raw_fd()
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.get_ref().fmt(f)
    }
}

/// Sends one datagram; made by [`UdpSocket::send_dgram`].
///
/// Resolves to the socket and the buffer. An error drops both with this future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct SendDgram<T>(Option<(UdpSocket, T, SocketAddr)>);

impl<T: AsRef<[u8]>> Future for SendDgram<T> {
    type Item = (UdpSocket, T);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Self::Item, io::Error> {
        let Some((socket, buf, addr)) = &self.0 else {
            panic!("SendDgram was polled after it had resolved");
        };
        let buf = buf.as_ref();
        if try_nb!(socket.send_to(buf, addr)) != buf.len() {
            return Err(io::Error::other("the system sent a part of a datagram"));
        }
        let (socket, buf, _) = self.0.take().expect("seen above");
        Ok(Async::Ready((socket, buf)))
    }
}

/// Receives one datagram; made by [`UdpSocket::recv_dgram`].
///
/// Resolves to the socket, the buffer, the datagram's length and where it came from. An error drops
/// socket and buffer with this future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct RecvDgram<T>(Option<(UdpSocket, T)>);

impl<T: AsMut<[u8]>> Future for RecvDgram<T> {
    type Item = (UdpSocket, T, usize, SocketAddr);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Self::Item, io::Error> {
        let Some((socket, buf)) = &mut self.0 else {
            panic!("RecvDgram was polled after it had resolved");
        };
        let (n, addr) = try_nb!(socket.recv_from(buf.as_mut()));
        let (socket, buf) = self.0.take().expect("seen above");
        Ok(Async::Ready((socket, buf, n, addr)))
    }
}
