//! A descriptor under the watch of a runtime, as 0.1 tasks see it.

use std::io;
use std::net::TcpStream;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{mpsc, Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use futures::task::AtomicTask;
use futures::Async;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::runtime;

use super::shared::gone;
use super::{Evented, Handle, Ready};

/// A source of events, and what is known of its readiness.
///
/// The readiness that tokio reports is moved here, into `ready`, when a task looks at it, and stays
/// until an operation would block. What the system reports between that look and the operation
/// comes on top, so that no event is lost. This is what tokio-core 0.1.12 did.
///
/// No call allocates: tokio gets one waker for each direction, for life, and each wakes the 0.1
/// task that waited last.
pub(crate) struct Readiness<E> {
    // Dropped before `io` closes the descriptor.
    fd: AsyncFd<RawFd>,
    io: E,
    ready: AtomicU8,
    reader: Direction,
    writer: Direction,
    runtime: runtime::Handle,
}

/// The task that waits for one direction.
struct Direction {
    waiting: Arc<Waiting>,
    waker: Waker,
}

struct Waiting(AtomicTask);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

impl Direction {
    fn new() -> Direction {
        let waiting = Arc::new(Waiting(AtomicTask::new()));
        Direction {
            waker: Waker::from(waiting.clone()),
            waiting,
        }
    }
}

impl<E: Evented> Readiness<E> {
    /// Puts `io` under the watch of the Core's runtime.
    pub(crate) fn new(io: E, handle: &Handle) -> io::Result<Readiness<E>> {
        Readiness::on(io, &handle.remote().shared().runtime()?)
    }

    /// Puts `io` under the watch of `runtime`.
    pub(crate) fn on(io: E, runtime: &runtime::Handle) -> io::Result<Readiness<E>> {
        Readiness::watch(io, runtime, Interest::READABLE | Interest::WRITABLE)
    }

    /// Puts `io` under the watch of `runtime` for the events of `interest`.
    ///
    /// tokio 1.54 deprecates its safe constructor, because `io` might close its descriptor before
    /// the watch ends. This crate's own sockets don't: they live as long as the watch, and are only
    /// lent out by shared reference. `PollEvented` asks the same of its callers.
    #[allow(deprecated)]
    fn watch(io: E, runtime: &runtime::Handle, interest: Interest) -> io::Result<Readiness<E>> {
        let inside = runtime.enter();
        let fd = AsyncFd::with_interest(io.descriptor(), interest)?;
        drop(inside);
        Ok(Readiness {
            fd,
            io,
            ready: AtomicU8::new(0),
            reader: Direction::new(),
            writer: Direction::new(),
            runtime: runtime.clone(),
        })
    }
}

/// Streams are watched for urgent bytes, too, where that can be told apart.
impl Readiness<TcpStream> {
    pub(crate) fn stream(tcp: TcpStream, handle: &Handle) -> io::Result<Readiness<TcpStream>> {
        Readiness::stream_on(tcp, &handle.remote().shared().runtime()?)
    }

    pub(crate) fn stream_on(
        tcp: TcpStream,
        runtime: &runtime::Handle,
    ) -> io::Result<Readiness<TcpStream>> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let interest = interest | Interest::PRIORITY;
        Readiness::watch(tcp, runtime, interest)
    }

    /// Forgets that reading is worth a try, after it took less than it could: the system reports
    /// what arrives from here on. Not so once an urgent byte has come. A read stops in front of
    /// that, and the system has reported what is behind it already.
    pub(crate) fn clear_short_read(&self) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.fd.try_io(Interest::PRIORITY, |_| Ok(())).is_err() {
            self.clear_read();
        }
    }
}

impl<E> Readiness<E> {
    pub(crate) fn get_ref(&self) -> &E {
        &self.io
    }

    pub(crate) fn get_mut(&mut self) -> &mut E {
        &mut self.io
    }

    /// The runtime that watches the descriptor.
    pub(crate) fn runtime(&self) -> &runtime::Handle {
        &self.runtime
    }

    /// Ready if reading is worth a try. Otherwise the current task is notified when it is.
    pub(crate) fn poll_read(&self) -> Async<()> {
        self.poll(Ready::READ | Ready::HUP).map(drop)
    }

    /// Ready if writing is worth a try. Otherwise the current task is notified when it is.
    pub(crate) fn poll_write(&self) -> Async<()> {
        self.poll(Ready::WRITE).map(drop)
    }

    /// Ready with the outcome of a connect. Fails when the runtime is gone.
    pub(crate) fn poll_connected(&self) -> io::Result<Async<()>> {
        if !self.known(Ready::WRITE).is_empty() {
            return Ok(Async::Ready(()));
        }
        Ok(self.wait(Ready::WRITE)?.map(drop))
    }

    /// Ready with the events of `mask` that are known; with none for an empty mask.
    ///
    /// A runtime that is gone counts as ready: the operation then shows what is left to be had.
    pub(crate) fn poll(&self, mask: Ready) -> Async<Ready> {
        let known = self.known(mask);
        if !known.is_empty() || mask.is_empty() {
            return Async::Ready(known);
        }
        match self.wait(mask) {
            Ok(polled) => polled,
            Err(_) => Async::Ready(mask),
        }
    }

    fn known(&self, mask: Ready) -> Ready {
        Ready::from_bits(self.ready.load(Ordering::Acquire)) & mask
    }

    /// Forgets that reading is worth a try, after it would block.
    fn clear_read(&self) {
        self.clear(Ready::READ | Ready::HUP);
    }

    /// Forgets that writing is worth a try, after it would block, or took less than it could.
    pub(crate) fn clear_write(&self) {
        self.clear(Ready::WRITE);
    }

    fn clear(&self, mask: Ready) {
        self.ready.fetch_and(!mask.bits(), Ordering::AcqRel);
    }

    /// Notifies the current task when reading is worth a try again, now included.
    pub(crate) fn need_read(&self) -> io::Result<()> {
        self.clear_read();
        self.need(Ready::READ | Ready::HUP)
    }

    /// Notifies the current task when writing is worth a try again, now included.
    pub(crate) fn need_write(&self) -> io::Result<()> {
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
    pub(crate) fn read_with<R>(&self, f: impl FnOnce(&E) -> io::Result<R>) -> io::Result<R> {
        if self.poll_read().is_ready() {
            match f(&self.io) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.need_read()?,
                done => return done,
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// The same, for writing.
    #[inline]
    pub(crate) fn write_with<R>(&self, f: impl FnOnce(&E) -> io::Result<R>) -> io::Result<R> {
        if self.poll_write().is_ready() {
            match f(&self.io) {
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
            self.writer.waiting.0.register();
        }
        if !(mask - Ready::WRITE).is_empty() {
            self.reader.waiting.0.register();
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

/// The runtime for sockets that are made without a handle: the one that this code runs in, else one
/// in the background.
pub(crate) fn default_runtime() -> io::Result<runtime::Handle> {
    static BACKGROUND: OnceLock<runtime::Handle> = OnceLock::new();
    if let Ok(current) = runtime::Handle::try_current() {
        return Ok(current);
    }
    if let Some(background) = BACKGROUND.get() {
        return Ok(background.clone());
    }
    let (started, handle) = mpsc::channel();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("tokio-core-reactor".into())
        .spawn(move || {
            let _ = started.send(runtime.handle().clone());
            runtime.block_on(std::future::pending::<()>());
        })?;
    let handle = handle.recv().map_err(io::Error::other)?;
    // A thread that came second is kept by its sockets' runtime, idle.
    Ok(BACKGROUND.get_or_init(|| handle).clone())
}
