//! The part of a reactor that every thread may use.

use std::future::poll_fn;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use drop_in_io::OnEvent;
use tokio::{runtime, task, time};

pub(crate) struct Shared {
    pub(crate) runtime: runtime::Handle,
    /// The number of sources under the reactor's watch.
    pub(crate) sources: AtomicUsize,
    /// Calls [`notify`](Shared::notify).
    pub(crate) on_event: OnEvent,
    /// Whether the current turn, or the next one, has a reason to end.
    is_notified: AtomicBool,
    /// Wakes the turn.
    turn: Mutex<Option<Waker>>,
}

impl Shared {
    pub(crate) fn new(runtime: runtime::Handle) -> Arc<Shared> {
        Arc::new_cyclic(|shared: &Weak<Shared>| {
            let shared = shared.clone();
            Shared {
                runtime,
                sources: AtomicUsize::new(0),
                on_event: Arc::new(move || {
                    if let Some(shared) = shared.upgrade() {
                        shared.notify();
                    }
                }),
                is_notified: AtomicBool::new(false),
                turn: Mutex::new(None),
            }
        })
    }

    /// Ends the current turn, or else the next one.
    pub(crate) fn notify(&self) {
        if !self.is_notified.swap(true, Ordering::SeqCst) {
            let waker = self.swap_waker(None);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Waits for a call of [`notify`](Shared::notify), for at most `max_wait` if that is given.
    pub(crate) async fn turn(&self, max_wait: Option<Duration>) {
        if max_wait == Some(Duration::ZERO) || self.is_notified.load(Ordering::SeqCst) {
            // The runtime asks the system meanwhile: also where there is always a reason not to wait,
            // sockets are served.
            task::yield_now().await;
        } else if let Some(max_wait) = max_wait {
            let _ = time::timeout(max_wait, self.notified()).await;
        } else {
            self.notified().await;
        }
        self.swap_waker(None);
        self.is_notified.store(false, Ordering::SeqCst);
    }

    async fn notified(&self) {
        poll_fn(|cx| {
            self.swap_waker(Some(cx.waker().clone()));
            if self.is_notified.load(Ordering::SeqCst) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn swap_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        mem::replace(&mut turn, waker)
    }
}
