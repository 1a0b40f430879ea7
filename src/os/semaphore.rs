//! A bound on how many may do the same thing at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// One of few, somebody's for as long as he has it.
pub(crate) struct Turn(Arc<AtomicUsize>);

impl Turn {
    /// Unless so many are taken.
    pub(crate) fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<Turn> {
        let one_more = |count| Some(count + 1).filter(|count| *count <= most);
        let before = taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        before.ok().map(|_| Turn(taken.clone()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
