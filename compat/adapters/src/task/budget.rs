//! How many ready polls may follow each other before a task lets others run.
//!
//! tokio gives each of its tasks a budget a poll, which its own sockets, timers and channels spend;
//! the adapters that a std `Waker` polls spend it too. futures 0.1 has no such thing: below an
//! executor of that generation, a count of this crate replaces it.

use std::cell::Cell;
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::task::coop;

/// Ready polls between two yields, where tokio doesn't count. tokio's own number.
pub(super) const LIMIT: u8 = 128;

thread_local! {
    /// What is left for the std code that a 0.1 executor polls right now; `None` when none does.
    static LEFT: Cell<Option<u8>> = const { Cell::new(None) };
}

/// `Pending`, with the task notified, when the budget is used up. Spends nothing.
pub(super) fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    if LEFT.get() == Some(0) {
        cx.waker().wake_by_ref();
        return Poll::Pending;
    }
    if coop::has_budget_remaining() {
        return Poll::Ready(());
    }
    // Notifies the task when it has returned to its executor, and not before.
    pin!(coop::consume_budget()).poll(cx)
}

/// Spends one unit, for progress that was made.
pub(super) fn spend() {
    LEFT.set(LEFT.get().map(|left| left.saturating_sub(1)));
    // What was polled may have spent the last unit by itself.
    if coop::has_budget_remaining() {
        let mut noop = Context::from_waker(Waker::noop());
        let _ = pin!(coop::consume_budget()).poll(&mut noop);
    }
}

/// For as long as it lives, the std code on this thread has a budget: the one of a poll further up
/// the stack, or else a fresh one.
pub(super) struct Allowance {
    outer: Option<u8>,
}

impl Allowance {
    pub(super) fn enter() -> Allowance {
        let outer = LEFT.get();
        LEFT.set(outer.or(Some(LIMIT)));
        Allowance { outer }
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        if self.outer.is_none() {
            LEFT.set(None);
        }
    }
}
