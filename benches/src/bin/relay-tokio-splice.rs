//! `relay-tokio-splice LISTEN TARGET`: tokio 1 with the idea that `relay-epoll` has.
//!
//! Does: the current-thread runtime, a task a tunnel; small messages through one scratch buffer per thread; an own
//! buffer only for what could not be written; splice(2) with a pooled pipe once a direction filled the scratch twice
//! in a row, back to copying after a turn that moved little; half-close in both directions; `TCP_NODELAY`.
//! Doesn't: timeouts, names, several threads.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use ptunnel_benches::peer::pipes::{Pipe, Pool};
use ptunnel_benches::peer::Addresses;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};

const SCRATCH: usize = 64 * 1024;
/// Full reads in a row after which a direction is taken for bulk.
const FULL: u8 = 2;
/// A spliced turn that moved less than this was no bulk.
const LITTLE: usize = 16 * 1024;
/// Reads a direction may do before the others have their turn. More gain no bulk, and make a ping wait tenfold;
/// with one, a message that drained its socket would look unfinished.
const ROUNDS: usize = 2;

thread_local! {
    static SCRATCH_BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
    static POOL: RefCell<Pool> = RefCell::default();
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let Addresses { listen, target, .. } = Addresses::from_args();
    let listener = TcpListener::bind(listen).await?;
    loop {
        let (mut client, _) = listener.accept().await?;
        tokio::spawn(async move {
            // The end of a tunnel, orderly or not, is no news to a relay that logs nothing.
            let _ = async {
                let mut server = TcpStream::connect(target).await?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                relay(&mut client, &mut server).await
            }
            .await;
        });
    }
}

async fn relay(client: &mut TcpStream, server: &mut TcpStream) -> io::Result<()> {
    let (mut client_read, mut client_write) = client.split();
    let (mut server_read, mut server_write) = server.split();
    let (mut up, mut down) = (Half::default(), Half::default());
    loop {
        let turn = poll_fn(|cx| {
            let uploaded = up.poll(cx, &mut client_read, &mut server_write)?;
            let downloaded = down.poll(cx, &mut server_read, &mut client_write)?;
            match (uploaded, downloaded) {
                (Poll::Ready(Turn::Ended), Poll::Ready(Turn::Ended)) => {
                    Poll::Ready(Ok(Turn::Ended))
                }
                (Poll::Ready(Turn::Over), _) | (_, Poll::Ready(Turn::Over)) => {
                    Poll::Ready(Ok(Turn::Over))
                }
                _ => Poll::Pending,
            }
        });
        match turn.await {
            Ok(Turn::Ended) => return Ok(()),
            // A wake of itself would keep the runtime from its sockets for 61 turns; this one looks there first.
            Ok(Turn::Over) => tokio::task::yield_now().await,
            Err(e) => return Err(e),
        }
    }
}

/// Why a half stops without waiting for a socket.
enum Turn {
    Ended,
    /// Its rounds are used up.
    Over,
}

/// One direction. Holds a buffer or a pipe only while bytes wait for the socket to take them.
#[derive(Default)]
struct Half {
    kept: Vec<u8>,
    sent: usize,
    pipe: Option<Pipe>,
    full: u8,
    splicing: bool,
    ended: bool,
    shut: bool,
}

impl Drop for Half {
    fn drop(&mut self) {
        if let Some(pipe) = self.pipe.take() {
            POOL.with_borrow_mut(|pool| pool.put(pipe));
        }
    }
}

impl Half {
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut ReadHalf<'_>,
        to: &mut WriteHalf<'_>,
    ) -> Poll<io::Result<Turn>> {
        if self.shut {
            return Poll::Ready(Ok(Turn::Ended));
        }
        for _ in 0..ROUNDS {
            ready!(self.flush(cx, to))?;
            if self.ended {
                ready!(Pin::new(&mut *to).poll_shutdown(cx))?;
                self.shut = true;
                return Poll::Ready(Ok(Turn::Ended));
            }
            if self.splicing {
                ready!(self.splice(cx, from))?;
            } else {
                ready!(self.copy(cx, from, to))?;
            }
        }
        Poll::Ready(Ok(Turn::Over))
    }

    /// Ready when nothing is held any more.
    fn flush(&mut self, cx: &mut Context<'_>, to: &mut WriteHalf<'_>) -> Poll<io::Result<()>> {
        if let Some(mut pipe) = self.pipe.take() {
            let socket: &TcpStream = to.as_ref();
            let outcome = loop {
                let drained = socket.try_io(Interest::WRITABLE, || Ok(pipe.drain(socket.as_fd())?));
                match drained {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                        match socket.poll_write_ready(cx) {
                            Poll::Ready(Ok(())) => {}
                            other => break other,
                        }
                    }
                    other => break Poll::Ready(other),
                }
            };
            if pipe.held() > 0 {
                self.pipe = Some(pipe);
            } else {
                POOL.with_borrow_mut(|pool| pool.put(pipe));
            }
            ready!(outcome)?;
        }
        while self.sent < self.kept.len() {
            let rest = &self.kept[self.sent..];
            self.sent += ready!(Pin::new(&mut *to).poll_write(cx, rest))?;
        }
        if self.sent > 0 {
            self.kept = Vec::new();
            self.sent = 0;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads through the scratch: tokio's own read takes a short one for drained, a splice could not.
    fn copy(
        &mut self,
        cx: &mut Context<'_>,
        from: &mut ReadHalf<'_>,
        to: &mut WriteHalf<'_>,
    ) -> Poll<io::Result<()>> {
        SCRATCH_BUFFER.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            ready!(Pin::new(from).poll_read(cx, &mut buffer))?;
            let bytes = buffer.filled();
            if bytes.is_empty() {
                self.ended = true;
                return Poll::Ready(Ok(()));
            }
            self.full = if bytes.len() == SCRATCH {
                self.full + 1
            } else {
                0
            };
            if self.full == FULL {
                self.full = 0;
                self.splicing = true;
            }
            let written = match Pin::new(to).poll_write(cx, bytes)? {
                Poll::Ready(written) => written,
                Poll::Pending => 0,
            };
            if written < bytes.len() {
                self.kept = bytes[written..].to_vec();
            }
            Poll::Ready(Ok(()))
        })
    }

    /// Fills a pipe; the flush of the next round empties it.
    fn splice(&mut self, cx: &mut Context<'_>, from: &mut ReadHalf<'_>) -> Poll<io::Result<()>> {
        let socket: &TcpStream = from.as_ref();
        loop {
            ready!(socket.poll_read_ready(cx))?;
            let Some(mut pipe) = POOL.with_borrow_mut(Pool::take) else {
                self.splicing = false;
                return Poll::Ready(Ok(()));
            };
            let filled = socket.try_io(Interest::READABLE, || Ok(pipe.fill(socket.as_fd())?));
            match filled {
                Ok(n) if n > 0 => {
                    self.splicing = n >= LITTLE;
                    self.pipe = Some(pipe);
                    return Poll::Ready(Ok(()));
                }
                other => {
                    POOL.with_borrow_mut(|pool| pool.put(pipe));
                    match other {
                        Ok(_) => {
                            self.ended = true;
                            return Poll::Ready(Ok(()));
                        }
                        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                        Err(e) => return Poll::Ready(Err(e)),
                    }
                }
            }
        }
    }
}
