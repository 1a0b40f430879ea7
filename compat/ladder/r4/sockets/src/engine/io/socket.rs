//! Connected stream sockets, registered with the runtime.
//!
//! tokio's `TcpStream` passes EINTR to its caller, treats a short read as the end of what has
//! arrived even before urgent data and on a Unix socket, and can't be polled for an error alone. So
//! [`Socket`] is an [`AsyncFd`].
//!
//! The streams above it keep the old traits, which it implements over the new ones: a call that would
//! block has registered the waker of the current 0.1 task.
//!
//! Invariant: a call that returns `Pending` has arranged for the current task to be woken.

use std::future::{poll_fn, Future};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::io::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use futures::{Async, Future as _, Poll as Poll01};
use socket2::{Domain, Protocol, SockAddr, Type};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio_core_compat::task::As01;

use super::bound_socket::set_keepalive;
use super::transport::Transport;
use crate::config::Keepalive;
use crate::os::sys::Pipe;
use crate::os::unacknowledged;

/// Registers a socket with the runtime.
///
/// The newer `register` is unsafe, since a type other than a socket could close its descriptor
/// first.
#[allow(deprecated)]
pub(super) fn register(
    io: socket2::Socket,
    interest: Interest,
) -> io::Result<AsyncFd<socket2::Socket>> {
    AsyncFd::with_interest(io, interest)
}

/// A connected TCP or Unix stream. Dropping the socket closes the connection.
pub struct Socket {
    /// Shared only with `failure`.
    io: Rc<AsyncFd<socket2::Socket>>,
    is_unix: bool,
    /// Resolves to the error of a socket that isn't read from at the moment; dropped by the next
    /// read.
    failure: Option<Pin<Box<dyn Future<Output = io::Error>>>>,
}

impl Socket {
    /// Begins to connect to `address`, before the returned future is polled. Dropping the future
    /// abandons the attempt.
    ///
    /// # Errors
    ///
    /// The errors of socket(2), such as `EMFILE`, and of connect(2) if that fails at once, such as
    /// `ENETUNREACH`.
    pub fn connect(
        address: &SocketAddr,
        keepalive: Option<Keepalive>,
    ) -> io::Result<impl Future<Output = io::Result<Socket>>> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let io = socket2::Socket::new(Domain::for_address(*address), kind, Some(Protocol::TCP))?;
        io.set_nodelay(true)?;
        set_keepalive(&io, keepalive)?;
        match io.connect(&SockAddr::from(*address)) {
            Ok(()) => {}
            Err(ref e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(e) => return Err(e),
        }
        let socket = Socket::new(io, false)?;
        Ok(async {
            drop(socket.io.writable().await?);
            match socket.io.get_ref().take_error()? {
                Some(e) => Err(e),
                None => Ok(socket),
            }
        })
    }

    /// Registers a Unix stream that ptunnel has made, such as one end of a pair.
    ///
    /// # Errors
    ///
    /// The errors of fcntl(2) and epoll_ctl(2).
    pub fn from_unix(stream: UnixStream) -> io::Result<Socket> {
        stream.set_nonblocking(true)?;
        Socket::new(stream.into(), true)
    }

    pub(super) fn new(io: socket2::Socket, is_unix: bool) -> io::Result<Socket> {
        let interest = Interest::READABLE | Interest::WRITABLE | Interest::PRIORITY;
        Ok(Socket {
            io: Rc::new(register(io, interest)?),
            is_unix,
            failure: None,
        })
    }

    /// Returns the peer's address and this side's; `None` for a Unix socket, and after a reset.
    pub(crate) fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        let io = self.io.get_ref();
        let peer = io.peer_addr().ok()?.as_socket()?;
        Some((peer, io.local_addr().ok()?.as_socket()?))
    }

    /// Calls `call` when the socket can be read. A call that moves some, but fewer than `most`
    /// bytes, has drained it, and the next one waits for an event.
    fn poll_read_with(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        mut call: impl FnMut(&socket2::Socket) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.failure = None;
        loop {
            let mut guard = ready!(self.io.poll_read_ready(cx))?;
            match guard.try_io(|io| call(io.get_ref())) {
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(answer) => {
                    if matches!(answer, Ok(count) if (1..most).contains(&count))
                        && self.is_drained_by_short_read()
                    {
                        guard.clear_ready();
                    }
                    return Poll::Ready(answer);
                }
                Err(_would_block) => {}
            }
        }
    }

    /// Returns whether a read that didn't fill its buffer has taken everything.
    ///
    /// A read of a Unix socket ends before a message with other credentials or with descriptors
    /// (SCM_RIGHTS), and one of TCP before urgent data, and no event announces what follows.
    fn is_drained_by_short_read(&self) -> bool {
        !self.is_unix && !self.had_urgent_data()
    }

    /// Returns whether urgent data was ever announced.
    fn had_urgent_data(&self) -> bool {
        self.io.try_io(Interest::PRIORITY, |_| Ok(())).is_ok()
    }

    /// Calls `call` when the socket can be written.
    fn poll_write_with(
        &self,
        cx: &mut Context<'_>,
        most: usize,
        mut call: impl FnMut(&socket2::Socket) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.io.poll_write_ready(cx))?;
            match guard.try_io(|io| call(io.get_ref())) {
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(answer) => {
                    if matches!(answer, Ok(count) if (1..most).contains(&count)) {
                        guard.clear_ready();
                    }
                    return Poll::Ready(answer);
                }
                Err(_would_block) => {}
            }
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let free = buffer.initialize_unfilled();
        let most = free.len();
        let count = ready!(self.poll_read_with(cx, most, |mut io| io.read(free)))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, bytes.len(), |mut io| io.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Sends FIN: the peer reads the end of the stream, and can go on sending.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.io.get_ref().shutdown(Shutdown::Write) {
            // The peer has reset the connection, which the next read reports.
            Err(ref e) if e.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            answer => Poll::Ready(answer),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(buffer);
        non_blocking(|cx| Pin::new(&mut *self).poll_read(cx, &mut buffer))?;
        Ok(buffer.filled().len())
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        non_blocking(|cx| Pin::new(&mut *self).poll_write(cx, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tokio_io::AsyncRead for Socket {}

impl tokio_io::AsyncWrite for Socket {
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        poll_01(|cx| Pin::new(&mut *self).poll_shutdown(cx))
    }
}

/// Polls for the current 0.1 task.
fn poll_01<T>(
    poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>> + Unpin,
) -> Poll01<T, io::Error> {
    As01::new(poll_fn(poll)).poll()
}

/// Polls for the current 0.1 task; fails with `WouldBlock` if the task must wait.
fn non_blocking<T>(
    poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>> + Unpin,
) -> io::Result<T> {
    match poll_01(poll)? {
        Async::Ready(value) => Ok(value),
        Async::NotReady => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Transport for Socket {
    fn check(&mut self) -> io::Result<()> {
        let failure = self.failure.get_or_insert_with(|| {
            let io = self.io.clone();
            Box::pin(async move { failed(&io).await })
        });
        match poll_01(|cx| failure.as_mut().poll(cx).map(Ok))? {
            Async::Ready(e) => {
                self.failure = None;
                Err(e)
            }
            Async::NotReady => Ok(()),
        }
    }

    /// Returns 0 on a Unix socket: the bytes written there are in the peer's buffer, and a reset
    /// doesn't destroy them.
    fn unacknowledged(&self) -> usize {
        if self.is_unix {
            return 0;
        }
        unacknowledged(self.io.get_ref()).unwrap_or(0)
    }

    fn can_splice(&self) -> bool {
        true
    }

    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll01<usize, io::Error> {
        // splice(2) never passes urgent data; recv(2) does.
        let stops = self.had_urgent_data();
        let mut fill = |io: &socket2::Socket| match pipe.fill(io, most) {
            Err(ref e) if stops && e.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::InvalidInput.into())
            }
            answer => answer,
        };
        poll_01(|cx| self.poll_read_with(cx, 0, &mut fill))
    }

    fn splice_into(&mut self, pipe: &Pipe, most: usize) -> Poll01<usize, io::Error> {
        poll_01(|cx| self.poll_write_with(cx, 0, |io| pipe.drain(io, most)))
    }

    fn reset(&mut self) {
        // Fails on a Unix stream, which has no RST: its peer reads an end.
        let _ = self.io.get_ref().set_linger(Some(Duration::from_secs(0)));
    }
}

/// Resolves to the socket's error once it has one; its end alone is no error.
async fn failed(io: &AsyncFd<socket2::Socket>) -> io::Error {
    loop {
        let mut guard = match io.ready(Interest::ERROR).await {
            Ok(guard) => guard,
            Err(e) => return e,
        };
        match io.get_ref().take_error() {
            Ok(None) => guard.clear_ready(), // returned already: wait for the next event
            Ok(Some(e)) | Err(e) => return e,
        }
    }
}
