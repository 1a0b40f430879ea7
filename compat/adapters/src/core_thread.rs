//! A tokio-core `Core` on its own thread, beside tokio 1.
//!
//! For the part of a program that stays on tokio-core while its `main` is on tokio 1 already: the
//! two reactors cannot share a thread, since each wants to be the one that sleeps.
//!
//! The futures on it may use tokio 1's timers and sockets all the same, as those of the runtime
//! that the [`CoreThread`] was made in: it is entered on the Core's thread, and its own thread goes
//! on sleeping for them.
//!
//! # tokio 0.1
//!
//! tokio-core 0.1.18 runs on tokio 0.1, so a [`CoreThread`] with that version also hosts tokio 0.1
//! code: hyper 0.12, `tokio::spawn`, tokio-timer, tokio-tcp. What it runs finds their executor,
//! reactor and timer on its thread.
//!
//! - `tokio::spawn`, `Handle::spawn_send` and hyper 0.12's own tasks run on the threads of tokio
//!   0.1's pool, which are in no tokio 1 runtime: "there is no reactor running". Wrap the task, or
//!   the `Executor` that hyper spawns with, in a [`task::InRuntime`](crate::task::InRuntime).
//! - [`CoreThread::shutdown`] doesn't wait for those tasks; it drops them with the Core.
//! - On other threads, `tokio::spawn` panics and a timer of tokio 0.1 fails. Its sockets work
//!   there, through [`io::AsTokio::with_half_close`](crate::io::AsTokio::with_half_close).
//! - `tokio::run` and the runtimes of tokio 0.1 panic on the Core's thread: run the future instead.
//!
//! `compat/real/0.1.18/tests/tokio_01.rs` in the repository tests each of these.

//!
//! When tokio-core is the drop-in of that name, which runs on tokio 1, a Core is a runtime of tokio 1
//! itself: what it runs uses its timers and its clock, wherever the [`CoreThread`] was made.

mod resident;

pub use self::resident::Resident;

use std::fmt;
use std::future::{poll_fn, Future};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{mpsc as blocking, Arc};
use std::thread::{self, ThreadId};

use futures01::future;
use futures01::sync::{mpsc, oneshot};
use futures01::{Future as Future01, IntoFuture, Stream as Stream01};
use tokio::runtime;
use tokio::sync::oneshot as answer;
use tokio_core::reactor::{Core, Handle, Remote};

use crate::spawn::{budgeted, call, leased, Call, Lease, Panic};

/// A running Core.
///
/// *Cost*: a thread; a message each way for every call. *Cancellation*: dropping this stops the
/// Core at its next turn and drops all that is on it, without waiting for either; the calls under
/// way resolve to [`Lost::Gone`](crate::spawn::Lost::Gone). [`shutdown`](CoreThread::shutdown) lets
/// them finish first. *Ownership*: sockets that were made on the Core are its own for life,
/// wherever they are moved to: they are silent once it is gone ([`io::AsTokio`](crate::io::AsTokio)
/// says more).
///
/// With tokio-core 0.1.13 and later every Core starts further threads, and leaves its reactor's
/// thread and descriptors behind when it is dropped: make one Core for the life of the program.
///
/// ```
/// use std::time::Duration;
/// use futures01::Future as _;
/// use tokio_core_compat::core_thread::CoreThread;
/// use tokio_core::reactor::Timeout;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let core = CoreThread::new("legacy")?;
/// let answer = core
///     .run(|handle| {
///         let timeout = Timeout::new(Duration::from_millis(1), handle).unwrap();
///         timeout.map(|()| "from a tokio-core timer")
///     })
///     .await??;
/// assert_eq!(answer, "from a tokio-core timer");
/// core.shutdown().await?;
/// # Ok(())
/// # }
/// ```
pub struct CoreThread {
    remote: Remote,
    /// Every call holds one of these; the Core runs until all of them are gone.
    lease: Lease,
    /// Dropped, it stops the Core; sent, it leaves the Core to its calls.
    stop: oneshot::Sender<()>,
    ended: answer::Receiver<Result<(), Panic>>,
    thread: ThreadId,
}

impl CoreThread {
    /// Starts a thread of this name, and a Core on it. Blocks for as long as that takes.
    ///
    /// Called inside a tokio 1 runtime (a task, `block_on`, the guard of `enter`), it lets what its
    /// thread runs make timers, sockets and tasks of that runtime. They fire for as long as it runs,
    /// so await [`shutdown`](CoreThread::shutdown) before it goes. A timer of [`time`](crate::time)
    /// that still waits then fails with an `io::Error`; one of tokio's own panics when it is polled
    /// again. Called outside of any, it is a Core and nothing more: a timer made there with
    /// [`time::Current`](crate::time::Current) panics and says what to do; one of tokio's own, in an
    /// `async` block say, panics with tokio's "there is no reactor running".
    ///
    /// ```
    /// use std::time::Duration;
    /// use tokio_core_compat::core_thread::CoreThread;
    /// use tokio_core_compat::time::{Current, Timeout};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let core = CoreThread::new("legacy")?;
    /// let millisecond = Duration::from_millis(1);
    /// core.run_std(move |_| tokio::time::sleep(millisecond)).await?;
    /// core.run(move |_| Timeout::new(millisecond, &Current).unwrap()).await??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the system has no thread or no descriptor left.
    pub fn new(name: &str) -> io::Result<CoreThread> {
        let (lease, leases) = mpsc::unbounded();
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = blocking::channel();
        let (end, ended) = answer::channel();
        let runtime = runtime::Handle::try_current().ok();
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                // Left after the Core is dropped, whose futures may look for it as they go.
                let _inside = runtime.as_ref().map(runtime::Handle::enter);
                let core = match Core::new() {
                    Ok(core) => core,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                // `new` blocks on it.
                let _ = ready.send(Ok(core.remote()));
                let outcome = catch_unwind(AssertUnwindSafe(|| turn(core, leases, stopped)));
                // The receiver may be gone.
                let _ = end.send(outcome.map_err(Panic::new));
            })?;
        let remote = started
            .recv()
            .map_err(|_| io::Error::other("no Core on its thread"))??;
        Ok(CoreThread {
            remote,
            lease: Arc::new(lease),
            stop,
            ended,
            thread: thread.thread().id(),
        })
    }

    /// Runs the 0.1 future that `f` makes on the Core. See [`on_remote`](crate::spawn::on_remote).
    ///
    /// It has no [budget](crate::task#budget): one that is always ready keeps the other calls and the
    /// Core's timers waiting, as it did before.
    ///
    /// # Panics
    ///
    /// Never: a panic of `f` or of its future is what the [`Call`] resolves to, and the Core goes
    /// on. When the [`Call`] was dropped, the panic's payload or the answer is dropped here; if
    /// that panics in turn, only the panic hook reports it.
    pub fn run<F, R>(&self, f: F) -> Call<Result<R::Item, R::Error>>
    where
        F: FnOnce(&Handle) -> R + Send + 'static,
        R: IntoFuture,
        R::Future: 'static,
        R::Item: Send + 'static,
        R::Error: Send + 'static,
    {
        let f = move |handle: &Handle| f(handle).into_future().then(Ok);
        call(&self.remote, f, Some(self.lease.clone()))
    }

    /// Runs the std future that `f` makes on the Core, where it can await 0.1 code that has to be
    /// there. See [`on_remote_std`](crate::spawn::on_remote_std).
    ///
    /// It has [tokio's budget](crate::task#budget): one that is always ready yields to the other
    /// calls and the Core's timers.
    pub fn run_std<F, R>(&self, f: F) -> Call<R::Output>
    where
        F: FnOnce(&Handle) -> R + Send + 'static,
        R: std::future::Future + 'static,
        R::Output: Send + 'static,
    {
        let f = move |handle: &Handle| budgeted(f(handle));
        call(&self.remote, f, Some(self.lease.clone()))
    }

    /// Calls `f` on the Core's thread, and brings back what it returns. See
    /// [`on_remote_call`](crate::spawn::on_remote_call).
    pub fn call<F, T>(&self, f: F) -> Call<T>
    where
        F: FnOnce(&Handle) -> T + Send + 'static,
        T: Send + 'static,
    {
        let f = move |handle: &Handle| future::ok(f(handle));
        call(&self.remote, f, Some(self.lease.clone()))
    }

    /// The Core's own handle for other threads. What is spawned through it is dropped with the
    /// Core, and a panic of it ends the Core.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Waits until the calls under way have ended, then stops the Core and its thread.
    ///
    /// Resolves when the Core and all that was left on it are dropped. Dropping the future of this
    /// changes nothing about that: the Core still ends after its last call.
    ///
    /// # Panics
    ///
    /// When it is awaited in a call of this very Core, which it would wait for. The call resolves to
    /// that panic, and the Core ends after its last call. What isn't detected: a call that waits for
    /// a task elsewhere that awaits this. Both then wait for ever.
    ///
    /// # Errors
    ///
    /// The panic of a task that was spawned through a `Handle` or [`remote`](CoreThread::remote),
    /// which has ended the Core before its time.
    pub fn shutdown(self) -> impl Future<Output = Result<(), Panic>> {
        let CoreThread {
            remote,
            lease,
            stop,
            mut ended,
            thread,
        } = self;
        // Now and not at the first poll, which may never come. An error means that the Core has
        // ended already.
        let _ = stop.send(());
        drop((remote, lease));
        poll_fn(move |cx| {
            let polled = Pin::new(&mut ended).poll(cx);
            assert!(
                polled.is_ready() || !leased() || thread::current().id() != thread,
                "CoreThread::shutdown was awaited in a call of the same Core, and waits for that \
                 call: return from the call first, and await it outside (to end the Core from \
                 within, call shutdown and drop what it returns)"
            );
            polled.map(|ended| ended.unwrap_or(Ok(())))
        })
    }
}

impl fmt::Debug for CoreThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreThread").finish_non_exhaustive()
    }
}

/// Turns the Core until the last lease is gone, or until it is asked to stop; then drops it.
fn turn(mut core: Core, leases: mpsc::UnboundedReceiver<()>, stopped: oneshot::Receiver<()>) {
    let drained = leases.for_each(|()| Ok(()));
    let stopped = stopped
        .and_then(|()| future::empty())
        .or_else(|oneshot::Canceled| Ok(()));
    // What remains is the loser of the race.
    let _ = core.run(drained.select(stopped));
}
