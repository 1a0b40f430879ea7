//! The wait of `Core::turn`.
//!
//! The runtime polls its future only when that was woken, but a turn ends with any event, e.g. of a
//! socket whose task is run by something else. Two places report events: the runtime, after it has
//! waited for the system, and the sockets that a task waits for, since the runtime also asks the system
//! without waiting while it has its own tasks. All of it happens on the Core's thread.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use std::task::Waker;

use drop_in_io::OnEvent;

thread_local! {
    static TURN: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// Makes the next event wake `waker`.
pub(super) fn begin(waker: &Waker) {
    TURN.set(Some(waker.clone()));
}

/// Returns whether no event has ended the wait.
pub(super) fn cancel() -> bool {
    TURN.take().is_some()
}

/// Ends the wait.
pub(super) fn end() {
    // A thread that ends may drop a Core after its locals.
    if let Ok(Some(waker)) = TURN.try_with(RefCell::take) {
        waker.wake();
    }
}

/// Returns [`end`], for sockets.
pub(super) fn on_event() -> OnEvent {
    static END: LazyLock<OnEvent> = LazyLock::new(|| Arc::new(end));
    END.clone()
}
