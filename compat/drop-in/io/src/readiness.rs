//! What is known of a descriptor's readiness.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use futures::task::AtomicTask;
use futures::Async;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::runtime;

use crate::Ready;

/// What most descriptors are watched for.
pub const READ_WRITE: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// What streams are watched for: urgent bytes, too, where those can be distinguished.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub const STREAM: Interest = READ_WRITE.add(Interest::PRIORITY);
/// What streams are watched for.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub const STREAM: Interest = READ_WRITE;

/// Returns `WouldBlock` for `NotReady`.
///
/// # Errors
///
/// That of `polled`, or `WouldBlock`.
pub fn block<T>(polled: futures::Poll<T, io::Error>) -> io::Result<T> {
    match polled? {
        Async::Ready(value) => Ok(value),
        Async::NotReady => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// Called at each event that a task may wait for, before the task is notified.
pub type OnEvent = Arc<dyn Fn() + Send + Sync>;

/// What is known of a descriptor's readiness.
///
/// The readiness that tokio reports is moved here, into `ready`, when a task looks at it, and stays
/// until an operation would block. What the system reports between that look and the operation
/// comes on top, so that no event is lost. This is what tokio-core 0.1.12 and tokio-reactor did.
///
/// No call allocates: tokio gets one waker for each direction, for life, and each wakes the 0.1
/// task that waited last.
pub struct Readiness {
    fd: AsyncFd<RawFd>,
    ready: AtomicU8,
    /// Whether a read that took less than it could has emptied the system's buffer.
    short_reads_drain: bool,
    reader: Direction,
    writer: Direction,
}

/// The task that waits for one direction.
struct Direction {
    waiting: Arc<Waiting>,
    waker: Waker,
}

struct Waiting {
    task: AtomicTask,
    on_event: Option<OnEvent>,
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(on_event) = &self.on_event {
            on_event();
        }
        self.task.notify();
    }
}

impl Direction {
    fn new(on_event: Option<OnEvent>) -> Direction {
        let waiting = Arc::new(Waiting {
            task: AtomicTask::new(),
            on_event,
        });
        Direction {
            waker: Waker::from(waiting.clone()),
            waiting,
        }
    }
}

impl Readiness {
    /// Puts `fd` under the watch of `runtime` for the events of `interest`. It has to be dropped
    /// before the descriptor is closed.
    ///
    /// tokio 1.54 deprecates its safe constructor, because the owner might close the descriptor before
    /// the watch ends. The drop-ins' own sockets don't: they live as long as the watch, and are only
    /// lent out by shared reference. `PollEvented` asks the same of its callers.
    ///
    /// # Errors
    ///
    /// When the system can't watch it (`PermissionDenied` for a regular file), or the runtime is gone.
    ///
    /// # Panics
    ///
    /// If the runtime was built without I/O.
    #[allow(deprecated)]
    pub fn new(
        fd: RawFd,
        interest: Interest,
        runtime: &runtime::Handle,
        on_event: Option<OnEvent>,
    ) -> io::Result<Readiness> {
        let inside = runtime.enter();
        let fd = AsyncFd::with_interest(fd, interest)?;
        drop(inside);
        Ok(Readiness {
            fd,
            ready: AtomicU8::new(0),
            short_reads_drain: true,
            reader: Direction::new(on_event.clone()),
            writer: Direction::new(on_event),
        })
    }

    /// Keeps the readiness after a short read: for Unix sockets, on which a read ends before a message
    /// with other credentials or with descriptors, and no event announces what is behind.
    pub fn keep_after_short_reads(&mut self) {
        self.short_reads_drain = false;
    }

    /// Ready if reading is worth a try. Otherwise the current task is notified when it is.
    pub fn poll_read(&self) -> Async<()> {
        self.poll(Ready::READ | Ready::HUP).map(drop)
    }

    /// Ready if writing is worth a try. Otherwise the current task is notified when it is.
    pub fn poll_write(&self) -> Async<()> {
        self.poll(Ready::WRITE).map(drop)
    }

    /// Ready with the events of `mask` that are known; with none for an empty mask.
    ///
    /// A runtime that is gone counts as ready: the operation then shows what is left to read.
    pub fn poll(&self, mask: Ready) -> Async<Ready> {
        self.poll_events(mask).unwrap_or(Async::Ready(mask))
    }

    /// Ready with the events of `mask` that are known; with none for an empty mask. Otherwise the
    /// current task is notified when there are some.
    ///
    /// # Errors
    ///
    /// When none is known and the runtime is gone.
    pub fn poll_events(&self, mask: Ready) -> io::Result<Async<Ready>> {
        let known = self.known(mask);
        if !known.is_empty() || mask.is_empty() {
            return Ok(Async::Ready(known));
        }
        self.wait(mask)
    }

    /// Returns the events of `mask` that are known, new ones included. No task is notified of others.
    ///
    /// # Errors
    ///
    /// When none is known and the runtime is gone.
    pub fn look(&self, mask: Ready) -> io::Result<Ready> {
        Ok(match self.take(mask)? {
            Async::Ready(known) => known,
            Async::NotReady => Ready::empty(),
        })
    }

    fn known(&self, mask: Ready) -> Ready {
        Ready::from_bits(self.ready.load(Ordering::Acquire)) & mask
    }

    /// Forgets that reading is worth a try, after it would block.
    fn clear_read(&self) {
        self.clear(Ready::READ | Ready::HUP);
    }

    /// Forgets that reading is worth a try, after it took less than it could: the system reports
    /// what arrives from here on. Not so once an urgent byte has come. A read stops in front of
    /// that, and the system has reported what is behind it already.
    ///
    /// For what is watched as a [`STREAM`].
    pub fn clear_short_read(&self) {
        if !self.short_reads_drain {
            return;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.fd.try_io(Interest::PRIORITY, |_| Ok(())).is_err() {
            self.clear_read();
        }
    }

    /// Forgets that writing is worth a try, after it would block, or took less than it could.
    pub fn clear_write(&self) {
        self.clear(Ready::WRITE);
    }

    /// Forgets the events of `mask`, until they come again.
    pub fn clear(&self, mask: Ready) {
        self.ready.fetch_and(!mask.bits(), Ordering::AcqRel);
    }

    /// Notifies the current task when reading is worth a try again, now included.
    ///
    /// # Errors
    ///
    /// When the runtime is gone.
    pub fn need_read(&self) -> io::Result<()> {
        self.clear_read();
        self.need(Ready::READ | Ready::HUP)
    }

    /// Notifies the current task when writing is worth a try again, now included.
    ///
    /// # Errors
    ///
    /// When the runtime is gone.
    pub fn need_write(&self) -> io::Result<()> {
        self.clear_write();
        self.need(Ready::WRITE)
    }

    fn need(&self, mask: Ready) -> io::Result<()> {
        if self.wait(mask)?.is_ready() {
            futures::task::current().notify();
        }
        Ok(())
    }

    /// Tries to read with `f`. When that would block, the current task is notified when it is worth
    /// another try.
    #[inline]
    pub fn try_read<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        if self.poll_read().is_ready() {
            match f() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.need_read()?,
                done => return done,
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// The same, for writing.
    #[inline]
    pub fn try_write<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        if self.poll_write().is_ready() {
            match f() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.need_write()?,
                done => return done,
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Asks tokio. What is ready works outside of a task, too; what isn't panics there.
    fn wait(&self, mask: Ready) -> io::Result<Async<Ready>> {
        if let Async::Ready(ready) = self.take(mask)? {
            return Ok(Async::Ready(ready));
        }
        if mask.is_writable() {
            self.writer.waiting.task.register();
        }
        if !(mask - Ready::WRITE).is_empty() {
            self.reader.waiting.task.register();
        }
        // It may have become ready before the task was registered.
        self.take(mask)
    }

    /// Moves tokio's readiness here, until an event of `mask` is among it or tokio has no more and
    /// keeps the waker.
    fn take(&self, mask: Ready) -> io::Result<Async<Ready>> {
        let writes = mask & Ready::WRITE;
        if !writes.is_empty() && self.known(writes).is_empty() {
            let mut cx = Context::from_waker(&self.writer.waker);
            if let Poll::Ready(polled) = self.fd.poll_write_ready(&mut cx) {
                polled.map_err(|_| gone())?.clear_ready();
                self.ready.fetch_or(Ready::WRITE.bits(), Ordering::AcqRel);
            }
        }
        let reads = mask - Ready::WRITE;
        while !reads.is_empty() && self.known(reads).is_empty() {
            let mut cx = Context::from_waker(&self.reader.waker);
            let Poll::Ready(polled) = self.fd.poll_read_ready(&mut cx) else {
                break;
            };
            let mut event = polled.map_err(|_| gone())?;
            let mut ready = Ready::READ;
            if event.ready().is_read_closed() {
                ready |= Ready::HUP;
            }
            event.clear_ready();
            self.ready.fetch_or(ready.bits(), Ordering::AcqRel);
        }
        let known = self.known(mask);
        Ok(if known.is_empty() {
            Async::NotReady
        } else {
            Async::Ready(known)
        })
    }
}

/// Returns the error of a socket, timer or handle whose `Core` or `Reactor` was dropped.
pub fn gone() -> io::Error {
    io::Error::other(
        "event loop gone: the Core or Reactor of this socket, timer or handle was dropped; keep it \
         for as long as they are in use",
    )
}
