use std::cell::RefCell;
use std::mem;

use futures::future::{self, ExecuteError, ExecuteErrorKind};
use futures::Future;
use tokio::runtime::Handle;

use crate::on_tokio_1;
use crate::{Enter, Executor, SpawnError, TypedExecutor};

/// The executor of the thread that it is used on.
///
/// That is the one of [`with_default`] or [`set_default`], or else the tokio 1 runtime that the
/// thread is in.
#[derive(Debug, Clone)]
pub struct DefaultExecutor {
    _dummy: (),
}

/// Removes what [`set_default`] has set when it is dropped.
#[derive(Debug)]
pub struct DefaultGuard {
    _p: (),
}

enum Current {
    None,
    /// Of `with_default`, which removes it before the reference ends.
    Borrowed(*mut dyn Executor),
    Owned(Box<dyn Executor>),
    /// It is being called.
    Busy,
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::None) };
}

impl DefaultExecutor {
    /// Returns the executor of whatever thread it is used on.
    pub fn current() -> DefaultExecutor {
        DefaultExecutor { _dummy: () }
    }

    /// Calls `f` with the thread's executor. Fails within such a call.
    fn with<R>(
        f: impl FnOnce(&mut dyn Executor) -> Result<R, SpawnError>,
    ) -> Result<R, SpawnError> {
        /// Puts it back, also when `f` panics.
        struct Restore(Current);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.replace(mem::replace(&mut self.0, Current::None));
            }
        }
        let mut current = Restore(CURRENT.replace(Current::Busy));
        match &mut current.0 {
            Current::None => {
                drop(current);
                f(&mut OnTokio1(
                    Handle::try_current().map_err(|_| SpawnError::shutdown())?,
                ))
            }
            Current::Busy => Err(SpawnError::shutdown()),
            // SAFETY: `with_default` holds the reference that this was made from, and removes this
            // before it returns. `Busy` keeps all others from using it meanwhile.
            Current::Borrowed(executor) => f(unsafe { &mut **executor }),
            Current::Owned(executor) => f(executor),
        }
    }
}

/// The tokio 1 runtime that the thread is in.
struct OnTokio1(Handle);

impl Executor for OnTokio1 {
    fn spawn(
        &mut self,
        future: Box<dyn Future<Item = (), Error = ()> + Send>,
    ) -> Result<(), SpawnError> {
        self.0
            .spawn(on_tokio_1::task(future, None::<DefaultExecutor>));
        Ok(())
    }
}

impl Executor for DefaultExecutor {
    fn spawn(
        &mut self,
        future: Box<dyn Future<Item = (), Error = ()> + Send>,
    ) -> Result<(), SpawnError> {
        DefaultExecutor::with(|executor| executor.spawn(future))
    }

    fn status(&self) -> Result<(), SpawnError> {
        DefaultExecutor::with(|executor| executor.status())
    }
}

impl<T> TypedExecutor<T> for DefaultExecutor
where
    T: Future<Item = (), Error = ()> + Send + 'static,
{
    fn spawn(&mut self, future: T) -> Result<(), SpawnError> {
        Executor::spawn(self, Box::new(future))
    }

    fn status(&self) -> Result<(), SpawnError> {
        Executor::status(self)
    }
}

impl<T> future::Executor<T> for DefaultExecutor
where
    T: Future<Item = (), Error = ()> + Send + 'static,
{
    fn execute(&self, future: T) -> Result<(), ExecuteError<T>> {
        match Executor::status(self) {
            Ok(()) => {
                // What it may still refuse is lost: a box can't be opened.
                let _ = Executor::spawn(&mut self.clone(), Box::new(future));
                Ok(())
            }
            Err(error) if error.is_at_capacity() => {
                Err(ExecuteError::new(ExecuteErrorKind::NoCapacity, future))
            }
            Err(_) => Err(ExecuteError::new(ExecuteErrorKind::Shutdown, future)),
        }
    }
}

/// Starts a task on the thread's executor.
///
/// # Panics
///
/// If there is none, or if it doesn't take the task.
pub fn spawn<T>(future: T)
where
    T: Future<Item = (), Error = ()> + Send + 'static,
{
    if let Err(error) = Executor::spawn(&mut DefaultExecutor::current(), Box::new(future)) {
        panic!("{error}; call it in a task of tokio::run, or inside of a tokio 1 runtime");
    }
}

/// Makes `executor` the thread's while `f` runs.
///
/// # Panics
///
/// If the thread has one.
pub fn with_default<T, F, R>(executor: &mut T, enter: &mut Enter, f: F) -> R
where
    T: Executor,
    F: FnOnce(&mut Enter) -> R,
{
    let executor: *mut (dyn Executor + '_) = executor;
    // SAFETY: only the lifetime changes, and `_guard` removes the pointer before it ends.
    let executor = unsafe {
        mem::transmute::<*mut (dyn Executor + '_), *mut (dyn Executor + 'static)>(executor)
    };
    set(Current::Borrowed(executor));
    let _guard = DefaultGuard { _p: () };
    f(enter)
}

/// Makes `executor` the thread's, until the guard is dropped.
///
/// # Panics
///
/// If the thread has one.
pub fn set_default<T>(executor: T) -> DefaultGuard
where
    T: Executor + 'static,
{
    set(Current::Owned(Box::new(executor)));
    DefaultGuard { _p: () }
}

fn set(new: Current) {
    CURRENT.with_borrow_mut(|current| match current {
        Current::None => *current = new,
        _ => panic!("default executor already set for execution context"),
    });
}

impl Drop for DefaultGuard {
    fn drop(&mut self) {
        let old = CURRENT.try_with(|current| current.replace(Current::None));
        // Outside of the borrow: what it drops may look for the executor.
        drop(old);
    }
}
