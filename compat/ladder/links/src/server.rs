//! The program with listeners: binds them, serves on every thread, and drains after a signal.
//!
//! ```text
//!   bind ──▶ serving ──signal──▶ draining ──▶ drained, timed out or forced ──▶ end
//!              └──────── a thread fails or panics ─────────────────────────────┘
//! ```
//!
//! The first thread receives the signals and leads the others, each of which has a [`Worker`] with a
//! runtime of its own, through the phases of `shutdown`.

use std::future::Future;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use ptunnel::config::Config;
use ptunnel::listener::bind::{BoundListener, SocketsGuard};
use ptunnel::listener::kind::ListenerKind;
use ptunnel::listener::reload::{ConfigSource, Delivery, Reload};
use ptunnel::listener::set::ListenerSet;
use ptunnel::listener::settings::{ListenerHandle, ListenerSettings};
use ptunnel::observe::access_log::{self, ClientSession, LogContext};
use ptunnel::os::resolver;
use ptunnel::os::sd_notify::{Heartbeat, ServiceManager};
use ptunnel::Error;
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{spawn_local, yield_now, LocalSet};

use crate::critical::{contained, Critical};
use crate::io::{Accept, BoundSocket, Transport};
use crate::shutdown::{lead, DrainEnd, ShutdownPhase, ShutdownPhases, Signals};
use crate::system::{monotonic, raise_descriptor_limit};
use crate::{beat, inbound, open_path, Client, Engine, Links, Listener, Permits, Settings};

/// Threads of each runtime for blocking work: for the names in the configuration and for those that
/// clients send.
const BLOCKING_THREADS: usize = 2 * resolver::THREADS;

/// Binds every listener of the configuration, prints each on stdout, and serves until a signal comes
/// and the open tunnels have ended.
///
/// # Errors
///
/// The first bind that fails, before any client is served; the first thread that fails.
pub(crate) fn run<L: Links>(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    raise_descriptor_limit();
    // Before there are threads: this changes the environment.
    let service_manager = ServiceManager::of_process(monotonic);
    let runtime = runtime()?;
    runtime.block_on(async {
        // Before the first line on stdout: its reader can send a signal right after.
        let signals = Signals::new().map_err(|e| Error::other("cannot catch signals", e))?;
        let reload = source.map(Reload::at_hangup).transpose()?;
        let (listeners, threads) = ListenerSet::open(config, open_path::<L::Probe>)?;
        let (senders, later): (Vec<_>, Vec<_>) =
            threads.iter().map(|_| mpsc::unbounded_channel()).unzip();
        if let Some(reload) = reload {
            reload.start(
                config,
                listeners,
                &service_manager,
                move |thread, delivery| {
                    // Fails if the thread has ended; then the reload gets no answer, and fails too.
                    let _ = senders[thread].send(delivery);
                },
            )?;
        }
        let permits = Permits::new(config.max_connections);
        let (phase, phases) = ShutdownPhases::new();
        let (sender, mut ended) = mpsc::unbounded_channel();
        // The last thread is this one.
        let mut heartbeats = service_manager.heartbeats(threads.len() + 1);
        tokio::spawn(beat(heartbeats.remove(threads.len())));
        let threads = threads.into_iter().zip(later).zip(heartbeats);
        for (index, ((listeners, later), heartbeat)) in threads.enumerate() {
            let settings = Settings::of(config);
            let worker = Worker {
                listeners,
                later,
                settings,
                heartbeat,
                permits: permits.clone(),
                phases: phases.clone(),
            };
            let sender = sender.clone();
            thread::Builder::new()
                .name(format!("reactor-{}", index + 1))
                .spawn(move || sender.send(catch_unwind(AssertUnwindSafe(|| worker.run::<L>()))))
                .map_err(|e| Error::other("cannot start a thread", e))?;
        }
        drop(sender);
        let (limit, clients, idle) = (config.timeouts.drain, || permits.clients(), permits.idle());
        tokio::select! {
            end = lead(signals, &phase, &service_manager, limit, clients, idle) => {
                if end == DrainEnd::Forced {
                    return Ok(()); // the end of the process ends the threads
                }
            }
            Some(early) = ended.recv() => return joined(early),
        }
        while let Some(outcome) = ended.recv().await {
            joined(outcome)?;
        }
        Ok(())
    })
}

/// Returns the result of another thread, or panics with its panic.
fn joined(outcome: thread::Result<Result<(), Error>>) -> Result<(), Error> {
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The parameters of one thread.
pub(crate) struct Worker {
    pub(crate) listeners: Vec<BoundListener<BoundSocket>>,
    /// The listeners that reloads add.
    pub(crate) later: mpsc::UnboundedReceiver<Delivery<BoundSocket>>,
    pub(crate) settings: Settings,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) permits: Permits,
    pub(crate) phases: ShutdownPhases,
}

impl Worker {
    /// Serves on this thread until the last phase, and cuts the tunnels that are left.
    pub(crate) fn run<L: Links>(self) -> Result<(), Error> {
        let Worker {
            listeners,
            mut later,
            settings,
            heartbeat,
            permits,
            phases,
        } = self;
        on_this_thread(async {
            let mut critical = Critical::default();
            critical.spawn(beat(heartbeat));
            let engine = Engine::<L>::new(settings, &mut critical);
            for listener in listeners {
                critical.spawn(accept(listener, &engine, &permits, &phases)?);
            }
            loop {
                tokio::select! {
                    () = phases.reached(ShutdownPhase::Ending) => return Ok(()),
                    panic = critical.panicked() => resume_unwind(panic),
                    Some(delivery) = later.recv() => delivery.accept(|listener| {
                        critical.spawn(accept(listener, &engine, &permits, &phases)?);
                        Ok(())
                    }),
                }
            }
        })?
    }
}

/// Serves the clients of a listener, from its start until it is closed or ptunnel shuts down.
///
/// # Errors
///
/// `Error::listen` if the socket can't be registered with the runtime.
fn accept<L: Links>(
    listener: BoundListener<BoundSocket>,
    engine: &Rc<Engine<L>>,
    permits: &Permits,
    phases: &ShutdownPhases,
) -> Result<Pin<Box<dyn Future<Output = ()>>>, Error> {
    let BoundListener {
        handle,
        open,
        listening,
    } = listener;
    let name = listening.name();
    let failed = |e| Error::listen(name, e);
    let (engine, phases) = (engine.clone(), phases.clone());
    Ok(match listening {
        BoundSocket::Tcp(listener) => {
            let listener = TcpListener::from_std(listener).map_err(failed)?;
            let listener = Listener::new(listener, permits);
            Box::pin(serve_while(phases, listener, engine, handle, open))
        }
        BoundSocket::Unix(listener) => {
            let listener = UnixListener::from_std(listener).map_err(failed)?;
            let listener = Listener::new(listener, permits);
            Box::pin(serve_while(phases, listener, engine, handle, open))
        }
    })
}

/// Serves clients from the start of the listener until it is closed, in the phase `Serving` only.
async fn serve_while<L: Links, A: Accept + 'static>(
    phases: ShutdownPhases,
    listener: Listener<A>,
    engine: Rc<Engine<L>>,
    handle: ListenerHandle,
    open: Arc<SocketsGuard>,
) {
    let (begun, over) = (begun(&handle), over(&handle));
    let serving = async {
        phases.reached(ShutdownPhase::Serving).await;
        begun.await;
        serve_each(listener, engine, handle).await
    };
    // Whichever ends first, the listening socket is closed.
    tokio::select! {
        () = serving => {}
        () = over => {}
        () = phases.reached(ShutdownPhase::Draining) => {}
    }
    drop(open);
}

/// Resolves when the listener is started.
fn begun(handle: &ListenerHandle) -> impl Future<Output = ()> {
    let (start, started) = oneshot::channel::<()>();
    handle.on_start(move || drop(start));
    async {
        let _ = started.await;
    }
}

/// Resolves when the listener is closed.
fn over(handle: &ListenerHandle) -> impl Future<Output = ()> {
    let (close, closed) = oneshot::channel::<()>();
    handle.on_close(move || drop(close));
    async {
        let _ = closed.await;
    }
}

async fn serve_each<L: Links, A: Accept + 'static>(
    mut listener: Listener<A>,
    engine: Rc<Engine<L>>,
    handle: ListenerHandle,
) {
    loop {
        let client = listener.next().await;
        let settings = handle.settings();
        let context = LogContext::new(client.origin, settings.name.clone());
        if !settings.acl.admits(&context) {
            continue; // tokio's budget lets other tasks run
        }
        let session = serve(client, context, engine.on(&settings), settings);
        spawn_local(contained(Box::pin(session)));
        // It takes its descriptors before the next client is accepted.
        yield_now().await;
    }
}

/// Serves one client. If it can't be served, the reason is logged once.
async fn serve<L: Links, S: Transport + 'static>(
    client: Client<S>,
    context: LogContext,
    engine: Rc<Engine<L>>,
    settings: Arc<ListenerSettings>,
) {
    let Client {
        socket,
        permit,
        reserved,
        ..
    } = client;
    let session = ClientSession::new(context.clone(), settings.stats.as_ref());
    let end = match &settings.kind {
        ListenerKind::Tunnel(tunnel) => {
            drop(reserved); // a dial takes its descriptor, or reserves one, at its first poll
            L::carry(&engine, socket, session, tunnel).await.map(drop)
        }
        // Boxed, so that an idle tunnel to a fixed destination doesn't take the room of these.
        ListenerKind::Dynamic(inbound) => {
            Box::pin(inbound::serve(&engine, reserved, socket, session, inbound)).await
        }
        ListenerKind::Proxy(inbound) => {
            Box::pin(inbound::serve(&engine, reserved, socket, session, inbound)).await
        }
    };
    drop(permit);
    if let Err(e) = end {
        access_log::unserved(&context, settings.stats.as_ref(), &e);
    }
}

/// Runs `future` on a new runtime, and drops the tasks that it has spawned with it.
///
/// # Errors
///
/// `Error::other` if there are no descriptors for a runtime.
///
/// # Panics
///
/// If `future` panics.
pub(crate) fn on_this_thread<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = runtime()?;
    let tasks = LocalSet::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| tasks.block_on(&runtime, future)));
    drop(tasks);
    // Its drop would wait for a lookup that hangs.
    runtime.shutdown_background();
    Ok(outcome.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Returns a runtime for this thread alone.
///
/// # Errors
///
/// `Error::other` if there are no descriptors for it.
pub fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("resolver")
        .build()
        .map_err(|e| Error::other("cannot start a reactor", e))
}
