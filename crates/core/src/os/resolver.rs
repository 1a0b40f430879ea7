//! Name lookups by the system's resolver, with correct errors at the limit on descriptors.
//!
//! getaddrinfo(3) opens the hosts file or a socket to a name server. Without a descriptor for it,
//! it reports any name as unknown. A proxy would then look unreachable, and `--direct-fallback`
//! would bypass it. So the code that accepts clients leaves [`reserved_descriptors`] for lookups. A
//! lookup that still lacked a descriptor is repeated, and then fails with that error.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of concurrent lookups of each resolver; further ones wait. A lookup that hangs
/// keeps its thread until getaddrinfo(3) gives up.
pub const THREADS: usize = 8;

/// Attempts at a lookup that lacks a descriptor, and the pause between them: another thread may have
/// held the last descriptor for a moment.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Whether this process looks up names.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Reserves descriptors for lookups; with literal addresses alone none are needed.
pub(crate) fn expect_lookups() {
    EXPECTED.store(true, Ordering::SeqCst);
}

/// Returns how many descriptors must be left after a client is accepted, besides those of its tunnel:
/// one for each concurrent lookup, and one to accept the next client.
pub fn reserved_descriptors() -> usize {
    if EXPECTED.load(Ordering::SeqCst) {
        THREADS + 1
    } else {
        0
    }
}

/// Returns the addresses of `name`. Blocks.
///
/// # Errors
///
/// The errors of getaddrinfo(3); EMFILE or ENFILE when it lacked a descriptor.
pub fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    for _ in 1..TRIES {
        match attempt(name, port) {
            Err(ref e) if is_lack(e) => thread::sleep(PAUSE),
            answer => return answer,
        }
    }
    attempt(name, port)
}

/// Returns the addresses of `name` as [`look_up`] does, on a new thread, because a lookup can't be
/// interrupted. Blocks until `until` at the latest.
///
/// # Errors
///
/// Those of [`look_up`] and of a new thread; `TimedOut` at `until`, when the lookup continues.
pub(crate) fn look_up_until(
    name: String,
    port: u16,
    until: Instant,
) -> io::Result<Vec<SocketAddr>> {
    let (sender, answers) = mpsc::channel();
    let look_up = move || {
        // The receiver is gone if the time is over.
        let _ = sender.send(look_up(&name, port));
    };
    thread::Builder::new()
        .name("lookup".into())
        .spawn(look_up)?;
    let left = until.saturating_duration_since(Instant::now());
    let answer = answers.recv_timeout(left);
    answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn attempt(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    // Sets errno to another value than those that are checked for below.
    let _ = File::open("");
    let error = match (name, port).to_socket_addrs() {
        Ok(found) => return Ok(found.collect()),
        Err(e) => e,
    };
    // The last errno of getaddrinfo(3), which its own error doesn't contain.
    let met = io::Error::last_os_error();
    if is_lack(&met) {
        return Err(met);
    }
    // A later call of getaddrinfo(3) may have overwritten errno.
    match File::open("/dev/null") {
        Err(e) if is_lack(&e) => Err(e),
        _ => Err(error),
    }
}

fn is_lack(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE) | Some(libc::ENFILE)
    )
}
