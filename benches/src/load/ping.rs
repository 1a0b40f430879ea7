//! A ping beside bulk: how long a small message waits for its turn in a busy relay.

use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::driver::{Driver, Ran};
use super::echo::Echo;
use super::pace::{Pace, Until};
use super::pattern::Pattern;
use super::sockets::client;
use super::wire::Command;
use crate::stop::Stop;
use crate::sys::{run_as_others, run_first};

/// Bytes of a ping.
const SIZE: usize = 64;
/// Tunnels that take turns, so that a ping which waits holds up no other.
const TUNNELS: usize = 16;
/// Pings per second.
const PACE: Pace = Pace::Open { rate: 500.0 };
/// More than any run moves: the bulk lasts until it is cut off.
const ENDLESS: u64 = 1 << 40;
/// Time before the first ping that counts: the bulk tunnels find their pace.
const WARM_UP: Until = Until::Elapsed(Duration::from_millis(150));

/// Five hundred pings a second for that long, while `bulk` tunnels download without a break, and the bytes that those got
/// in this time.
///
/// # Errors
/// Those of the load, and a download that ends early or brings a wrong byte.
pub fn ping(
    to: SocketAddr,
    bulk: usize,
    time: Duration,
    pattern: &Pattern,
    stop: &Stop,
) -> io::Result<(Ran, u64)> {
    let arrived = AtomicU64::new(0);
    let streams = (0..bulk)
        .map(|i| client(to, i))
        .collect::<io::Result<Vec<_>>>()?;
    let mut pings = Driver::new(to, TUNNELS, Echo::through_relay(SIZE))?.connect()?;
    thread::scope(|s| {
        let loads: Vec<_> = streams
            .iter()
            .map(|stream| s.spawn(|| download(stream, pattern, &arrived)))
            .collect();
        let _ = run_first();
        let ran = pings.run(PACE, WARM_UP, stop).and_then(|_| {
            let before = arrived.load(Ordering::Relaxed);
            let ran = pings.run(PACE, Until::Elapsed(time), stop)?;
            Ok((ran, arrived.load(Ordering::Relaxed) - before))
        });
        let _ = run_as_others();
        let early = loads.iter().any(|load| load.is_finished());
        for stream in &streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for load in loads {
            let outcome = load
                .join()
                .map_err(|_| io::Error::other("a download panicked"))?;
            match outcome {
                Err(e) if early || e.kind() == io::ErrorKind::InvalidData => return Err(e),
                _ => {}
            }
        }
        ran
    })
}

fn download(mut stream: &TcpStream, pattern: &Pattern, arrived: &AtomicU64) -> io::Result<()> {
    let command = Command::Transfer {
        down: ENDLESS,
        up: 0,
    };
    stream.write_all(&command.encode())?;
    pattern.receive_counting(stream.as_fd(), ENDLESS, arrived)
}
