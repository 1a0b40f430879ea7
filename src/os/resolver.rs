//! Names to addresses by the system's resolver, told truly at the limit on descriptors.
//!
//! getaddrinfo(3) opens the hosts file, or a socket to a name server, and where there is no
//! descriptor for it says of any name that it isn't known. That would make a proxy with a name
//! unreachable, and `--direct-fallback` go round it. So whoever lets clients in leaves [`reserved_descriptors`] for
//! look-ups, and one that lacked a descriptor nevertheless is tried again, and fails with what it
//! lacked.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Look-ups at once, of each resolver; further ones wait. One that hangs holds a thread until it
/// gives up.
pub const THREADS: usize = 8;

/// How often a look-up is tried that lacks a descriptor, and the pause in between: somebody else's
/// may have had it for that moment.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Of the process, as descriptors are.
static EXPECTED: AtomicBool = AtomicBool::new(false);

/// Says that there will be look-ups: with literal addresses alone no room is left for them.
pub(crate) fn expect_lookups() {
    EXPECTED.store(true, Ordering::SeqCst);
}

/// Descriptors that have to be left when a client has been let in, besides those of its tunnel: for
/// as many look-ups as may run, and to accept the next client with.
pub fn reserved_descriptors() -> usize {
    if EXPECTED.load(Ordering::SeqCst) {
        THREADS + 1
    } else {
        0
    }
}

/// The addresses of `name`; blocks.
///
/// # Errors
///
/// The resolver's; that no descriptor was to be had for it.
pub fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    for _ in 1..TRIES {
        match attempt(name, port) {
            Err(ref e) if is_lack(e) => thread::sleep(PAUSE),
            answer => return answer,
        }
    }
    attempt(name, port)
}

fn attempt(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    // Leaves another errno than the one that is looked for.
    let _ = File::open("");
    let error = match (name, port).to_socket_addrs() {
        Ok(found) => return Ok(found.collect()),
        Err(e) => e,
    };
    // What it met last, which its answer doesn't tell.
    let met = io::Error::last_os_error();
    if is_lack(&met) {
        return Err(met);
    }
    // It may have met something else afterwards.
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
