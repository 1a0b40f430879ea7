//! The old engine on a Core of its own thread, as a std future.

use futures01::sync::mpsc;
use futures01::{Future as Future01, IntoFuture};
use ptunnel::engine::io::BoundSocket;
use ptunnel::engine::{Engine, Permits, Settings};
use ptunnel::listener::bind::BoundListener;
use ptunnel::listener::reload::Delivery;
use ptunnel::os::sd_notify::Heartbeat;
use ptunnel::Error;
use ptunnel_r5::shutdown::{ShutdownPhase, ShutdownPhases};
use tokio_core_compat::core_thread::CoreThread;
use tokio_core_compat::spawn::Lost;
use tokio_core_compat::task::As01;

/// A Core on a new thread.
///
/// # Errors
///
/// When there is no thread or no descriptor left.
pub(crate) fn core(name: &str) -> Result<CoreThread, Error> {
    CoreThread::new(name).map_err(|e| Error::other("cannot start a thread", e))
}

/// Serves `listeners`, and those that a reload adds, on a Core until the last phase, then cuts the
/// tunnels that are left: they are dropped with their Core.
///
/// # Errors
///
/// When an engine or a listener can't be set up.
pub(crate) async fn serve(
    core: CoreThread,
    (listeners, later): (
        Vec<BoundListener<BoundSocket>>,
        mpsc::UnboundedReceiver<Delivery<BoundSocket>>,
    ),
    settings: Settings,
    heartbeat: Heartbeat,
    permits: Permits,
    phases: ShutdownPhases,
) -> Result<(), Error> {
    on_core(core, settings, move |engine| {
        for listener in listeners {
            engine.accept(
                listener,
                &permits,
                reached(&phases, ShutdownPhase::Draining),
            )?;
        }
        let draining = phases.clone();
        engine.reload(later, &permits, move || {
            reached(&draining, ShutdownPhase::Draining)
        });
        engine.watchdog(heartbeat)?;
        // The engine belongs to the closure of this future, and so lives as long as it.
        let ending = reached(&phases, ShutdownPhase::Ending).map(move |()| drop(engine));
        Ok(ending.map_err(|()| unreachable!("a phase is always reached")))
    })
    .await
}

/// Runs the future that `start` makes of an engine on a Core to its end, and ends the Core.
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
    // A panic on the Core panics here, as it did when the Core was on this thread.
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

/// Resolves once `phase` is reached: an async function in a 0.1 task.
fn reached(phases: &ShutdownPhases, phase: ShutdownPhase) -> impl Future01<Item = (), Error = ()> {
    let phases = phases.clone();
    As01::pin(async move {
        phases.reached(phase).await;
        Ok(())
    })
}
