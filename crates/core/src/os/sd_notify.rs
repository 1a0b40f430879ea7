//! Notifications to the service manager that started ptunnel: sd_notify(3), with its watchdog.
//!
//! Each notification is one datagram to the socket that the environment names; there are no
//! replies. Must not send anything about clients or credentials. The watchdog needs all threads:
//! every loop beats, and the loop that completes a round sends the notification. So the manager
//! notices a single loop that stalls.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use log::{debug, warn};
use socket2::{Domain, SockAddr, Socket, Type};

use ptunnel_proto::sync::lock;
use ptunnel_proto::text::escape::Escaped;

/// Variables that name the socket, and the watchdog's limit in microseconds for a process. They are
/// removed from the environment, because child processes must not use them.
const SOCKET: &str = "NOTIFY_SOCKET";
const WATCHDOG: &str = "WATCHDOG_USEC";
const WATCHED: &str = "WATCHDOG_PID";

/// Lower bound of the interval between heartbeats.
const SHORTEST: Duration = Duration::from_millis(1);

/// Maximum time that a notification waits for a busy manager.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The service manager; without one, notifications are dropped. Cheap to clone, and to send to
/// another thread.
#[derive(Clone, Default)]
pub struct ServiceManager {
    link: Option<Arc<Link>>,
    /// Held while a notification is sent, so that STOPPING is the last one.
    is_stopping: Arc<Mutex<bool>>,
}

struct Link {
    socket: Socket,
    address: SockAddr,
    /// Returns CLOCK_MONOTONIC.
    clock: fn() -> Duration,
    /// The watchdog's limit: the maximum time between two of its notifications.
    limit: Option<Duration>,
}

impl ServiceManager {
    /// Connects to the manager that the environment of this process names, and removes its variables
    /// from the environment. Logs a warning if that fails.
    ///
    /// `clock` returns CLOCK_MONOTONIC, which std doesn't expose.
    pub fn of_process(clock: fn() -> Duration) -> ServiceManager {
        let service = ServiceManager::named(&|name| env::var_os(name), process::id(), clock);
        for name in &[SOCKET, WATCHDOG, WATCHED] {
            env::remove_var(name);
        }
        service.unwrap_or_else(|e| {
            warn!("cannot notify the service manager at all: {}", e);
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
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
        // The watchdog can be that of the parent process.
        let is_watched = variable(WATCHED).is_none() || number(WATCHED) == Some(process.into());
        let limit = number(WATCHDOG).filter(|limit| is_watched && *limit > 0);
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

    /// Notifies that all listeners are bound, after the start or a reload; `status` is the text that
    /// `systemctl status` shows.
    pub fn ready(&self, status: impl fmt::Display) {
        let is_stopping = lock(&self.is_stopping);
        if *is_stopping {
            return; // a reload was under way
        }
        // Each line of the datagram is an assignment.
        let status = status.to_string().replace('\n', " ");
        self.notify(format_args!("READY=1\nSTATUS={}", status));
    }

    /// Notifies that a reload begins; [`ready`](ServiceManager::ready) ends it. Returns whether it can
    /// begin: not while the program stops.
    pub fn reloading(&self) -> bool {
        let is_stopping = lock(&self.is_stopping);
        if let (Some(link), false) = (&self.link, *is_stopping) {
            let now = (link.clock)().as_micros();
            self.notify(format_args!("RELOADING=1\nMONOTONIC_USEC={}", now));
        }
        !*is_stopping
    }

    /// Notifies that no further client is accepted; later notifications are dropped.
    pub fn stopping(&self) {
        let mut is_stopping = lock(&self.is_stopping);
        *is_stopping = true;
        self.notify(format_args!("STOPPING=1"));
    }

    /// Returns a heartbeat for each of `count` loops.
    pub fn heartbeats(&self, count: usize) -> Vec<Heartbeat> {
        let watchdog = self.link.as_ref().and_then(|link| {
            Some(Arc::new(Watchdog {
                link: link.clone(),
                period: (link.limit? / 2).max(SHORTEST),
                beaten: (0..count).map(|_| AtomicBool::new(false)).collect(),
            }))
        });
        let heartbeat = |index| Heartbeat {
            watchdog: watchdog.clone(),
            index,
        };
        (0..count).map(heartbeat).collect()
    }

    fn notify(&self, state: fmt::Arguments<'_>) {
        if let Some(link) = &self.link {
            if let Err(e) = link.send(&state.to_string(), 0) {
                warn!("cannot notify the service manager: {}", e);
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

/// Returns the address of a socket: a path, or a name in the abstract namespace after an `@`.
///
/// # Errors
///
/// `InvalidInput` for any other name.
fn address(name: &OsStr) -> io::Result<SockAddr> {
    let mut name = name.as_bytes().to_vec();
    match name.first() {
        Some(b'/') => {}
        Some(b'@') => name[0] = 0,
        _ => {
            let text = format!(
                "{} is neither an absolute path nor @NAME: '{}'",
                SOCKET,
                Escaped(&name)
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    SockAddr::unix(OsStr::from_bytes(&name))
}

/// The heartbeat of one loop; without a watchdog it does nothing.
#[derive(Clone, Default)]
pub struct Heartbeat {
    watchdog: Option<Arc<Watchdog>>,
    index: usize,
}

struct Watchdog {
    link: Arc<Link>,
    period: Duration,
    /// Whether each loop has beaten since the last notification.
    beaten: Vec<AtomicBool>,
}

impl Heartbeat {
    /// The interval of the loop's heartbeats: half of the manager's limit. `None` if it set no limit.
    pub fn period(&self) -> Option<Duration> {
        self.watchdog.as_ref().map(|watchdog| watchdog.period)
    }

    /// Notes that the loop runs. Notifies the manager, and starts another round, when every loop has
    /// beaten. Never blocks.
    pub fn beat(&self) {
        let watchdog = match &self.watchdog {
            Some(watchdog) => watchdog,
            None => return,
        };
        watchdog.beaten[self.index].store(true, Ordering::SeqCst);
        let has_beaten = |beaten: &AtomicBool| beaten.load(Ordering::SeqCst);
        if !watchdog.beaten.iter().all(has_beaten) {
            return;
        }
        for beaten in &watchdog.beaten {
            beaten.store(false, Ordering::SeqCst);
        }
        // A manager that is too busy for this notification gets the next.
        if let Err(e) = watchdog.link.send("WATCHDOG=1", libc::MSG_DONTWAIT) {
            debug!("cannot notify the service manager's watchdog: {}", e);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    /// Returns a manager's socket, and the client that its variables make for process 7.
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
        let service = ServiceManager::named(&variable, 7, clock).unwrap();
        (socket.into(), service)
    }

    fn received(manager: &UnixDatagram) -> Option<String> {
        let mut buffer = [0; 256];
        let count = manager.recv(&mut buffer).ok()?;
        Some(String::from_utf8(buffer[..count].to_vec()).unwrap())
    }

    #[test]
    fn each_state_is_one_datagram() {
        let (manager, service) = manager("states", &[]);
        service.ready("two\nlines");
        assert!(service.clone().reloading());
        service.clone().stopping();
        // A reload was under way.
        service.ready("too late");
        assert!(!service.reloading());
        for state in &[
            "READY=1\nSTATUS=two lines",
            "RELOADING=1\nMONOTONIC_USEC=12345678",
            "STOPPING=1",
        ] {
            assert_eq!(received(&manager).as_deref(), Some(*state));
        }
        assert_eq!(received(&manager), None);
    }

    /// The manager must notice any loop that stalls.
    #[test]
    fn the_watchdog_is_fed_by_all_loops_together() {
        let (manager, service) = manager("round", &[(WATCHDOG, "3000000"), (WATCHED, "7")]);
        let heartbeats = service.heartbeats(3);
        assert_eq!(heartbeats[0].period(), Some(Duration::from_millis(1500)));
        for stalled in 0..3 {
            let turning = || (0..3).filter(|index| *index != stalled);
            for index in turning().chain(turning()) {
                heartbeats[index].beat();
                assert_eq!(received(&manager), None, "{} stalls", stalled);
            }
            heartbeats[stalled].beat();
            assert_eq!(received(&manager).as_deref(), Some("WATCHDOG=1"));
        }
    }

    #[test]
    fn a_watchdog_of_another_process_is_ignored() {
        for variables in &[
            &[][..],
            &[(WATCHDOG, "3000000"), (WATCHED, "8")],
            &[(WATCHDOG, "3000000"), (WATCHED, "x")],
            &[(WATCHDOG, "0")],
            &[(WATCHDOG, "-1")],
        ] {
            let (_manager, service) = manager("none", variables);
            assert_eq!(service.heartbeats(1)[0].period(), None, "{:?}", variables);
        }
        let (_manager, service) = manager("any", &[(WATCHDOG, "2")]);
        let period = service.heartbeats(1)[0].period();
        assert_eq!(period, Some(SHORTEST));
    }

    #[test]
    fn the_variables_are_removed_from_the_environment() {
        for name in &[SOCKET, WATCHDOG, WATCHED] {
            env::set_var(name, "vsock:2:1234");
        }
        let service = ServiceManager::of_process(|| Duration::from_secs(0));
        assert!(service.link.is_none(), "there is no such socket here");
        for name in &[SOCKET, WATCHDOG, WATCHED] {
            assert_eq!(env::var_os(name), None);
        }
        ServiceManager::default().ready("without a manager");
    }
}
