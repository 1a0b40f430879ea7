//! TCP connections.

use std::fmt;
use std::io::{self, IoSliceMut, Read, Write};
use std::net::{self, Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use bytes::{Buf, BufMut};
use drop_in_io::stream::SLICES;
use drop_in_io::{options, socket, stream};
use futures::{Async, Future, Poll};
use iovec::IoVec;
use socket2::SockRef;
use tokio_io::AsyncWrite;

use super::connect::TcpStreamNew;
use crate::reactor::{default_runtime, Handle, Source};

/// A TCP connection.
///
/// Reading and writing go through a shared reference as well as an exclusive one, so that
/// `Rc<TcpStream>` can be read and written from two tasks. A call that would block fails with
/// `WouldBlock`, and the current task is notified when it is worth another try; outside of a task
/// it panics. At most one task can wait in each direction: the last one.
///
/// Dropping it closes the socket. There is no buffer here to flush; the system sends what it has
/// taken.
pub struct TcpStream {
    io: Source<net::TcpStream>,
}

impl TcpStream {
    /// Opens a connection. The system starts to connect in this call, also if the future is never
    /// polled.
    pub fn connect(addr: &SocketAddr, handle: &Handle) -> TcpStreamNew {
        TcpStreamNew::new(socket::connect(addr).and_then(|tcp| Source::stream(tcp, handle)))
    }

    /// The same, for the runtime that this is called in: that of the running `Core`, or one of tokio
    /// 1. Elsewhere, a thread in the background watches the socket.
    pub fn connect2(addr: &SocketAddr) -> TcpStreamNew {
        let begun =
            socket::connect(addr).and_then(|tcp| Source::stream_on(tcp, &default_runtime()?));
        TcpStreamNew::new(begun)
    }

    /// Takes over a connected std stream. As in tokio-core, a Unix stream that was converted works.
    ///
    /// # Errors
    ///
    /// When the `Core` is gone, or the system's error.
    pub fn from_stream(stream: net::TcpStream, handle: &Handle) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        Ok(TcpStream {
            io: Source::any_stream(stream, handle)?,
        })
    }

    /// Connects a std stream that isn't connected yet, e.g. one that was bound to an address first.
    /// The system starts to connect in this call.
    pub fn connect_stream(
        stream: net::TcpStream,
        addr: &SocketAddr,
        handle: &Handle,
    ) -> Box<dyn Future<Item = TcpStream, Error = io::Error> + Send> {
        let begun =
            socket::connect_with(stream.into(), addr).and_then(|tcp| Source::stream(tcp, handle));
        Box::new(TcpStreamNew::new(begun))
    }

    /// Returns whether there may be something to read, or the end. If not, the current task is
    /// notified when there is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is nothing to read.
    pub fn poll_read(&self) -> Async<()> {
        self.io.poll_read()
    }

    /// Returns whether there may be room to write, or an error. If not, the current task is notified
    /// when there is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is no room.
    pub fn poll_write(&self) -> Async<()> {
        self.io.poll_write()
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns the address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
    }

    /// Copies bytes that have arrived to `buf` and leaves them to be read; returns how many.
    ///
    /// This is also how code that reads from the descriptor by itself waits: when such a read would
    /// block, so does `peek`, and that notifies the current task.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing has arrived; the current task is then notified when something has.
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.read_with(|tcp| tcp.peek(buf))
    }

    /// Closes one direction or both. `Write` sends FIN.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().shutdown(how)
    }

    /// Sets `TCP_NODELAY`: whether small packets are sent at once.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.get_ref().set_nodelay(nodelay)
    }

    /// Returns `TCP_NODELAY`.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.get_ref().nodelay()
    }

    /// Sets `SO_RCVBUF`, in bytes. Linux doubles it.
    pub fn set_recv_buffer_size(&self, size: usize) -> io::Result<()> {
        SockRef::from(self.io.get_ref()).set_recv_buffer_size(size)
    }

    /// Returns `SO_RCVBUF`, in bytes.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        SockRef::from(self.io.get_ref()).recv_buffer_size()
    }

    /// Sets `SO_SNDBUF`, in bytes. Linux doubles it.
    pub fn set_send_buffer_size(&self, size: usize) -> io::Result<()> {
        SockRef::from(self.io.get_ref()).set_send_buffer_size(size)
    }

    /// Returns `SO_SNDBUF`, in bytes.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        SockRef::from(self.io.get_ref()).send_buffer_size()
    }

    /// Turns keepalive probes on, after this much idle time in whole seconds, or off.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for less than a second, or the system's error.
    pub fn set_keepalive(&self, keepalive: Option<Duration>) -> io::Result<()> {
        options::set_keepalive(self.io.get_ref(), keepalive)
    }

    /// Returns the idle time before keepalive probes, or `None` when they are off.
    pub fn keepalive(&self) -> io::Result<Option<Duration>> {
        options::keepalive(self.io.get_ref())
    }

    /// Sets `IP_TTL`, the number of hops that packets may take.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }

    /// Returns `IP_TTL`.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets `IPV6_V6ONLY`: whether an IPv6 socket refuses IPv4. The system takes it only before the
    /// socket is bound or connected.
    pub fn set_only_v6(&self, only_v6: bool) -> io::Result<()> {
        options::set_only_v6(self.io.get_ref(), only_v6)
    }

    /// Returns `IPV6_V6ONLY`.
    pub fn only_v6(&self) -> io::Result<bool> {
        options::only_v6(self.io.get_ref())
    }

    /// Sets `SO_LINGER`: how long `close` goes on to send what is left, in whole seconds. Zero
    /// resets the connection on drop.
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(self.io.get_ref()).set_linger(dur)
    }

    /// Returns `SO_LINGER`.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self.io.get_ref()).linger()
    }

    /// Sets the idle time before keepalive probes, in milliseconds.
    #[deprecated(since = "0.1.8", note = "use set_keepalive")]
    #[doc(hidden)]
    pub fn set_keepalive_ms(&self, keepalive: Option<u32>) -> io::Result<()> {
        self.set_keepalive(keepalive.map(|ms| Duration::from_millis(ms.into())))
    }

    /// Returns the idle time before keepalive probes, in milliseconds.
    #[deprecated(since = "0.1.8", note = "use keepalive")]
    #[doc(hidden)]
    pub fn keepalive_ms(&self) -> io::Result<Option<u32>> {
        let idle = self.keepalive()?;
        Ok(idle.map(|idle| u32::try_from(idle.as_millis()).unwrap_or(u32::MAX)))
    }

    fn poll_read_buf<B: BufMut>(&self, buf: &mut B) -> Poll<usize, io::Error> {
        stream::poll_read_buf(&self.io, self.io.get_ref(), buf)
    }

    fn poll_write_buf<B: Buf>(&self, buf: &mut B) -> Poll<usize, io::Error> {
        stream::poll_write_buf(&self.io, self.io.get_ref(), buf)
    }

    fn read_pieces(&self, pieces: &mut [&mut IoVec]) -> io::Result<usize> {
        let mut slices: Vec<_> = pieces
            .iter_mut()
            .take(SLICES)
            .map(|piece| IoSliceMut::new(piece))
            .collect();
        self.io.read_with(|mut tcp| tcp.read_vectored(&mut slices))
    }
}

impl From<Source<net::TcpStream>> for TcpStream {
    fn from(io: Source<net::TcpStream>) -> TcpStream {
        TcpStream { io }
    }
}

impl Read for TcpStream {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        stream::read(&self.io, self.io.get_ref(), buf)
    }
}

impl Read for &TcpStream {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        stream::read(&self.io, self.io.get_ref(), buf)
    }
}

impl Write for TcpStream {
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        stream::write(&self.io, self.io.get_ref(), buf)
    }

    /// Does nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for &TcpStream {
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        stream::write(&self.io, self.io.get_ref(), buf)
    }

    /// Does nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

drop_in_io::async_read!(TcpStream);
drop_in_io::async_read!(&TcpStream);

impl AsyncWrite for TcpStream {
    /// Does nothing: [`TcpStream::shutdown`] sends FIN, and so does dropping the stream.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }

    /// Writes up to 64 pieces of `buf` in one call of the system.
    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll<usize, io::Error> {
        self.poll_write_buf(buf)
    }
}

impl AsyncWrite for &TcpStream {
    /// Does nothing: [`TcpStream::shutdown`] sends FIN, and so does dropping the stream.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }

    /// Writes up to 64 pieces of `buf` in one call of the system.
    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll<usize, io::Error> {
        self.poll_write_buf(buf)
    }
}

#[allow(deprecated)]
impl crate::io::Io for TcpStream {
    fn poll_read(&mut self) -> Async<()> {
        TcpStream::poll_read(self)
    }

    fn poll_write(&mut self) -> Async<()> {
        TcpStream::poll_write(self)
    }

    fn read_vec(&mut self, bufs: &mut [&mut IoVec]) -> io::Result<usize> {
        self.read_pieces(bufs)
    }

    fn write_vec(&mut self, bufs: &[&IoVec]) -> io::Result<usize> {
        stream::write_pieces(&self.io, self.io.get_ref(), bufs)
    }
}

#[allow(deprecated)]
impl crate::io::Io for &TcpStream {
    fn poll_read(&mut self) -> Async<()> {
        TcpStream::poll_read(self)
    }

    fn poll_write(&mut self) -> Async<()> {
        TcpStream::poll_write(self)
    }
}

impl AsRawFd for TcpStream {
    fn as_raw_fd(&self) -> RawFd {
        self.io.get_ref().as_raw_fd()
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.get_ref().fmt(f)
    }
}
