//! `Send` futures onto a tokio 1 runtime.

use futures01::future::{ExecuteError, Executor};
use futures01::Future as Future01;
use tokio::runtime;
use tokio::task::JoinHandle;

use crate::task::AsStd;

/// Spawns 0.1 futures onto a tokio 1 runtime, on whichever of its threads: for 0.1 libraries that
/// take an `Executor`.
///
/// *Cost*: a task is tokio's allocation and three of the bridge's. *Cancellation*: through the
/// `JoinHandle` of [`spawn`](Spawner::spawn); when the runtime is gone, the future is dropped and
/// the `JoinHandle` says that it was cancelled. *Panics* end in the `JoinHandle`; with
/// [`execute`](Executor::execute) it is dropped, so they end in the panic message alone.
/// *Ownership*: sockets belong to the tasks that hold them, and what a task resolves to to the one
/// who awaits its `JoinHandle`.
///
/// ```
/// use futures01::{future, Future as _};
/// use tokio_core_compat::spawn::Spawner;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let spawner = Spawner::new(tokio::runtime::Handle::current());
/// let sum = spawner.spawn(future::ok::<_, ()>(40).map(|n| n + 2));
/// assert_eq!(sum.await.unwrap(), Ok(42));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Spawner {
    runtime: runtime::Handle,
}

impl Spawner {
    /// Spawns onto `runtime`.
    pub fn new(runtime: runtime::Handle) -> Spawner {
        Spawner { runtime }
    }

    /// Spawns a 0.1 future; the `JoinHandle` resolves to its outcome. Dropping the `JoinHandle` lets
    /// the future run on.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<Result<F::Item, F::Error>>
    where
        F: Future01 + Send + 'static,
        F::Item: Send,
        F::Error: Send,
    {
        self.runtime.spawn(AsStd::new(future))
    }
}

impl<F> Executor<F> for Spawner
where
    F: Future01<Item = (), Error = ()> + Send + 'static,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        self.spawn(future);
        Ok(())
    }
}
