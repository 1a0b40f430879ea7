//! Traits and futures for streams of bytes, from before tokio-io.
//!
//! Libraries of early 2017 ask for them: tokio-proto's default features, and through it hyper 0.11.

#![deprecated(note = "moved to the `tokio-io` crate")]
#![allow(deprecated)]

use std::io;

use futures::{Async, Future, Poll, Stream};
use iovec::IoVec;

/// A boxed future that fails with an `io::Error`.
pub type IoFuture<T> = Box<dyn Future<Item = T, Error = io::Error> + Send>;

/// A boxed stream that fails with an `io::Error`.
pub type IoStream<T> = Box<dyn Stream<Item = T, Error = io::Error> + Send>;

/// Takes the value out of an `io::Result`. On `WouldBlock` it returns `Ok(Async::NotReady)` from the
/// function around it, on any other error that error.
///
/// Sound only after a call that has left the current task registered, as those of this crate do.
#[macro_export]
macro_rules! try_nb {
    ($e:expr) => {
        match $e {
            Ok(value) => value,
            Err(ref error) if error.kind() == ::std::io::ErrorKind::WouldBlock => {
                return Ok($crate::private::Async::NotReady)
            }
            Err(error) => return Err(error.into()),
        }
    };
}

mod codec;
mod copy;
mod easy_buf;
mod flush;
mod framed;
mod read;
mod read_exact;
mod read_to_end;
mod read_until;
mod split;
mod window;
mod write_all;

pub use self::codec::Codec;
pub use self::copy::{copy, Copy};
pub use self::easy_buf::{EasyBuf, EasyBufMut};
pub use self::flush::{flush, Flush};
pub use self::framed::Framed;
pub use self::read::{read, Read};
pub use self::read_exact::{read_exact, ReadExact};
pub use self::read_to_end::{read_to_end, ReadToEnd};
pub use self::read_until::{read_until, ReadUntil};
pub use self::split::{ReadHalf, WriteHalf};
pub use self::window::Window;
pub use self::write_all::{write_all, WriteAll};

/// A stream of bytes that never blocks.
///
/// Where a method would block, it says so, and the current task is notified when it is worth another
/// try.
pub trait Io: io::Read + io::Write {
    /// Returns whether a read may succeed. If not, the current task is notified when it may.
    ///
    /// By default always ready.
    ///
    /// # Panics
    ///
    /// Outside of a task, for most streams.
    fn poll_read(&mut self) -> Async<()> {
        Async::Ready(())
    }

    /// Returns whether a write may succeed. If not, the current task is notified when it may.
    ///
    /// By default always ready.
    ///
    /// # Panics
    ///
    /// Outside of a task, for most streams.
    fn poll_write(&mut self) -> Async<()> {
        Async::Ready(())
    }

    /// Reads into several buffers, one after the other; returns the number of bytes.
    ///
    /// By default only the first is used.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when nothing has arrived.
    fn read_vec(&mut self, bufs: &mut [&mut IoVec]) -> io::Result<usize> {
        match bufs.first_mut() {
            Some(buf) => self.read(buf),
            None => Ok(0),
        }
    }

    /// Writes several buffers, one after the other; returns the number of bytes.
    ///
    /// By default only the first is used.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when there is no room.
    fn write_vec(&mut self, bufs: &[&IoVec]) -> io::Result<usize> {
        match bufs.first() {
            Some(buf) => self.write(buf),
            None => Ok(0),
        }
    }

    /// Turns this into a stream and a sink of frames.
    fn framed<C: Codec>(self, codec: C) -> Framed<Self, C>
    where
        Self: Sized,
    {
        Framed::new(self, codec)
    }

    /// Splits this into a half that reads and one that writes, for two tasks.
    fn split(self) -> (ReadHalf<Self>, WriteHalf<Self>)
    where
        Self: Sized,
    {
        split::split(self)
    }
}

/// A transport of frames, from before `Stream` and `Sink`.
#[doc(hidden)]
#[deprecated(since = "0.1.1", note = "replaced by Sink + Stream")]
pub trait FramedIo {
    /// The frames that are written.
    type In;

    /// The frames that are read.
    type Out;

    /// Returns whether a read may succeed. If not, the current task is notified when it may.
    fn poll_read(&mut self) -> Async<()>;

    /// Reads a frame.
    fn read(&mut self) -> Poll<Self::Out, io::Error>;

    /// Returns whether a write will succeed. If not, the current task is notified when it will.
    fn poll_write(&mut self) -> Async<()>;

    /// Takes a frame to be written.
    fn write(&mut self, req: Self::In) -> Poll<(), io::Error>;

    /// Writes what was taken.
    fn flush(&mut self) -> Poll<(), io::Error>;
}
