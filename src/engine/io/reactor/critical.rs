//! Critical tasks: those without which nothing is served.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::{Rc, Weak};

use futures::{Future, Poll};

use super::EventLoop;

/// The payload of a panic.
pub(super) type Panic = Box<dyn Any + Send>;

/// A task whose panic is kept for [`EventLoop::work`], which ends with it.
pub(super) struct Critical<F> {
    future: F,
    reactor: Weak<EventLoop>,
}

impl<F> Critical<F> {
    pub(super) fn new(future: F, reactor: &Rc<EventLoop>) -> Critical<F> {
        let reactor = Rc::downgrade(reactor);
        Critical { future, reactor }
    }
}

impl<F: Future<Item = (), Error = ()>> Future for Critical<F> {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        let future = &mut self.future;
        catch_unwind(AssertUnwindSafe(|| future.poll())).unwrap_or_else(|panic| {
            if let Some(reactor) = self.reactor.upgrade() {
                *reactor.critical_panic.borrow_mut() = Some(panic);
                reactor.queue.notify_driver(); // it may not be working
            }
            Err(())
        })
    }
}
