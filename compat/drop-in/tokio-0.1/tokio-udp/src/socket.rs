//! UDP sockets.

use std::fmt;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};

use drop_in_io::{block, READ_WRITE};
use futures::Poll;
use tokio_reactor::{Handle, Watched};

use crate::{RecvDgram, SendDgram};

/// A UDP socket.
///
/// A call that would block is not ready, and the current task is notified when it is worth another try;
/// outside of a task it panics. At most one task can wait in each direction: the last one. Dropping it
/// closes the socket.
pub struct UdpSocket {
    io: Watched<net::UdpSocket>,
}

impl UdpSocket {
    /// Binds a socket to `addr`. Port 0 is a free port. The default reactor watches it from the first
    /// poll on.
    ///
    /// # Errors
    ///
    /// With the system's error, e.g. `AddrInUse`.
    pub fn bind(addr: &SocketAddr) -> io::Result<UdpSocket> {
        UdpSocket::from_std(net::UdpSocket::bind(addr)?, &Handle::default())
    }

    /// Takes over a std socket.
    ///
    /// # Errors
    ///
    /// When the reactor is gone, or the system's error.
    pub fn from_std(socket: net::UdpSocket, handle: &Handle) -> io::Result<UdpSocket> {
        socket.set_nonblocking(true)?;
        Ok(UdpSocket {
            io: Watched::with_handle(socket, READ_WRITE, handle)?,
        })
    }

    /// Returns the address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Sets the address that [`poll_send`](UdpSocket::poll_send) sends to, and the only one from which
    /// datagrams are received.
    pub fn connect(&self, addr: &SocketAddr) -> io::Result<()> {
        self.io.get_ref().connect(addr)
    }

    /// Sends a datagram to the address of [`connect`](UdpSocket::connect); ready with its length.
    pub fn poll_send(&mut self, buf: &[u8]) -> Poll<usize, io::Error> {
        self.io.poll_write(|udp| udp.send(buf))
    }

    /// The same; fails with `WouldBlock` when there is no room.
    #[deprecated(since = "0.1.2", note = "use poll_send")]
    #[doc(hidden)]
    pub fn send(&mut self, buf: &[u8]) -> io::Result<usize> {
        block(self.poll_send(buf))
    }

    /// Receives a datagram from the address of [`connect`](UdpSocket::connect); ready with its length.
    /// What doesn't fit into `buf` is lost.
    pub fn poll_recv(&mut self, buf: &mut [u8]) -> Poll<usize, io::Error> {
        self.io.poll_read(|udp| udp.recv(buf))
    }

    /// The same; fails with `WouldBlock` when none has arrived.
    #[deprecated(since = "0.1.2", note = "use poll_recv")]
    #[doc(hidden)]
    pub fn recv(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        block(self.poll_recv(buf))
    }

    /// Sends a datagram to `target`; ready with its length.
    pub fn poll_send_to(&mut self, buf: &[u8], target: &SocketAddr) -> Poll<usize, io::Error> {
        self.io.poll_write(|udp| udp.send_to(buf, target))
    }

    /// The same; fails with `WouldBlock` when there is no room.
    #[deprecated(since = "0.1.2", note = "use poll_send_to")]
    #[doc(hidden)]
    pub fn send_to(&mut self, buf: &[u8], target: &SocketAddr) -> io::Result<usize> {
        block(self.poll_send_to(buf, target))
    }

    /// Returns a future that sends `buf` as one datagram, and gives socket and buffer back.
    pub fn send_dgram<T>(self, buf: T, addr: &SocketAddr) -> SendDgram<T>
    where
        T: AsRef<[u8]>,
    {
        SendDgram::new(self, buf, *addr)
    }

    /// Receives a datagram; ready with its length and where it came from. What doesn't fit into `buf` is
    /// lost.
    pub fn poll_recv_from(&mut self, buf: &mut [u8]) -> Poll<(usize, SocketAddr), io::Error> {
        self.io.poll_read(|udp| udp.recv_from(buf))
    }

    /// The same; fails with `WouldBlock` when none has arrived.
    #[deprecated(since = "0.1.2", note = "use poll_recv_from")]
    #[doc(hidden)]
    pub fn recv_from(&mut self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        block(self.poll_recv_from(buf))
    }

    /// Returns a future that receives a datagram into `buf`, and gives socket and buffer back.
    pub fn recv_dgram<T>(self, buf: T) -> RecvDgram<T>
    where
        T: AsMut<[u8]>,
    {
        RecvDgram::new(self, buf)
    }

    /// Ready with those events of `mask` that are known. Otherwise the current task is notified when
    /// there are some.
    ///
    /// # Panics
    ///
    /// If `mask` has `writable`; outside of a task, when no event is known.
    pub fn poll_read_ready(&self, mask: mio::Ready) -> Poll<mio::Ready, io::Error> {
        self.io.poll_read_ready(mask)
    }

    /// Ready if there may be room to send. Otherwise the current task is notified when there is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is no room.
    pub fn poll_write_ready(&self) -> Poll<mio::Ready, io::Error> {
        self.io.poll_write_ready()
    }
}

macro_rules! options {
    ($($get:ident, $set:ident, $option:literal, $type:ty;)*) => {
        impl UdpSocket {
            $(
                #[doc = concat!("Returns `", $option, "`.")]
                pub fn $get(&self) -> io::Result<$type> {
                    self.io.get_ref().$get()
                }

                #[doc = concat!("Sets `", $option, "`.")]
                pub fn $set(&self, value: $type) -> io::Result<()> {
                    self.io.get_ref().$set(value)
                }
            )*
        }
    };
}

options! {
    broadcast, set_broadcast, "SO_BROADCAST", bool;
    multicast_loop_v4, set_multicast_loop_v4, "IP_MULTICAST_LOOP", bool;
    multicast_ttl_v4, set_multicast_ttl_v4, "IP_MULTICAST_TTL", u32;
    multicast_loop_v6, set_multicast_loop_v6, "IPV6_MULTICAST_LOOP", bool;
    ttl, set_ttl, "IP_TTL", u32;
}

impl UdpSocket {
    /// Joins a multicast group at the interface of that address; `UNSPECIFIED` is any.
    pub fn join_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().join_multicast_v4(multiaddr, interface)
    }

    /// Joins a multicast group at the interface of that index; 0 is any.
    pub fn join_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().join_multicast_v6(multiaddr, interface)
    }

    /// Leaves a multicast group.
    pub fn leave_multicast_v4(&self, multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v4(multiaddr, interface)
    }

    /// Leaves a multicast group.
    pub fn leave_multicast_v6(&self, multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.io.get_ref().leave_multicast_v6(multiaddr, interface)
    }
}

impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}
