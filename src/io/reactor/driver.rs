//! The task on tokio-core's loop that drives this reactor.

use std::any::TypeId;
use std::io;
use std::os::unix::io::{AsRawFd, RawFd};
use std::rc::Rc;

use futures::{task, Async, Future, Poll};
use mio::event::Evented;
use mio::unix::EventedFd;
use mio::{PollOpt, Ready, Token};
use slab::Slab;
use tokio_core::reactor::{Core, Handle, PollEvented};

use super::{EventLoop, Wait};

/// A task of tokio-core that is woken when the epoll set is readable or a task is due.
pub(super) struct Driver {
    inner: Rc<EventLoop>,
    readable: PollEvented<Nested>,
}

impl Driver {
    pub(super) fn new(inner: &Rc<EventLoop>, core: &Handle) -> io::Result<Driver> {
        Ok(Driver {
            inner: inner.clone(),
            readable: PollEvented::new(Nested(inner.clone()), core)?,
        })
    }
}

impl Future for Driver {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        self.inner.queue.register_driver();
        if self.inner.turned.get() {
            return Ok(Async::NotReady); // `Handle::run` does the work
        }
        if self.readable.poll_read().is_ready() {
            // A later event makes the set readable again.
            self.readable.need_read();
        }
        if !self.inner.work(Wait::No).idle {
            task::current().notify();
        }
        Ok(Async::NotReady)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Breaks the cycle of the reactor, its tasks, and the sockets and handles that they own.
        self.inner.closed.set(true);
        drop(self.inner.tasks.replace(Slab::new()));
    }
}

/// The epoll set as a source of tokio-core.
struct Nested(Rc<EventLoop>);

impl Evented for Nested {
    fn register(&self, poll: &mio::Poll, token: Token, _: Ready, _: PollOpt) -> io::Result<()> {
        EventedFd(&self.as_raw_fd()).register(poll, token, Ready::readable(), PollOpt::edge())?;
        self.0
            .core_set
            .set(Some((poll.as_raw_fd(), token.0 as u64)));
        Ok(())
    }

    fn reregister(&self, poll: &mio::Poll, token: Token, _: Ready, _: PollOpt) -> io::Result<()> {
        EventedFd(&self.as_raw_fd()).reregister(poll, token, Ready::readable(), PollOpt::edge())
    }

    fn deregister(&self, poll: &mio::Poll) -> io::Result<()> {
        EventedFd(&self.as_raw_fd()).deregister(poll)
    }
}

/// For a tokio-core that isn't built on mio, such as the drop-in of `compat/`, which watches the
/// descriptor.
impl AsRawFd for Nested {
    fn as_raw_fd(&self) -> RawFd {
        self.0.epoll.as_raw_fd()
    }
}

/// Returns whether `core` waits in its own epoll set, on its own thread, as tokio-core does
/// up to 0.1.12. From 0.1.13 on it parks, and the reactor of another thread wakes its tasks.
///
/// Only the later versions have a method `runtime`; with the others the trait's method is called.
pub(super) fn has_loop_of_its_own(core: &Core) -> bool {
    struct NoRuntime;
    #[allow(dead_code)] // on the later versions
    trait Runtime {
        fn runtime(&self) -> &NoRuntime {
            &NoRuntime
        }
    }
    impl Runtime for Core {}

    fn is_none<T: 'static>(_runtime: &T) -> bool {
        TypeId::of::<T>() == TypeId::of::<NoRuntime>()
    }
    is_none(core.runtime())
}
