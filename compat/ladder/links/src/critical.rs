//! Panics of tasks, which tokio 1 keeps in a `JoinHandle` that may never be read.
//!
//! A panic of one tunnel ends that tunnel and is logged, as in the root's reactor. A panic of a task
//! without which nothing is served, such as a listener's, ends the program.

use std::any::Any;
use std::future::{pending, poll_fn, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::task::Poll;

use log::error;
use ptunnel::os::panics::message;
use tokio::task::JoinSet;

/// The payload of a panic, for [`resume_unwind`](std::panic::resume_unwind).
pub(crate) type Panic = Box<dyn Any + Send>;

/// The tasks of a thread without which nothing is served.
#[derive(Default)]
pub struct Critical(JoinSet<()>);

impl Critical {
    /// Starts a task, inside the thread's `LocalSet`. It can end; it is dropped with this.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        self.0.spawn_local(task);
    }

    /// Resolves to the first panic of a task.
    pub(crate) async fn panicked(&mut self) -> Panic {
        while let Some(end) = self.0.join_next().await {
            if let Err(Ok(panic)) = end.map_err(|e| e.try_into_panic()) {
                return panic;
            }
        }
        pending().await
    }
}

/// Runs a task that isn't critical: its panic is logged, and ends nothing else.
///
/// Boxed, since an argument of an `async fn` that is pinned inside takes its room twice.
pub(crate) async fn contained(mut task: Pin<Box<dyn Future<Output = ()>>>) {
    let end = poll_fn(|cx| {
        let poll = || task.as_mut().poll(cx);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    });
    if let Err(panic) = end.await {
        error!("a task panicked and was ended: {}", message(&*panic));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::rc::Rc;
    use std::sync::{Mutex, Once};
    use std::thread;
    use std::time::{Duration, Instant};

    use log::{LevelFilter, Log, Metadata, Record};
    use ptunnel::cli::env::Environment;
    use ptunnel::cli::{parse, Command};
    use ptunnel::config::Config;
    use ptunnel::listener::bind::Listen;
    use ptunnel::listener::set::ListenerSet;
    use ptunnel::observe::access_log::ClientSession;
    use ptunnel::observe::session::{Closed, RelayError, SessionSummary};
    use ptunnel::observe::stats::TunnelBytes;
    use ptunnel::os::sd_notify::Heartbeat;
    use ptunnel::proto::RequestBoundary;
    use ptunnel::upstream::Tunnel;
    use ptunnel::Error;

    use tokio::sync::mpsc;

    use super::*;
    use crate::io::{BoundSocket, Transport};
    use crate::server::{self, Worker};
    use crate::shutdown::{ShutdownPhase, ShutdownPhases};
    use crate::{Engine, Links, Native, Opened, Permits, Settings};

    /// Every client's tunnel panics; if `CLOCK`, so does a task that all of them share.
    struct Broken<const CLOCK: bool>;

    impl<const CLOCK: bool> Links for Broken<CLOCK> {
        type Stream = ();
        type Probe = Native;

        fn start(_: &Settings, critical: &mut Critical) -> Self {
            critical.spawn(async { assert!(!CLOCK, "the clock panics on purpose") });
            Broken
        }

        fn within(&self, _: &Settings) -> Self {
            Broken
        }

        async fn carry<C: Transport + 'static>(
            _: &Rc<Engine<Self>>,
            _client: C,
            session: ClientSession,
            _: &Tunnel,
        ) -> Result<SessionSummary, Error> {
            panic!("the tunnel of {} panics on purpose", session.origin());
        }

        async fn open(_: &Rc<Engine<Self>>, tunnel: &Tunnel) -> Result<Opened<()>, Error> {
            panic!("the path to {tunnel} panics on purpose");
        }

        fn forwarding(_stream: (), _: RequestBoundary) {
            unreachable!("no path was opened")
        }

        async fn carry_opened<C: Transport + 'static>(
            &self,
            _client: C,
            _stream: (),
            _recorder: Option<TunnelBytes>,
        ) -> Result<Closed, RelayError> {
            unreachable!("no path was opened")
        }

        async fn relay<C: Transport + 'static, U: Transport + 'static>(
            &self,
            _client: C,
            _upstream: U,
            _recorder: Option<TunnelBytes>,
        ) -> Result<Closed, RelayError> {
            unreachable!("no path was opened")
        }
    }

    const LIMIT: Duration = Duration::from_secs(20);

    static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

    struct Logger;

    impl Log for Logger {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &Record<'_>) {
            LOGGED.lock().unwrap().push(record.args().to_string());
        }

        fn flush(&self) {}
    }

    fn config() -> Config {
        let words = ["ptunnel", "--no-proxy", "*", "127.0.0.1:0:127.0.0.1:9"];
        let ask = |_: &str| unreachable!("there is no password");
        match parse(words, &Environment::new(&|_| None), &ask) {
            Ok(Command::Run(config, _)) => *config,
            _ => panic!("a command line that is right"),
        }
    }

    #[test]
    fn a_panic_of_a_tunnel_is_logged_and_the_next_client_is_served() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| log::set_logger(&Logger).expect("there is no other"));
        log::set_max_level(LevelFilter::Error);
        let config = config();
        let (_listener_set, mut threads) =
            ListenerSet::open::<BoundSocket>(&config, crate::open_path::<crate::Native>).unwrap();
        let listeners = threads.remove(0);
        let address = listeners[0].listening.local_addr().unwrap();
        let (phase, phases) = ShutdownPhases::new();
        let worker = Worker {
            listeners,
            later: mpsc::unbounded_channel().1,
            settings: Settings::of(&config),
            heartbeat: Heartbeat::default(),
            permits: Permits::new(Some(1)),
            phases,
        };
        let thread = thread::spawn(move || worker.run::<Broken<false>>());
        phase.send_replace(ShutdownPhase::Serving);
        for _ in 0..2 {
            let mut client = TcpStream::connect(address).unwrap();
            assert_eq!(client.read(&mut [0]).unwrap(), 0, "it is closed");
            let of_it = format!("the tunnel of {} panics", client.local_addr().unwrap());
            let is_logged = |line: &String| {
                line.starts_with("a task panicked and was ended: ") && line.contains(&of_it)
            };
            let start = Instant::now();
            while !LOGGED.lock().unwrap().iter().any(is_logged) {
                assert!(start.elapsed() < LIMIT, "the panic is not logged");
                thread::yield_now();
            }
        }
        phase.send_replace(ShutdownPhase::Ending);
        thread.join().expect("it has not panicked").unwrap();
    }

    /// It went on before, though the task that ticks its timer was gone.
    #[test]
    fn a_panic_of_a_task_that_others_count_on_ends_the_program() {
        let panic = catch_unwind(|| server::run::<Broken<true>>(&config(), None)).unwrap_err();
        assert_eq!(message(&*panic), "the clock panics on purpose");
    }
}
