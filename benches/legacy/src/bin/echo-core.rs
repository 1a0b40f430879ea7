//! `echo-core -t THREADS -p PORT`: an echo server on futures 0.1 and tokio-core.
//!
//! Does: a `Core` for each thread with a listener of its own (`SO_REUSEPORT`), a future for each connection, one scratch
//! buffer a thread, an own buffer only for what could not be written, `TCP_NODELAY`.
//! Doesn't: timeouts, logging.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::rc::Rc;

use futures::{task, try_ready, Async, Future, Poll, Stream};
use net2::unix::UnixTcpBuilderExt;
use net2::TcpBuilder;
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::Core;

use serving::Serving;

#[path = "../../../src/peer/serving.rs"]
mod serving;

const SCRATCH: usize = 16 * 1024;
/// Messages that one connection may echo before the others have their turn.
const ROUNDS: usize = 32;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(serve)
}

fn serve(listen: SocketAddr) -> io::Result<()> {
    let mut core = Core::new()?;
    let handle = core.handle();
    let listener = TcpBuilder::new_v4()?
        .reuse_address(true)?
        .reuse_port(true)?
        .bind(listen)?
        .listen(4096)?;
    let listener = TcpListener::from_listener(listener, &listen, &handle)?;
    let scratch = Rc::new(RefCell::new(vec![0; SCRATCH]));
    core.run(listener.incoming().for_each(|(stream, _)| {
        stream.set_nodelay(true)?;
        handle.spawn(Echo::new(stream, scratch.clone()).map_err(drop));
        Ok(())
    }))
}

/// Sends back what it reads, until the end of file.
///
/// ```text
/// reading ── the socket took less than was read ──▶ flushing ── all of it went ──▶ reading
/// ```
#[must_use = "futures do nothing unless polled"]
struct Echo {
    stream: TcpStream,
    scratch: Rc<RefCell<Vec<u8>>>,
    /// What the socket did not take; while there is some, nothing more is read.
    kept: Vec<u8>,
}

impl Echo {
    fn new(stream: TcpStream, scratch: Rc<RefCell<Vec<u8>>>) -> Echo {
        Echo {
            stream,
            scratch,
            kept: Vec::new(),
        }
    }

    fn flush(&mut self) -> Poll<(), io::Error> {
        while !self.kept.is_empty() {
            let sent = try_ready!(nonblocking(self.stream.write(&self.kept)));
            self.kept.drain(..sent);
        }
        Ok(Async::Ready(()))
    }

    /// Echoes what one read gives; ready with false at the end of file.
    fn echo(&mut self) -> Poll<bool, io::Error> {
        let mut scratch = self.scratch.borrow_mut();
        let read = try_ready!(nonblocking(self.stream.read(&mut scratch)));
        if read == 0 {
            return Ok(Async::Ready(false));
        }
        let sent = match nonblocking(self.stream.write(&scratch[..read]))? {
            Async::Ready(sent) => sent,
            Async::NotReady => 0,
        };
        self.kept.extend_from_slice(&scratch[sent..read]);
        Ok(Async::Ready(true))
    }
}

impl Future for Echo {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(), io::Error> {
        for _ in 0..ROUNDS {
            try_ready!(self.flush());
            if !try_ready!(self.echo()) {
                return Ok(Async::Ready(()));
            }
        }
        task::current().notify();
        Ok(Async::NotReady)
    }
}

fn nonblocking<T>(result: io::Result<T>) -> Poll<T, io::Error> {
    match result {
        Ok(value) => Ok(Async::Ready(value)),
        Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(e) => Err(e),
    }
}
