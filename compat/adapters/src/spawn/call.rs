//! Futures sent to a tokio-core `Core` and awaited here.

use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

use futures01::{future, Async, Future as Future01, IntoFuture, Poll as Poll01};
use tokio::sync::oneshot;
use tokio_core::reactor::{Handle, Remote};

use super::budgeted::Budgeted;
use super::clock::Hold;
use super::lost::{Lost, Panic};
use crate::task::{As01, Crossing};

/// Spawns a std future onto the Core of `handle`, on this thread; it need not be `Send`.
///
/// The future has [tokio's budget](crate::task#budget), so it leaves the Core's other tasks their
/// turn; `tokio::task::spawn_local` works in it, and what that spawns ends with the future.
///
/// *Cost*: ten allocations more than `handle.spawn`. *Cancellation*: dropping the [`Call`] drops
/// the future, at the Core's next turn. *Ownership*: whatever the future resolves to is moved here.
/// A socket in it stays registered where it was made, with this Core or with tokio 1.
pub fn on_handle<F>(handle: &Handle, future: F) -> Call<F::Output>
where
    F: Future + 'static,
{
    let (answer, call) = answer();
    let make = move |_: &Handle| budgeted(future);
    handle.spawn(Answering::new(make, handle, answer, None));
    call
}

/// Spawns a 0.1 future onto the Core of `remote`, on whichever thread. `f` crosses over and must be
/// `Send`; the future that it makes need not be. It has no [budget](crate::task#budget), like
/// everything that a Core polls.
///
/// *Cost*: three allocations more than `remote.spawn`, and a message each way. *Cancellation*:
/// dropping the [`Call`] drops the future on its own thread, at the Core's next turn; if it comes
/// before `f` was called, `f` is not called. *Ownership*: whatever the future resolves to is moved
/// here. A socket in it stays registered with the Core: see [`io::AsTokio`](crate::io::AsTokio).
pub fn on_remote<F, R>(remote: &Remote, f: F) -> Call<Result<R::Item, R::Error>>
where
    F: FnOnce(&Handle) -> R + Send + 'static,
    R: IntoFuture,
    R::Future: 'static,
    R::Item: Send + 'static,
    R::Error: Send + 'static,
{
    call(remote, move |handle| f(handle).into_future().then(Ok), None)
}

/// Spawns a std future onto the Core of `remote`, on whichever thread: [`on_remote`] for what `f`
/// makes of `async` code.
///
/// *Budget*: as with [`on_handle`]. *Cost*: ten allocations more than `remote.spawn`, and a message
/// each way. *Cancellation* and *ownership*: as with [`on_remote`].
pub fn on_remote_std<F, R>(remote: &Remote, f: F) -> Call<R::Output>
where
    F: FnOnce(&Handle) -> R + Send + 'static,
    R: Future + 'static,
    R::Output: Send + 'static,
{
    call(remote, move |handle| budgeted(f(handle)), None)
}

/// Calls `f` on the thread of the Core of `remote`, and brings back what it returns.
///
/// *Cost*, *cancellation* and *ownership*: as with [`on_remote`]. `f` holds up the Core for as long
/// as it runs.
pub fn on_remote_call<F, T>(remote: &Remote, f: F) -> Call<T>
where
    F: FnOnce(&Handle) -> T + Send + 'static,
    T: Send + 'static,
{
    call(remote, move |handle| future::ok(f(handle)), None)
}

/// Kept by a future for as long as it is on its way or running.
pub(crate) type Lease = Arc<futures01::sync::mpsc::UnboundedSender<()>>;

thread_local! {
    /// Whether a future with a [`Lease`] is being polled on this thread.
    static LEASED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is called by a future with a [`Lease`], which the Core of this thread waits for.
pub(crate) fn leased() -> bool {
    LEASED.get()
}

/// For as long as it lives, [`leased`] says so.
struct Leased {
    outer: bool,
}

impl Leased {
    fn enter(leased: bool) -> Leased {
        Leased {
            outer: LEASED.replace(leased),
        }
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        LEASED.set(self.outer);
    }
}

/// What [`on_remote`] does, for a future that never fails.
pub(crate) fn call<F, A>(remote: &Remote, f: F, lease: Option<Lease>) -> Call<A::Item>
where
    F: FnOnce(&Handle) -> A + Send + 'static,
    A: Future01<Error = ()> + 'static,
    A::Item: Send + 'static,
{
    let (answer, call) = answer();
    remote.spawn(move |handle| Answering::new(f, handle, answer, lease));
    call
}

/// What [`call`] does, in two halves: the first is for the Core's thread, and brings along what `f`
/// needs there.
pub(crate) fn halves<C, F, A>(
    f: F,
    lease: Option<Lease>,
) -> (impl FnOnce(C, &Handle) + Send, Call<A::Item>)
where
    C: 'static,
    F: FnOnce(C, &Handle) -> A + Send + 'static,
    A: Future01<Error = ()> + 'static,
    A::Item: Send + 'static,
{
    let (answer, call) = answer();
    let start = move |context: C, handle: &Handle| {
        let make = move |handle: &Handle| f(context, handle);
        handle.spawn(Answering::new(make, handle, answer, lease));
    };
    (start, call)
}

/// A std future as 0.1 asks for it, with an error, which never comes; and with tokio's budget, which
/// a Core doesn't give.
pub(crate) fn budgeted<F>(future: F) -> impl Future01<Item = F::Output, Error = ()>
where
    F: Future + 'static,
{
    As01::new(Budgeted::new(async { Ok(future.await) }))
}

type Answer<T> = oneshot::Sender<Result<T, Panic>>;

fn answer<T>() -> (Answer<T>, Call<T>) {
    let (answer, waiting) = oneshot::channel();
    let call = Call {
        waiting: Some(waiting),
        hold: None,
    };
    (answer, call)
}

/// A future on a Core, seen from here: resolves to what it resolved to.
///
/// Dropping this drops the future on the Core's side, at the next turn. To let it run on
/// unobserved, spawn the `Call` in its place.
///
/// tokio's paused clock (`start_paused`) knows nothing of a Core: while a task waits for a `Call` and
/// nothing else is to be done, the clock jumps to the next timer, and a `timeout` around the call
/// elapses at once. [`in_real_time`](Call::in_real_time) prevents that.
///
/// # Errors
///
/// [`Lost`] when there will be no answer.
///
/// # Panics
///
/// When it is polled again after its end.
#[must_use = "dropping a Call cancels what it waits for"]
pub struct Call<T> {
    /// `None` after the end.
    waiting: Option<oneshot::Receiver<Result<T, Panic>>>,
    hold: Option<Hold>,
}

impl<T> Call<T> {
    /// Holds the clock of the runtime that this is called in, if that clock is paused, until this
    /// has resolved or is dropped. When it is not paused, does nothing.
    ///
    /// For calls that wait for a tokio-core timer or a peer, which take real time. Not for those
    /// that wait for a timer of the held clock, [`time`](crate::time)'s among them: it never fires.
    /// For the same reason, await this before any timer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use futures01::Future as _;
    /// use tokio_core::reactor::Timeout;
    /// use tokio_core_compat::core_thread::CoreThread;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let core = CoreThread::new("legacy")?;
    /// let call = core.run(|handle| Timeout::new(Duration::from_millis(5), handle).unwrap());
    /// tokio::time::timeout(Duration::from_secs(3600), call.in_real_time()).await???;
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_real_time(mut self) -> Call<T> {
        self.hold = Hold::new();
        self
    }
}

impl<T> Future for Call<T> {
    type Output = Result<T, Lost>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(waiting) = &mut self.waiting else {
            panic!("a spawn::Call was polled after its end: await it once and keep what it returns")
        };
        let answer = ready!(Pin::new(waiting).poll(cx));
        self.waiting = None;
        self.hold = None;
        Poll::Ready(match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(panic)) => Err(Lost::Panicked(panic)),
            Err(_) => Err(Lost::Gone),
        })
    }
}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

/// The Core's side of a [`Call`].
struct Answering<F, A: Future01> {
    state: State<F, A>,
    /// `None` once the answer is on its way.
    answer: Option<Answer<A::Item>>,
    hung_up: Crossing,
    lease: Option<Lease>,
}

/// ```text
/// Queued ──first poll──▶ Running ──ready, panic or hung up──▶ Ended
/// ```
enum State<F, A> {
    /// `f` is called from `poll`, so that its panic is caught and reported, too.
    Queued(F, Handle),
    Running(A),
    Ended,
}

impl<F, A> State<F, A>
where
    F: FnOnce(&Handle) -> A,
    A: Future01<Error = ()>,
{
    fn advance(&mut self) -> Poll01<A::Item, ()> {
        *self = match mem::replace(self, State::Ended) {
            State::Queued(f, handle) => State::Running(f(&handle)),
            state => state,
        };
        match self {
            State::Running(future) => future.poll(),
            _ => panic!("Answering was polled after its end"),
        }
    }
}

impl<F, A> Answering<F, A>
where
    F: FnOnce(&Handle) -> A,
    A: Future01<Error = ()>,
{
    fn new(f: F, handle: &Handle, answer: Answer<A::Item>, lease: Option<Lease>) -> Self {
        Answering {
            state: State::Queued(f, handle.clone()),
            answer: Some(answer),
            hung_up: Crossing::default(),
            lease,
        }
    }
}

impl<F, A> Future01 for Answering<F, A>
where
    F: FnOnce(&Handle) -> A,
    A: Future01<Error = ()>,
{
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll01<(), ()> {
        let Answering {
            state,
            answer,
            hung_up,
            lease,
        } = self;
        let _leased = Leased::enter(lease.is_some());
        let waiting = answer.as_mut().expect("polled after its end");
        if hung_up
            .enter("a spawn::Call", |cx| waiting.poll_closed(cx))
            .is_ready()
        {
            discard(mem::replace(state, State::Ended));
            return Ok(Async::Ready(()));
        }
        // What a panic leaves behind is dropped unseen.
        let polled = catch_unwind(AssertUnwindSafe(|| state.advance()));
        let told = match polled {
            Ok(Ok(Async::NotReady)) => return Ok(Async::NotReady),
            Ok(Ok(Async::Ready(value))) => Ok(value),
            Ok(Err(())) => return Err(()),
            Err(panic) => Err(Panic::new(panic)),
        };
        // First the future ends, then its caller hears of it.
        let dropped = catch_unwind(AssertUnwindSafe(|| *state = State::Ended));
        let told = match (told, dropped) {
            (told, Ok(())) => told,
            (Ok(value), Err(panic)) => {
                discard(value);
                Err(Panic::new(panic))
            }
            (told, Err(panic)) => {
                discard(panic);
                told
            }
        };
        if let Some(answer) = answer.take() {
            // A caller who has left in this very moment wants no answer.
            discard(answer.send(told));
        }
        Ok(Async::Ready(()))
    }
}

/// Drops `value`. A destructor that panics is its caller's loss, not the other calls', and what it
/// panics with may do so too when it is dropped: that is leaked.
fn discard<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        mem::forget(panic);
    }
}
