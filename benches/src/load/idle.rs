//! Tunnels that carried bulk and then rest.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::thread;

use super::pattern::Pattern;
use super::sockets::client;
use super::transfer::transfer;
use crate::stop::Stop;

/// Tunnels that carry at the same time.
const AT_ONCE: usize = 4;
/// Tunnels that are opened before Ctrl-C is looked for.
const BATCH: usize = 100;

/// Opens tunnels to `to` until there are `count`; each carries `bytes` in each direction, one after the other.
///
/// # Errors
/// Those of the load.
pub fn grow(
    streams: &mut Vec<TcpStream>,
    count: usize,
    (to, bytes): (SocketAddr, u64),
    pattern: &Pattern,
    stop: &Stop,
) -> io::Result<()> {
    let carried = |nth| {
        let stream = client(to, nth)?;
        transfer(&stream, [bytes, 0], pattern)?;
        transfer(&stream, [0, bytes], pattern)?;
        Ok(stream)
    };
    while streams.len() < count {
        stop.check()?;
        let (from, to) = (streams.len(), count.min(streams.len() + BATCH));
        let more: io::Result<Vec<Vec<TcpStream>>> = thread::scope(|s| {
            let share = |first| (first..to).step_by(AT_ONCE).map(carried).collect();
            let workers: Vec<_> = (from..from + AT_ONCE)
                .map(|first| s.spawn(move || share(first)))
                .collect();
            let panicked = |_| Err(io::Error::other("a worker panicked"));
            let done = workers
                .into_iter()
                .map(|w| w.join().unwrap_or_else(panicked));
            done.collect()
        });
        streams.extend(more?.into_iter().flatten());
    }
    Ok(())
}
