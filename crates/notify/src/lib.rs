//! Task handles of futures 0.1 that own what they notify.
//!
//! The handle that futures makes of an `Arc<T>` is unsound: it passes the `Arc` off as a reference to
//! a type without size and without an `UnsafeCell`. The compiler takes the memory behind such a
//! reference for read-only: it removes what `T::notify` writes to its fields, and can remove the
//! reference counting, at `opt-level = 3`, with or without link-time optimisation (rustc 1.95). The
//! tests contain the case.
//!
//! Only this handle may be here, with the unsafe code that futures' trait asks for. The program's
//! reactor and unit tests use it. The adapters in `compat/` have code of their own for this, since they build without the rest of the repository.

#![warn(missing_docs)]
#![deny(clippy::undocumented_unsafe_blocks)]

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::process::abort;
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicUsize, Ordering};

use futures::executor::{Notify, NotifyHandle, UnsafeNotify};

/// A counted reference to a `T` that [`Spawn`](futures::executor::Spawn) can notify. Use it where
/// futures takes an `Arc`.
pub struct Notifier<T: Notify + 'static> {
    node: NonNull<Node<T>>,
}

/// The allocation that every reference points to.
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

    /// Adds a reference.
    fn retain(&self) {
        let before = self.counted().references.fetch_add(1, Ordering::Relaxed);
        if before > isize::MAX as usize {
            abort(); // references were leaked until the count is about to wrap
        }
    }

    /// Releases one reference, and frees the node with the last.
    ///
    /// # Safety
    ///
    /// The caller must own a reference to `node`, made by `Notifier::new` or counted by `retain`, and
    /// must not use it afterwards.
    unsafe fn release(node: *const Node<T>) {
        if (*node).counted().references.fetch_sub(1, Ordering::Release) == 1 {
            // All uses of the other references happen before the end of the value.
            fence(Ordering::Acquire);
            drop(Box::from_raw(node as *mut Node<T>));
        }
    }
}

impl<T: Notify + 'static> Notifier<T> {
    /// Moves `value` to the heap, with one reference to it.
    pub fn new(value: T) -> Notifier<T> {
        let node = Box::new(Node(UnsafeCell::new(Counted {
            references: AtomicUsize::new(1),
            value,
        })));
        Notifier {
            node: NonNull::from(Box::leak(node)),
        }
    }

    fn node(&self) -> &Node<T> {
        // SAFETY: `self` is a counted reference, so the node is alive.
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
        // SAFETY: this reference is counted, and isn't used again.
        unsafe { Node::release(self.node.as_ptr()) }
    }
}

impl<T: Notify + 'static> From<Notifier<T>> for NotifyHandle {
    fn from(notifier: Notifier<T>) -> NotifyHandle {
        let node = ManuallyDrop::new(notifier).node.as_ptr();
        // SAFETY: the handle takes the reference over, and releases it in `drop_raw`.
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

// SAFETY: `clone_raw` counts the reference that it makes a handle of, and `drop_raw` releases that
// of its handle; the node is freed with the last one. Both use a `&Node`, which claims neither that
// its memory is read-only nor that it is alive until the call returns.
unsafe impl<T: Notify + 'static> UnsafeNotify for Node<T> {
    unsafe fn clone_raw(&self) -> NotifyHandle {
        self.retain();
        NotifyHandle::new(self as *const Node<T> as *mut Node<T>)
    }

    unsafe fn drop_raw(&self) {
        Node::release(self);
    }
}

#[cfg(test)]
mod tests;
