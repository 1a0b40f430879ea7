//! A bound on concurrency that never blocks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// One of a limited number of permits, returned on drop.
pub(crate) struct SlotPermit(Arc<AtomicUsize>);

impl SlotPermit {
    /// Returns a permit, or `None` if `most` are taken.
    pub(crate) fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<SlotPermit> {
        let one_more = |count| Some(count + 1).filter(|count| *count <= most);
        let before = taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        before.ok().map(|_| SlotPermit(taken.clone()))
    }
}

impl Drop for SlotPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
