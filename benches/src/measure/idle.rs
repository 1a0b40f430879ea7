//! What a process holds for tunnels that carried bulk and then rest.

use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use super::bench::Bench;
use crate::load::idle::grow;
use crate::tools::process::Held;

/// Time for a relay to let go of what it holds.
const SETTLE: Duration = Duration::from_millis(1500);

/// What `id` holds without a tunnel, and with each of these numbers of tunnels to `to`, each of which has carried `bytes`
/// in each direction.
///
/// # Errors
/// Those of the load.
pub fn held(
    bench: &Bench,
    to: SocketAddr,
    id: u32,
    bytes: u64,
    counts: &[usize],
) -> io::Result<Vec<Held>> {
    thread::sleep(Duration::from_millis(100));
    let mut held = vec![Held::of(id)?];
    let mut streams = Vec::new();
    for count in counts {
        grow(
            &mut streams,
            *count,
            (to, bytes),
            &bench.pattern,
            &bench.stop,
        )?;
        thread::sleep(SETTLE);
        held.push(Held::of(id)?);
    }
    Ok(held)
}
