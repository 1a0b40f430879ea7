//! One connection with two users on one task: requests are read from it, replies are written to it.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::rc::Rc;

use futures::Poll;
use ptunnel::io::Transport;
use tokio_io::{AsyncRead, AsyncWrite};

/// `tokio_io`'s `split` does the same for streams that may move to another thread, at the price of a lock.
pub struct Shared<S>(Rc<Inner<S>>);

struct Inner<S> {
    stream: RefCell<S>,
    turn: Cell<u32>,
}

impl<S> Shared<S> {
    pub fn new(stream: S) -> Shared<S> {
        Shared(Rc::new(Inner {
            stream: RefCell::new(stream),
            turn: Cell::new(0),
        }))
    }

    /// Begins another turn: the connection's task is polled.
    pub fn begin_turn(&self) {
        self.0.turn.set(self.0.turn.get().wrapping_add(1));
    }

    pub fn turn(&self) -> u32 {
        self.0.turn.get()
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Shared<S> {
        Shared(self.0.clone())
    }
}

impl<S: Transport> Shared<S> {
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.stream.borrow_mut().read(buffer)
    }

    /// After a short read: see [`Transport::is_drained`].
    pub fn is_drained(&self) -> bool {
        self.0.stream.borrow_mut().is_drained()
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.stream.borrow_mut().write(bytes)
    }

    pub fn flush(&self) -> io::Result<()> {
        self.0.stream.borrow_mut().flush()
    }

    pub fn shutdown(&self) -> Poll<(), io::Error> {
        self.0.stream.borrow_mut().shutdown()
    }
}

/// A stream that has only `Read` and `Write`: tokio-core's own, or one with TLS on it.
pub struct Opaque<S>(pub S);

impl<S: Read> Read for Opaque<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<S: Write> Write for Opaque<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: AsyncRead> AsyncRead for Opaque<S> {}

impl<S: AsyncWrite> AsyncWrite for Opaque<S> {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        self.0.shutdown()
    }
}

impl<S: AsyncRead + AsyncWrite> Transport for Opaque<S> {}
