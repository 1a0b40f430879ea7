//! The old engine on a Core of its own, as a future of today.

use futures01::sync::mpsc;
use futures01::{Future as Future01, IntoFuture};
use ptunnel::engine::io::BoundSocket;
use ptunnel::engine::{Engine, Permits, Settings};
use ptunnel::listener::bind::BoundListener;
use ptunnel::listener::reload::Delivery;
use ptunnel::os::sd_notify::Heartbeat;
use ptunnel::Error;
use ptunnel_compat::core::CoreThread;
use ptunnel_compat::spawn::Lost;
use ptunnel_compat::task::As01;
use ptunnel_r5::shutdown::{ShutdownPhase, ShutdownPhases};

/// A Core on a new thread.
///
/// # Errors
///
/// When the system has no thread or no descriptor left.
pub(crate) fn core(name: &str) -> Result<CoreThread, Error> {
    CoreThread::new(name).map_err(|e| Error::other("cannot start a thread", e))
}

/// Serves `posts`, and those that a reload brings later, on a Core until the last phase, then cuts
/// what is left: the tunnels that are still there are dropped with their Core.
///
/// # Errors
///
/// When an engine or a listener can't be set up.
pub(crate) async fn serve(
    core: CoreThread,
    (posts, later): (
        Vec<BoundListener<BoundSocket>>,
        mpsc::UnboundedReceiver<Delivery<BoundSocket>>,
    ),
    settings: Settings,
    pulse: Heartbeat,
    permits: Permits,
    phases: ShutdownPhases,
) -> Result<(), Error> {
    on_core(core, settings, move |engine| {
        for post in posts {
            engine.accept(post, &permits, reached(&phases, ShutdownPhase::Draining))?;
        }
        let draining = phases.clone();
        engine.reload(later, &permits, move || {
            reached(&draining, ShutdownPhase::Draining)
        });
        engine.watchdog(pulse)?;
        // The engine belongs to the closure of this future, and so lives as long as it.
        let ending = reached(&phases, ShutdownPhase::Ending).map(move |()| drop(engine));
        Ok(ending.map_err(|()| unreachable!("a phase is always reached")))
    })
    .await
}

/// Runs what `start` makes of an engine on a Core to its end, and ends the Core.
///
/// # Errors
///
/// Those of the future.
pub(crate) async fn on_core<F, R>(
    core: CoreThread,
    settings: Settings,
    start: F,
) -> Result<R::Item, Error>
where
    F: FnOnce(Engine) -> Result<R, Error> + Send + 'static,
    R: Future01<Error = Error> + 'static,
    R::Item: Send + 'static,
{
    let call = core.run(move |handle| {
        let engine = Engine::new(handle, settings);
        let engine = engine.map_err(|e| Error::other("cannot start a reactor", e));
        engine.and_then(start).into_future().flatten()
    });
    let outcome = call.await;
    // A panic on the Core is ours, as it was when the Core was on this thread.
    let ended = core.shutdown().await;
    match outcome {
        Ok(outcome) => outcome,
        Err(Lost::Panicked(panic)) => panic.resume(),
        Err(Lost::Gone) => match ended {
            Err(panic) => panic.resume(),
            Ok(()) => unreachable!("a Core outlives its calls, unless it panics"),
        },
    }
}

/// Resolves once things have come to `phase`: today's code in a 0.1 task, the other direction.
fn reached(phases: &ShutdownPhases, phase: ShutdownPhase) -> impl Future01<Item = (), Error = ()> {
    let phases = phases.clone();
    As01::pin(async move {
        phases.reached(phase).await;
        Ok(())
    })
}
