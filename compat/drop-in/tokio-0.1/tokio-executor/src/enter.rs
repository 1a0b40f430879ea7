use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::{Wake, Waker};

use futures::{executor, Async, Future};

use crate::on_tokio_1::Notifier;
use crate::park::{Park, ParkThread, Unpark, UnparkThread};

thread_local! {
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as one that runs an executor, until it is dropped.
pub struct Enter {
    on_exit: Vec<Box<dyn FnOnce()>>,
    permanent: bool,
}

/// The error of [`enter`] on a thread that runs an executor already.
pub struct EnterError {
    _a: (),
}

/// Marks the thread as one that runs an executor.
///
/// # Errors
///
/// If it is marked already.
pub fn enter() -> Result<Enter, EnterError> {
    if ENTERED.replace(true) {
        return Err(EnterError { _a: () });
    }
    Ok(Enter {
        on_exit: Vec::new(),
        permanent: false,
    })
}

/// Removes the thread's mark while `f` runs.
///
/// # Panics
///
/// If `f` leaves the thread marked.
#[doc(hidden)]
pub fn exit<F: FnOnce() -> R, R>(f: F) -> R {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            ENTERED.set(true);
        }
    }
    debug_assert!(ENTERED.get());
    ENTERED.set(false);
    let _restore = Restore;
    let returned = f();
    assert!(!ENTERED.get(), "closure claimed permanent executor");
    returned
}

impl Enter {
    /// Calls `f` when the mark is removed.
    pub fn on_exit<F>(&mut self, f: F)
    where
        F: FnOnce() + 'static,
    {
        self.on_exit.push(Box::new(f));
    }

    /// Leaves the thread marked for ever, and calls nothing of [`on_exit`](Enter::on_exit).
    pub fn make_permanent(mut self) {
        self.permanent = true;
    }

    /// Runs `f` on this thread, which sleeps while it waits.
    ///
    /// # Errors
    ///
    /// The error of `f`.
    pub fn block_on<F: Future>(&mut self, f: F) -> Result<F::Item, F::Error> {
        struct Rouse(UnparkThread);
        impl Wake for Rouse {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let mut park = ParkThread::new();
        let notifier = Notifier::new(Waker::from(Arc::new(Rouse(park.unpark()))));
        let mut task = executor::spawn(f);
        loop {
            if let Async::Ready(item) = task.poll_future_notify(&notifier, 0)? {
                return Ok(item);
            }
            // It never fails.
            let _ = park.park();
        }
    }
}

impl Drop for Enter {
    fn drop(&mut self) {
        if self.permanent {
            return;
        }
        for call in self.on_exit.drain(..) {
            call();
        }
        ENTERED.set(false);
    }
}

impl fmt::Debug for Enter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enter").finish_non_exhaustive()
    }
}

impl fmt::Debug for EnterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EnterError")
            .field(&self.to_string())
            .finish()
    }
}

impl fmt::Display for EnterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[allow(deprecated)]
        f.write_str(self.description())
    }
}

impl Error for EnterError {
    fn description(&self) -> &str {
        "attempted to run an executor while another executor is already running"
    }
}
