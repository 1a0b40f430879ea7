//! What the service manager that started us is told, if it wants to be: sd_notify(3).
//!
//! Each is one datagram to the socket that it named in the environment. Nobody answers, and nothing
//! of clients or credentials is told. The watchdog's part is symmetric: every thread's loop beats,
//! and the one that completes a round tells of it. So a single loop that stalls is enough for the
//! manager to miss us.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use log::{debug, warn};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::text::escape::Escaped;

/// Whom to tell, and how often; taken out of the environment, since they are for us alone.
const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG: &str = "WATCHDOG_USEC";
const WATCHED: &str = "WATCHDOG_PID";

/// A watchdog asks for no more than this leaves time for.
const SHORTEST: Duration = Duration::from_millis(1);

/// A manager that is too busy to take a word is waited for no longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The service manager, or nobody. Cheap to clone, and to send to another thread.
#[derive(Clone, Default)]
pub struct ServiceManager {
    link: Option<Arc<Link>>,
    is_stopping: Arc<Mutex<bool>>,
}

struct Link {
    socket: Socket,
    address: SockAddr,
    /// Tells CLOCK_MONOTONIC.
    clock: fn() -> Duration,
    /// It must hear of us at least so often.
    limit: Option<Duration>,
}

impl ServiceManager {
    /// The one that the environment of this process names, and doesn't any more afterwards. One
    /// that can't be told anything is warned of.
    ///
    /// `clock` tells CLOCK_MONOTONIC, which std keeps to itself.
    pub fn of_process(clock: fn() -> Duration) -> ServiceManager {
        let supervisor = ServiceManager::named(&|name| env::var_os(name), process::id(), clock);
        for name in &[SOCKET, WATCHDOG, WATCHED] {
            env::remove_var(name);
        }
        supervisor.unwrap_or_else(|e| {
            warn!("the service manager will not be told anything: {}", e);
            ServiceManager::default()
        })
    }

    fn named(
        variable: &dyn Fn(&str) -> Option<OsString>,
        process: u32,
        clock: fn() -> Duration,
    ) -> io::Result<ServiceManager> {
        let name = match variable(SOCKET) {
            Some(name) => name,
            None => return Ok(ServiceManager::default()),
        };
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
        // It may be about the process that started us.
        let is_ours = variable(WATCHED).is_none() || number(WATCHED) == Some(process.into());
        let limit = number(WATCHDOG).filter(|limit| is_ours && *limit > 0);
        Ok(ServiceManager {
            link: Some(Arc::new(Link {
                socket,
                address: address(&name)?,
                clock,
                limit: limit.map(Duration::from_micros),
            })),
            ..ServiceManager::default()
        })
    }

    /// All listeners are bound, at first or anew; `status` is for people.
    pub fn ready(&self, status: impl fmt::Display) {
        let is_stopping = self.lock();
        if *is_stopping {
            return; // whatever was under way
        }
        // Each line is a word of its own.
        let status = status.to_string().replace('\n', " ");
        self.tell(format_args!("READY=1\nSTATUS={}", status));
    }

    /// The configuration is to be read again; [`ready`](ServiceManager::ready) ends that. Returns
    /// whether it may be: not any more when the program stops.
    pub fn reloading(&self) -> bool {
        let is_stopping = self.lock();
        if let (Some(link), false) = (&self.link, *is_stopping) {
            let now = (link.clock)().as_micros();
            self.tell(format_args!("RELOADING=1\nMONOTONIC_USEC={}", now));
        }
        !*is_stopping
    }

    /// No further client is accepted; nothing else is told afterwards.
    pub fn stopping(&self) {
        let mut is_stopping = self.lock();
        *is_stopping = true;
        self.tell(format_args!("STOPPING=1"));
    }

    /// One pulse for each of `count` loops.
    pub fn heartbeats(&self, count: usize) -> Vec<Heartbeat> {
        let watchdog = self.link.as_ref().and_then(|link| {
            Some(Arc::new(Watchdog {
                link: link.clone(),
                period: (link.limit? / 2).max(SHORTEST),
                beaten: (0..count).map(|_| AtomicBool::new(false)).collect(),
            }))
        });
        let pulse = |index| Heartbeat {
            watchdog: watchdog.clone(),
            index,
        };
        (0..count).map(pulse).collect()
    }

    /// Held while something is told, so that what stops is the last of it.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_stopping
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, state: fmt::Arguments<'_>) {
        if let Some(link) = &self.link {
            if let Err(e) = link.send(&state.to_string(), 0) {
                warn!("cannot tell the service manager: {}", e);
            }
        }
    }
}

impl Link {
    fn send(&self, state: &str, flags: i32) -> io::Result<()> {
        let sent = self
            .socket
            .send_to_with_flags(state.as_bytes(), &self.address, flags);
        sent.map(drop)
    }
}

/// A path, or a name in the abstract namespace behind an `@`.
fn address(name: &OsStr) -> io::Result<SockAddr> {
    let mut name = name.as_bytes().to_vec();
    match name.first() {
        Some(b'/') => {}
        Some(b'@') => name[0] = 0,
        _ => {
            let text = format!(
                "{} is neither a whole path nor @NAME: '{}'",
                SOCKET,
                Escaped(&name)
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    SockAddr::unix(OsStr::from_bytes(&name))
}

/// One loop's sign of life. Without a watchdog nobody looks at it.
#[derive(Clone, Default)]
pub struct Heartbeat {
    watchdog: Option<Arc<Watchdog>>,
    index: usize,
}

struct Watchdog {
    link: Arc<Link>,
    period: Duration,
    /// Of each loop, since the manager was told last.
    beaten: Vec<AtomicBool>,
}

impl Heartbeat {
    /// The interval of the loop's heartbeats: half of the manager's limit. `None` if it set no limit.
    pub fn period(&self) -> Option<Duration> {
        self.watchdog.as_ref().map(|watchdog| watchdog.period)
    }

    /// The loop turns. Never blocks.
    pub fn beat(&self) {
        if let Some(watchdog) = &self.watchdog {
            watchdog.beaten[self.index].store(true, Ordering::SeqCst);
            watchdog.look();
        }
    }
}

impl Watchdog {
    /// Tells the manager, and begins another round, when every loop has beaten.
    fn look(&self) {
        if !self
            .beaten
            .iter()
            .all(|beaten| beaten.load(Ordering::SeqCst))
        {
            return;
        }
        for beaten in &self.beaten {
            beaten.store(false, Ordering::SeqCst);
        }
        // One that is too busy to take it will get the next.
        if let Err(e) = self.link.send("WATCHDOG=1", libc::MSG_DONTWAIT) {
            debug!("cannot tell the service manager's watchdog: {}", e);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    /// A manager, and the supervisor that its variables make for process 7.
    fn manager(name: &str, variables: &[(&str, &str)]) -> (UnixDatagram, ServiceManager) {
        let name = format!("@ptunnel-test-{}-{}", process::id(), name);
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None).unwrap();
        socket.bind(&address(OsStr::new(&name)).unwrap()).unwrap();
        socket.set_nonblocking(true).unwrap();
        let variable = |wanted: &str| match wanted {
            SOCKET => Some(OsString::from(&name)),
            _ => {
                let found = variables.iter().find(|(name, _)| *name == wanted)?;
                Some(found.1.into())
            }
        };
        let clock = || Duration::from_micros(12_345_678);
        let supervisor = ServiceManager::named(&variable, 7, clock).unwrap();
        (socket.into(), supervisor)
    }

    fn told(manager: &UnixDatagram) -> Option<String> {
        let mut buffer = [0; 256];
        let count = manager.recv(&mut buffer).ok()?;
        Some(String::from_utf8(buffer[..count].to_vec()).unwrap())
    }

    #[test]
    fn each_state_is_one_datagram() {
        let (manager, supervisor) = manager("states", &[]);
        supervisor.ready("two\nlines");
        assert!(supervisor.clone().reloading());
        supervisor.clone().stopping();
        // A reload that was under way.
        supervisor.ready("too late");
        assert!(!supervisor.reloading());
        for state in &[
            "READY=1\nSTATUS=two lines",
            "RELOADING=1\nMONOTONIC_USEC=12345678",
            "STOPPING=1",
        ] {
            assert_eq!(told(&manager).as_deref(), Some(*state));
        }
        assert_eq!(told(&manager), None);
    }

    /// A loop that stalls must be missed, whichever it is.
    #[test]
    fn the_watchdog_is_fed_by_all_loops_together() {
        let (manager, supervisor) = manager("round", &[(WATCHDOG, "3000000"), (WATCHED, "7")]);
        let pulses = supervisor.heartbeats(3);
        assert_eq!(pulses[0].period(), Some(Duration::from_millis(1500)));
        for stalled in 0..3 {
            let turning = || (0..3).filter(|index| *index != stalled);
            for index in turning().chain(turning()) {
                pulses[index].beat();
                assert_eq!(told(&manager), None, "{} stalls", stalled);
            }
            pulses[stalled].beat();
            assert_eq!(told(&manager).as_deref(), Some("WATCHDOG=1"));
        }
    }

    #[test]
    fn a_watchdog_that_is_not_ours_is_left_alone() {
        for variables in &[
            &[][..],
            &[(WATCHDOG, "3000000"), (WATCHED, "8")],
            &[(WATCHDOG, "3000000"), (WATCHED, "x")],
            &[(WATCHDOG, "0")],
            &[(WATCHDOG, "-1")],
        ] {
            let (_manager, supervisor) = manager("none", variables);
            assert_eq!(
                supervisor.heartbeats(1)[0].period(),
                None,
                "{:?}",
                variables
            );
        }
        let (_manager, supervisor) = manager("any", &[(WATCHDOG, "2")]);
        let period = supervisor.heartbeats(1)[0].period();
        assert_eq!(period, Some(SHORTEST));
    }

    #[test]
    fn the_environment_does_not_name_it_any_longer() {
        for name in &[SOCKET, WATCHDOG, WATCHED] {
            env::set_var(name, "vsock:2:1234");
        }
        let supervisor = ServiceManager::of_process(|| Duration::from_secs(0));
        assert!(supervisor.link.is_none(), "there is no such socket here");
        for name in &[SOCKET, WATCHDOG, WATCHED] {
            assert_eq!(env::var_os(name), None);
        }
        ServiceManager::default().ready("nobody hears it");
    }
}
