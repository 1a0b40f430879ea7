//! A ping beside bulk: how long a small message waits for its turn in a busy relay.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use super::pattern::Pattern;
use super::sockets::client;
use super::wire::Command;
use crate::stop::Stop;
use crate::sys::{run_as_others, run_first};

const SIZE: usize = 64;
/// More than any run moves: the bulk lasts until it is cut off.
const ENDLESS: u64 = 1 << 40;
/// Time before the first ping that counts: the bulk tunnels find their pace.
const WARM_UP: Duration = Duration::from_millis(150);
/// Fewer make no percentile; a slow relay gets longer to answer them.
const LEAST: usize = 100;
/// The most that a run may take.
const LONGEST: Duration = Duration::from_secs(15);

/// Pings for that long while `bulk` tunnels download without a break; returns the round trips, unordered.
///
/// The next ping leaves 0.5 to 1.5 ms after the last reply: in step with nothing, and one at a time.
pub fn ping(
    to: SocketAddr,
    bulk: usize,
    time: Duration,
    pattern: &Pattern,
    stop: &Stop,
) -> io::Result<Vec<Duration>> {
    let streams = (0..bulk)
        .map(|i| client(to, i))
        .collect::<io::Result<Vec<_>>>()?;
    let pinging = client(to, bulk)?;
    thread::scope(|s| {
        let loads: Vec<_> = streams
            .iter()
            .map(|stream| s.spawn(|| download(stream, pattern)))
            .collect();
        let _ = run_first();
        let round_trips = round_trips(&pinging, time, stop);
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
        round_trips
    })
}

fn download(mut stream: &TcpStream, pattern: &Pattern) -> io::Result<()> {
    stream.write_all(
        &Command::Transfer {
            down: ENDLESS,
            up: 0,
        }
        .encode(),
    )?;
    pattern.receive(stream.as_fd(), ENDLESS)
}

fn round_trips(mut stream: &TcpStream, time: Duration, stop: &Stop) -> io::Result<Vec<Duration>> {
    stream.write_all(&Command::Echo.encode())?;
    let begun = Instant::now();
    let mut taken = Vec::new();
    let (mut request, mut reply) = ([0; SIZE], [0; SIZE]);
    for sequence in 0_u64.. {
        stop.check()?;
        let elapsed = begun.elapsed();
        if elapsed >= WARM_UP + time && taken.len() >= LEAST {
            break;
        }
        if elapsed >= LONGEST {
            let text = format!("{} pings in {} s", taken.len(), elapsed.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        let pause = 500 + sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1000;
        thread::sleep(Duration::from_micros(pause));
        request[..8].copy_from_slice(&sequence.to_le_bytes());
        let sent = Instant::now();
        stream.write_all(&request)?;
        stream.read_exact(&mut reply)?;
        let round_trip = sent.elapsed();
        if elapsed >= WARM_UP {
            taken.push(round_trip);
        }
        if reply != request {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a ping came back changed",
            ));
        }
    }
    Ok(taken)
}
