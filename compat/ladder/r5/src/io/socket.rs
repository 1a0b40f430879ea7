//! Connected stream sockets, registered with the runtime.
//!
//! tokio's `TcpStream` passes EINTR to its caller, treats a short read as the end of what has
//! arrived even before urgent data and on a Unix socket, and can't be polled for an error alone. So
//! [`Socket`] is an [`AsyncFd`].
//!
//! Invariant: a call that returns `Pending` has arranged for the current task to be woken.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::io::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Type};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use super::bound_socket::set_keepalive;
use super::transport::Transport;
use ptunnel_core::config::Keepalive;
use ptunnel_core::os::sys::Pipe;
use ptunnel_core::os::unacknowledged;

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

impl Transport for Socket {
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let failure = self.failure.get_or_insert_with(|| {
            let io = self.io.clone();
            Box::pin(async move { failed(&io).await })
        });
        match failure.as_mut().poll(cx) {
            Poll::Ready(e) => {
                self.failure = None;
                Err(e)
            }
            Poll::Pending => Ok(()),
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

    fn splice_from(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        // splice(2) never passes urgent data; recv(2) does.
        let stops = self.had_urgent_data();
        self.poll_read_with(cx, 0, |io| match pipe.fill(io, most) {
            Err(ref e) if stops && e.kind() == io::ErrorKind::WouldBlock => {
                Err(io::ErrorKind::InvalidInput.into())
            }
            answer => answer,
        })
    }

    fn splice_into(
        &mut self,
        cx: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(cx, 0, |io| pipe.drain(io, most))
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::TcpListener;

    use tokio::io::AsyncReadExt;
    use tokio::time::timeout;

    use super::*;
    use crate::io::runtime;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Runs `test` with a socket and its peer's.
    fn with_pair<F: Future<Output = ()>>(test: impl FnOnce(Socket, socket2::Socket) -> F) {
        runtime().unwrap().block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let connecting = Socket::connect(&listener.local_addr().unwrap(), None);
            let socket = connecting.unwrap().await.unwrap();
            let peer = listener.accept().unwrap().0.into();
            timeout(LIMIT, test(socket, peer)).await.expect("it hangs");
        });
    }

    #[test]
    fn what_comes_behind_an_urgent_byte_is_read() {
        with_pair(|mut socket, peer| async move {
            peer.send(b"before").unwrap();
            peer.send_out_of_band(b"!").unwrap();
            peer.send(b"behind").unwrap();
            while unacknowledged(&peer).unwrap() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let mut read = Vec::new();
            while read != b"beforebehind" {
                socket.read_buf(&mut read).await.unwrap();
            }
        });
    }

    #[test]
    fn a_reset_is_noticed_without_a_read() {
        with_pair(|mut socket, peer| async move {
            peer.send(b"unread").unwrap();
            peer.set_linger(Some(Duration::ZERO)).unwrap();
            let mut peer = Some(peer);
            let error = poll_fn(|cx| match socket.check(cx) {
                Ok(()) => {
                    peer = None; // resets the connection, once the task waits
                    Poll::Pending
                }
                Err(e) => Poll::Ready(e),
            });
            assert_eq!(error.await.kind(), io::ErrorKind::ConnectionReset);
        });
    }
}
