//! TCP connections.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{self, Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use bytes::{Buf, BufMut};
use drop_in_io::{block, options, socket, stream, STREAM};
use futures::{Async, Poll};
use socket2::SockRef;
use tokio_io::AsyncWrite;
use tokio_reactor::{Handle, Watched};

use crate::ConnectFuture;

/// A TCP connection.
///
/// Reading and writing go through a shared reference as well as an exclusive one. A call that would
/// block fails with `WouldBlock`, and the current task is notified when it is worth another try;
/// outside of a task it panics. At most one task can wait in each direction: the last one.
///
/// Dropping it closes the socket. There is no buffer here to flush; the system sends what it has
/// taken.
pub struct TcpStream {
    io: Watched<net::TcpStream>,
}

impl TcpStream {
    /// Opens a connection. The system starts to connect in this call, also if the future is never
    /// polled. The default reactor watches the socket from the first poll on.
    pub fn connect(addr: &SocketAddr) -> ConnectFuture {
        ConnectFuture::new(socket::connect(addr).map(|tcp| Watched::new(tcp, STREAM)))
    }

    /// Takes over a connected std stream.
    ///
    /// # Errors
    ///
    /// When the reactor is gone, or the system's error.
    pub fn from_std(stream: net::TcpStream, handle: &Handle) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        Ok(TcpStream {
            io: Watched::with_handle(stream, STREAM, handle)?,
        })
    }

    /// Connects a std stream that isn't connected yet, e.g. one that was bound to an address first.
    /// The system starts to connect in this call.
    pub fn connect_std(
        stream: net::TcpStream,
        addr: &SocketAddr,
        handle: &Handle,
    ) -> ConnectFuture {
        let begun = socket::connect_with(stream.into(), addr);
        ConnectFuture::new(begun.and_then(|tcp| Watched::with_handle(tcp, STREAM, handle)))
    }

    /// Ready with those events of `mask` that are known, and `hup`. Otherwise the current task is
    /// notified when there are some.
    ///
    /// # Errors
    ///
    /// When no event is known and the reactor is gone.
    ///
    /// # Panics
    ///
    /// If `mask` has `writable`; outside of a task, when no event is known.
    pub fn poll_read_ready(&self, mask: mio::Ready) -> Poll<mio::Ready, io::Error> {
        self.io.poll_read_ready(mask)
    }

    /// Ready if there may be room to write, or an error. Otherwise the current task is notified when
    /// there is.
    ///
    /// # Errors
    ///
    /// When there is no room and the reactor is gone.
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is no room.
    pub fn poll_write_ready(&self) -> Poll<mio::Ready, io::Error> {
        self.io.poll_write_ready()
    }

    /// Returns the address of this end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns the address of the other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
    }

    /// Copies bytes that have arrived to `buf` and leaves them to be read; returns how many. If none
    /// has, the current task is notified when some have.
    ///
    /// # Errors
    ///
    /// With the system's error.
    ///
    /// # Panics
    ///
    /// Outside of a task, when nothing has arrived.
    pub fn poll_peek(&mut self, buf: &mut [u8]) -> Poll<usize, io::Error> {
        self.io.poll_read(|tcp| tcp.peek(buf))
    }

    /// The same; fails with `WouldBlock` when nothing has arrived.
    #[deprecated(since = "0.1.2", note = "use poll_peek")]
    #[doc(hidden)]
    pub fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        block(self.poll_peek(buf))
    }

    /// Closes one direction or both. `Write` sends FIN.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().shutdown(how)
    }

    /// Returns `TCP_NODELAY`: whether small packets are sent at once.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.get_ref().nodelay()
    }

    /// Sets `TCP_NODELAY`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.get_ref().set_nodelay(nodelay)
    }

    /// Returns `SO_RCVBUF`, in bytes.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        SockRef::from(self.io.get_ref()).recv_buffer_size()
    }

    /// Sets `SO_RCVBUF`, in bytes. Linux doubles it.
    pub fn set_recv_buffer_size(&self, size: usize) -> io::Result<()> {
        SockRef::from(self.io.get_ref()).set_recv_buffer_size(size)
    }

    /// Returns `SO_SNDBUF`, in bytes.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        SockRef::from(self.io.get_ref()).send_buffer_size()
    }

    /// Sets `SO_SNDBUF`, in bytes. Linux doubles it.
    pub fn set_send_buffer_size(&self, size: usize) -> io::Result<()> {
        SockRef::from(self.io.get_ref()).set_send_buffer_size(size)
    }

    /// Returns the idle time before keepalive probes, or `None` when they are off.
    pub fn keepalive(&self) -> io::Result<Option<Duration>> {
        options::keepalive(self.io.get_ref())
    }

    /// Turns keepalive probes on, after this much idle time in whole seconds, or off.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for less than a second, or the system's error.
    pub fn set_keepalive(&self, keepalive: Option<Duration>) -> io::Result<()> {
        options::set_keepalive(self.io.get_ref(), keepalive)
    }

    /// Returns `IP_TTL`, the number of hops that packets may take.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets `IP_TTL`.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }

    /// Returns `SO_LINGER`: how long `close` goes on to send what is left.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self.io.get_ref()).linger()
    }

    /// Sets `SO_LINGER`, in whole seconds. Zero resets the connection on drop.
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        SockRef::from(self.io.get_ref()).set_linger(dur)
    }

    /// Fails, as tokio-tcp's does.
    #[deprecated(since = "0.1.14", note = "use `split()`")]
    #[doc(hidden)]
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        Err(io::Error::other(
            "`TcpStream::try_clone()` is deprecated because it doesn't work as intended",
        ))
    }

    fn poll_read_buf<B: BufMut>(&self, buf: &mut B) -> Poll<usize, io::Error> {
        stream::poll_read_buf(self.io.readiness()?, self.io.get_ref(), buf)
    }
}

impl From<Watched<net::TcpStream>> for TcpStream {
    fn from(io: Watched<net::TcpStream>) -> TcpStream {
        TcpStream { io }
    }
}

impl Read for TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }
}

impl Read for &TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        stream::read(self.io.readiness()?, self.io.get_ref(), buf)
    }
}

impl Write for TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    /// Does nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for &TcpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        stream::write(self.io.readiness()?, self.io.get_ref(), buf)
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
        (&*self).write_buf(buf)
    }
}

impl AsyncWrite for &TcpStream {
    /// Does nothing: [`TcpStream::shutdown`] sends FIN, and so does dropping the stream.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }

    /// Writes up to 64 pieces of `buf` in one call of the system.
    fn write_buf<B: Buf>(&mut self, buf: &mut B) -> Poll<usize, io::Error> {
        stream::poll_write_buf(self.io.readiness()?, self.io.get_ref(), buf)
    }
}

impl AsRawFd for TcpStream {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}
