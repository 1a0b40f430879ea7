//! Tasks of futures 0.1 that tokio 1 polls. For the crates beside this one.

use std::cell::UnsafeCell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::executor::{self, Notify, NotifyHandle, Spawn, UnsafeNotify};
use futures::{Async, Future as Future01};

use crate::Executor;

/// Returns a task for tokio 1 to spawn, for which `executor` is the default during each poll; if there
/// is none, what the task spawns goes to the runtime.
///
/// The task has no cooperative budget, as tasks of 0.1 never had one.
pub fn task<F, E>(future: F, executor: Option<E>) -> impl Future<Output = Result<F::Item, F::Error>>
where
    F: Future01,
    E: Executor,
{
    tokio::task::unconstrained(Task {
        task: executor::spawn(future),
        notifier: None,
        executor,
    })
}

struct Task<F, E> {
    task: Spawn<F>,
    /// Made at the first poll.
    notifier: Option<Notifier>,
    executor: Option<E>,
}

/// Nothing in 0.1 is ever pinned.
impl<F, E> Unpin for Task<F, E> {}

impl<F: Future01, E: Executor> Future for Task<F, E> {
    type Output = Result<F::Item, F::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Task {
            task,
            notifier,
            executor,
        } = &mut *self;
        let notifier = notifier.get_or_insert_with(|| Notifier::new(cx.waker().clone()));
        notifier.set(cx.waker());
        let mut poll = || task.poll_future_notify(notifier, 0);
        let polled = match (crate::enter(), executor) {
            (Ok(mut enter), Some(executor)) => {
                crate::with_default(executor, &mut enter, |_| poll())
            }
            // On a thread that is marked, an executor of 0.1 drives the runtime.
            (_entered, _) => poll(),
        };
        match polled {
            Ok(Async::NotReady) => Poll::Pending,
            Ok(Async::Ready(item)) => Poll::Ready(Ok(item)),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

/// A counted reference to a waker, for futures 0.1 to notify: use it where it takes an `Arc`.
///
/// futures 0.1 makes a task handle of an `Arc<T>` too, which is unsound: it passes the `Arc` off as
/// a reference to a type without size and without an `UnsafeCell`, behind which the compiler takes
/// all memory for read-only, the count of references included.
#[derive(Debug)]
pub struct Notifier(NonNull<Node>);

/// What every reference points to.
///
/// The `UnsafeCell` is around all of it, so that a `&Node` promises nothing about its memory:
/// neither that it is never written, nor that it outlives the call that it is passed to.
struct Node(UnsafeCell<Counted>);

struct Counted {
    references: AtomicUsize,
    waker: Mutex<Waker>,
}

// SAFETY: a `&Node` leads to a `&Counted`, whose fields are `Sync`.
unsafe impl Sync for Node {}
// SAFETY: the same, and the last reference drops a waker, which is `Send`.
unsafe impl Send for Notifier {}
// SAFETY: the same.
unsafe impl Sync for Notifier {}

impl Node {
    fn counted(&self) -> &Counted {
        // SAFETY: only the last reference makes a `&mut` of it, when it frees it.
        unsafe { &*self.0.get() }
    }

    fn retain(&self) {
        let before = self.counted().references.fetch_add(1, Ordering::Relaxed);
        assert!(before < isize::MAX as usize, "references leak");
    }

    /// Gives up one reference, and frees the node with the last.
    ///
    /// # Safety
    ///
    /// The caller owns a reference to `node`, and doesn't use it afterwards.
    unsafe fn release(node: *const Node) {
        if (*node).counted().references.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            drop(Box::from_raw(node.cast_mut()));
        }
    }
}

impl Notifier {
    /// Returns the first reference to `waker`.
    pub fn new(waker: Waker) -> Notifier {
        let node = Box::new(Node(UnsafeCell::new(Counted {
            references: AtomicUsize::new(1),
            waker: Mutex::new(waker),
        })));
        Notifier(NonNull::from(Box::leak(node)))
    }

    /// Replaces the waker, if it would wake another task.
    pub fn set(&self, waker: &Waker) {
        let mut current = self.node().waker();
        if !current.will_wake(waker) {
            let old = std::mem::replace(&mut *current, waker.clone());
            drop(current);
            drop(old);
        }
    }

    fn node(&self) -> &Node {
        // SAFETY: `self` is a reference that is counted, so the node is there.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for Notifier {
    fn clone(&self) -> Notifier {
        self.node().retain();
        Notifier(self.0)
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        // SAFETY: this reference is counted, and over.
        unsafe { Node::release(self.0.as_ptr()) }
    }
}

impl From<Notifier> for NotifyHandle {
    fn from(notifier: Notifier) -> NotifyHandle {
        let node = ManuallyDrop::new(notifier).0.as_ptr();
        // SAFETY: the handle takes the reference over, and gives it up by `drop_raw`.
        unsafe { NotifyHandle::new(node) }
    }
}

impl Node {
    fn waker(&self) -> std::sync::MutexGuard<'_, Waker> {
        self.counted()
            .waker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notify for Node {
    fn notify(&self, _: usize) {
        // Not within the lock: a wake-up may run code of others.
        let waker = self.waker().clone();
        waker.wake();
    }
}

// SAFETY: `clone_raw` counts the reference that it makes a handle of, and `drop_raw` gives up that
// of its handle; the node is freed with the last one.
unsafe impl UnsafeNotify for Node {
    unsafe fn clone_raw(&self) -> NotifyHandle {
        self.retain();
        NotifyHandle::new(std::ptr::from_ref(self).cast_mut())
    }

    unsafe fn drop_raw(&self) {
        Node::release(self);
    }
}
