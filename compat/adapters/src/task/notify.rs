//! Task handles of futures 0.1 that own what they notify.
//!
//! futures makes one of an `Arc<T>` as well, and that is unsound: it passes the `Arc` off as a
//! reference to a type without size and without an `UnsafeCell`. To the compiler, what lies behind
//! such a reference is read-only. It removes what `T::notify` writes into its own fields, and may
//! remove the counting of references: at `opt-level = 3`, with or without link-time optimisation
//! (rustc 1.95). The program's `crates/notify/src/lib.rs` has this type for itself, and the case as a test:
//! neither depends on the other.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::process::abort;
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicUsize, Ordering};

use futures01::executor::{Notify, NotifyHandle, UnsafeNotify};

/// A counted reference to a `T`, for [`Spawn`](futures01::executor::Spawn) to notify: use it where
/// futures takes an `Arc`.
pub(super) struct Notifier<T: Notify + 'static> {
    node: NonNull<Node<T>>,
}

/// What every reference points to.
///
/// The `UnsafeCell` is around all of it, so that a `&Node` promises nothing about its memory:
/// neither that it is never written, nor that it outlives the call that it is passed to. The
/// latter is what `drop_raw(&self)` needs.
struct Node<T>(UnsafeCell<Counted<T>>);

struct Counted<T> {
    references: AtomicUsize,
    value: T,
}

// SAFETY: a `&Node` leads to a `&AtomicUsize` and a `&T`, and the last reference, on whichever
// thread, to the `T`.
unsafe impl<T: Send + Sync> Sync for Node<T> {}

// SAFETY: the same, and `Notify` has these bounds.
unsafe impl<T: Notify + 'static> Send for Notifier<T> {}
// SAFETY: the same.
unsafe impl<T: Notify + 'static> Sync for Notifier<T> {}

impl<T> Node<T> {
    fn counted(&self) -> &Counted<T> {
        // SAFETY: only the last reference makes a `&mut` of it, when it frees it.
        unsafe { &*self.0.get() }
    }

    /// Counts one more reference.
    fn retain(&self) {
        let before = self.counted().references.fetch_add(1, Ordering::Relaxed);
        if before > isize::MAX as usize {
            abort(); // references were leaked until the count is about to wrap
        }
    }

    /// Gives up one reference, and frees the node with the last.
    ///
    /// # Safety
    ///
    /// The caller owns a reference to `node`, made by `Notifier::new` or counted by `retain`, and
    /// doesn't use it afterwards.
    unsafe fn release(node: *const Node<T>) {
        if (*node).counted().references.fetch_sub(1, Ordering::Release) == 1 {
            // All that others did with their references happens before the end of the value.
            fence(Ordering::Acquire);
            drop(Box::from_raw(node as *mut Node<T>));
        }
    }
}

impl<T: Notify + 'static> Notifier<T> {
    /// Moves `value` to the heap, with one reference to it.
    pub(super) fn new(value: T) -> Notifier<T> {
        let node = Box::new(Node(UnsafeCell::new(Counted {
            references: AtomicUsize::new(1),
            value,
        })));
        Notifier {
            node: NonNull::from(Box::leak(node)),
        }
    }

    fn node(&self) -> &Node<T> {
        // SAFETY: `self` is a reference that is counted, so the node is there.
        unsafe { self.node.as_ref() }
    }
}

impl<T: Notify + 'static> Deref for Notifier<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.node().counted().value
    }
}

impl<T: Notify + 'static> Clone for Notifier<T> {
    fn clone(&self) -> Notifier<T> {
        self.node().retain();
        Notifier { node: self.node }
    }
}

impl<T: Notify + 'static> Drop for Notifier<T> {
    fn drop(&mut self) {
        // SAFETY: this reference is counted, and over.
        unsafe { Node::release(self.node.as_ptr()) }
    }
}

impl<T: Notify + 'static> From<Notifier<T>> for NotifyHandle {
    fn from(notifier: Notifier<T>) -> NotifyHandle {
        let node = ManuallyDrop::new(notifier).node.as_ptr();
        // SAFETY: the handle takes the reference over, and gives it up by `drop_raw`.
        unsafe { NotifyHandle::new(node) }
    }
}

impl<T: Notify> Notify for Node<T> {
    fn notify(&self, id: usize) {
        self.counted().value.notify(id);
    }

    fn clone_id(&self, id: usize) -> usize {
        self.counted().value.clone_id(id)
    }

    fn drop_id(&self, id: usize) {
        self.counted().value.drop_id(id);
    }
}

// SAFETY: `clone_raw` counts the reference that it makes a handle of, and `drop_raw` gives up that
// of its handle; the node is freed with the last one. Both go through a `&Node`, which neither
// claims that its memory is read-only nor that it is there until the call is over.
unsafe impl<T: Notify + 'static> UnsafeNotify for Node<T> {
    unsafe fn clone_raw(&self) -> NotifyHandle {
        self.retain();
        NotifyHandle::new(self as *const Node<T> as *mut Node<T>)
    }

    unsafe fn drop_raw(&self) {
        Node::release(self);
    }
}
