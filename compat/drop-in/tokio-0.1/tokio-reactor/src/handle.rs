//! References to reactors, and the default one.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::sync::{OnceLock, Weak};

use drop_in_io::gone;
use tokio::runtime;
use tokio_executor::Enter;

use crate::shared::Shared;
use crate::Reactor;

/// A reference to a reactor, for any thread. The default is the reactor that is the default one when a
/// socket is first polled.
#[derive(Clone, Default)]
pub struct Handle {
    target: Option<Target>,
}

/// What watches sockets.
#[derive(Clone)]
pub(crate) enum Target {
    Reactor(Weak<Shared>),
    /// A runtime of tokio 1 that no reactor owns.
    Runtime(runtime::Handle),
}

thread_local! {
    static CURRENT: RefCell<Option<Target>> = const { RefCell::new(None) };
}

static FALLBACK: OnceLock<Target> = OnceLock::new();

impl Handle {
    pub(crate) fn to(target: Target) -> Handle {
        Handle {
            target: Some(target),
        }
    }

    /// Returns a reference to what is the default reactor now.
    #[doc(hidden)]
    #[deprecated(note = "use Handle::default()")]
    pub fn current() -> Handle {
        Handle::to(Target::current().unwrap_or(Target::Reactor(Weak::new())))
    }

    /// Returns what this refers to; `None` if that is whatever is the default later.
    pub(crate) fn target(&self) -> Option<&Target> {
        self.target.as_ref()
    }

    /// Ends the current turn of the reactor, or else its next one.
    pub(crate) fn wake(&self) {
        if let Some(Target::Reactor(shared)) = &self.target {
            if let Some(shared) = shared.upgrade() {
                shared.notify();
            }
        }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}

impl Target {
    /// Returns the default reactor.
    pub(crate) fn current() -> io::Result<Target> {
        if let Some(current) = CURRENT.with(|current| current.borrow().clone()) {
            return Ok(current);
        }
        match runtime::Handle::try_current() {
            Ok(runtime) => Ok(Target::Runtime(runtime)),
            Err(_) => Target::fallback(),
        }
    }

    fn fallback() -> io::Result<Target> {
        if let Some(target) = FALLBACK.get() {
            return Ok(target.clone());
        }
        let reactor = Reactor::new()?;
        let target = Handle::target(&reactor.handle())
            .cloned()
            .ok_or_else(gone)?;
        let background = reactor.background()?;
        // Another thread may have been faster.
        if FALLBACK.set(target).is_ok() {
            background.forget();
        }
        FALLBACK.get().cloned().ok_or_else(gone)
    }

    /// Returns the runtime behind it.
    ///
    /// # Errors
    ///
    /// When the reactor is gone.
    pub(crate) fn runtime(&self) -> io::Result<runtime::Handle> {
        match self {
            Target::Reactor(shared) => Ok(shared.upgrade().ok_or_else(gone)?.runtime.clone()),
            Target::Runtime(runtime) => Ok(runtime.clone()),
        }
    }
}

pub(crate) fn set_fallback(target: Target) -> Result<(), SetFallbackError> {
    FALLBACK.set(target).map_err(|_| SetFallbackError(()))
}

/// The error of [`Reactor::set_fallback`].
#[derive(Clone, Debug)]
pub struct SetFallbackError(());

impl fmt::Display for SetFallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(deprecated, reason = "it has the text")]
        f.write_str(self.description())
    }
}

impl Error for SetFallbackError {
    fn description(&self) -> &str {
        "attempted to set fallback reactor while already configured"
    }
}

/// Makes `handle`'s reactor the default one of this thread within `f`, and its runtime the one of tokio
/// 1 that the thread is in, so that `tokio::spawn`, sockets and timers of tokio 1 work there.
///
/// # Panics
///
/// If the thread has a default reactor already, or `handle` is itself the default.
pub fn with_default<F, R>(handle: &Handle, enter: &mut Enter, f: F) -> R
where
    F: FnOnce(&mut Enter) -> R,
{
    let _default = set_default(handle);
    let runtime = handle.target().and_then(|target| target.runtime().ok());
    let _inside = runtime.as_ref().map(runtime::Handle::enter);
    f(enter)
}

/// Makes `handle`'s reactor the default one of this thread, until the guard is dropped.
///
/// Unlike [`with_default`], it leaves alone what runtime of tokio 1 the thread is in.
///
/// # Panics
///
/// If the thread has a default reactor already, or `handle` is itself the default.
pub fn set_default(handle: &Handle) -> DefaultGuard {
    CURRENT.with(|current| {
        let mut current = current.borrow_mut();
        assert!(
            current.is_none(),
            "default Tokio reactor already set for execution context"
        );
        let target = handle.target();
        *current = Some(
            target
                .expect("`handle` does not reference a reactor")
                .clone(),
        );
    });
    DefaultGuard {
        _private: PhantomData,
    }
}

/// Ends what [`set_default`] began.
#[derive(Debug)]
pub struct DefaultGuard {
    _private: PhantomData<()>,
}

impl Drop for DefaultGuard {
    fn drop(&mut self) {
        // At the end of a thread there is nothing left to end.
        let _ = CURRENT.try_with(|current| current.borrow_mut().take());
    }
}
