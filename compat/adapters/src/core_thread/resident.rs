//! Values that live on a Core's thread.

use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use futures01::sync::mpsc;
use futures01::{future, Future as Future01, IntoFuture, Stream as Stream01};
use tokio_core::reactor::Handle;

use super::CoreThread;
use crate::spawn::{budgeted, call, halves, Call, Lease};

/// A value on a [`CoreThread`], called from any thread; it need not be `Send`. One pooled client, say.
///
/// Clones are of the same value.
///
/// *Cost*: a task on the Core, and a message each way for each call.
/// *Cancellation*: as with [`CoreThread::run`]. *Ownership*: the value never leaves the Core's thread.
/// It is dropped there when the last clone of this is gone and the calls that use it have ended, or
/// with the Core.
///
/// It does not keep the Core: [`CoreThread::shutdown`] waits for the calls under way, drops the value
/// and resolves while this is still there. From then on every call resolves to
/// [`Lost::Gone`](crate::spawn::Lost::Gone).
///
/// ```
/// use std::cell::Cell;
/// use tokio_core_compat::core_thread::CoreThread;
///
/// /// Stands for a client with a pool, which is neither `Send` nor `Sync`.
/// #[derive(Default)]
/// struct Client {
///     asked: Cell<u32>,
/// }
///
/// impl Client {
///     fn get(&self, _url: &str) -> impl futures01::Future<Item = u32, Error = ()> {
///         self.asked.set(self.asked.get() + 1);
///         futures01::future::ok(self.asked.get())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let core = CoreThread::new("legacy")?;
/// let client = core.resident(|_handle| Client::default()).await?;
/// for nth in 1..3 {
///     assert_eq!(client.run(|client, _| client.get("http://…")).await?, Ok(nth));
/// }
/// assert_eq!(client.call(|client, _| client.asked.get()).await?, 2);
/// core.shutdown().await?;
/// # Ok(())
/// # }
/// ```
pub struct Resident<T> {
    jobs: mpsc::UnboundedSender<Job<T>>,
    /// Weak, so that a shutdown need not wait for this.
    lease: Weak<Inner>,
}

/// What a [`Lease`] is an `Arc` of.
type Inner = <Lease as std::ops::Deref>::Target;

/// The half of a call that starts it on the Core's thread.
type Job<T> = Box<dyn FnOnce(Rc<T>, &Handle) + Send>;

impl CoreThread {
    /// Calls `make` on the Core's thread, and keeps there what it returns.
    pub fn resident<F, T>(&self, make: F) -> Call<Resident<T>>
    where
        F: FnOnce(&Handle) -> T + Send + 'static,
        T: 'static,
    {
        let lease = Arc::downgrade(&self.lease);
        let settle = move |handle: &Handle| {
            let value = Rc::new(make(handle));
            let (jobs, inbox) = mpsc::unbounded::<Job<T>>();
            let here = handle.clone();
            handle.spawn(inbox.for_each(move |job| {
                job(value.clone(), &here);
                Ok(())
            }));
            future::ok(Resident { jobs, lease })
        };
        call(&self.remote, settle, Some(self.lease.clone()))
    }
}

impl<T: 'static> Resident<T> {
    /// Runs the 0.1 future that `f` makes of the value. See [`CoreThread::run`].
    pub fn run<F, R>(&self, f: F) -> Call<Result<R::Item, R::Error>>
    where
        F: FnOnce(&Rc<T>, &Handle) -> R + Send + 'static,
        R: IntoFuture,
        R::Future: 'static,
        R::Item: Send + 'static,
        R::Error: Send + 'static,
    {
        self.send(move |value, handle| f(&value, handle).into_future().then(Ok))
    }

    /// Runs the std future that `f` makes of the value. See [`CoreThread::run_std`].
    pub fn run_std<F, R>(&self, f: F) -> Call<R::Output>
    where
        F: FnOnce(&Rc<T>, &Handle) -> R + Send + 'static,
        R: Future + 'static,
        R::Output: Send + 'static,
    {
        self.send(move |value, handle| budgeted(f(&value, handle)))
    }

    /// Calls `f` with the value. See [`CoreThread::call`].
    pub fn call<F, R>(&self, f: F) -> Call<R>
    where
        F: FnOnce(&Rc<T>, &Handle) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.send(move |value, handle| future::ok(f(&value, handle)))
    }

    fn send<F, A>(&self, f: F) -> Call<A::Item>
    where
        F: FnOnce(Rc<T>, &Handle) -> A + Send + 'static,
        A: Future01<Error = ()> + 'static,
        A::Item: Send + 'static,
    {
        let lease = self.lease.upgrade();
        let gone = lease.is_none();
        let (start, call) = halves(f, lease);
        if !gone {
            // What comes back when the Core is gone is dropped, which answers the call.
            let _ = self.jobs.unbounded_send(Box::new(start));
        }
        call
    }
}

impl<T> Clone for Resident<T> {
    fn clone(&self) -> Resident<T> {
        Resident {
            jobs: self.jobs.clone(),
            lease: self.lease.clone(),
        }
    }
}

impl<T> fmt::Debug for Resident<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident").finish_non_exhaustive()
    }
}
