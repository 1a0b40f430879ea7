//! System calls of the process as a whole: its limits, its clock, its stdout.

use std::fs::OpenOptions;
use std::io;
use std::time::Duration;

use log::{info, warn};
use rustix::net::{shutdown, Shutdown};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::stdio::{dup2_stdout, stdout};
use rustix::time::{clock_gettime, ClockId};

/// Raises the limit on descriptors to its hard limit, and logs the result.
pub fn raise_descriptor_limit() {
    let hard = getrlimit(Resource::Nofile).maximum;
    let raised = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: hard,
            maximum: hard,
        },
    );
    match (raised.map_err(io::Error::from), hard) {
        (Ok(()), Some(limit)) => info!("up to {limit} descriptors"),
        (Ok(()), None) => info!("any number of descriptors"),
        (Err(e), _) => warn!("cannot raise the limit on descriptors: {e}"),
    }
}

/// Returns the time of CLOCK_MONOTONIC, which `Instant` doesn't give out.
pub fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Ends stdout for its reader; bytes that are written afterwards are lost.
///
/// In one step, so that no descriptor opened meanwhile can become stdout. The end of a socket that
/// other processes keep open must be sent.
pub fn close_stdout(is_shared_socket: bool) {
    if is_shared_socket {
        let _ = shutdown(stdout(), Shutdown::Write);
    }
    if let Ok(null) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = dup2_stdout(&null);
    }
}
