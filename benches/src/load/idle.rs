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

#[derive(Debug)]
pub struct Idle {
    to: SocketAddr,
    bytes: u64,
    streams: Vec<TcpStream>,
}

impl Idle {
    /// Each tunnel will carry `bytes` in each direction, one after the other, before it rests.
    pub fn new(to: SocketAddr, bytes: u64) -> Idle {
        Idle {
            to,
            bytes,
            streams: Vec::new(),
        }
    }

    /// Opens tunnels until `count` are open.
    pub fn grow(&mut self, count: usize, pattern: &Pattern, stop: &Stop) -> io::Result<()> {
        while self.streams.len() < count {
            stop.check()?;
            let (from, to, bytes) = (self.streams.len(), self.to, self.bytes);
            let batch = (count - from).min(100);
            let more: io::Result<Vec<Vec<TcpStream>>> = thread::scope(|s| {
                let workers: Vec<_> = (0..AT_ONCE)
                    .map(|worker| {
                        s.spawn(move || {
                            (worker..batch)
                                .step_by(AT_ONCE)
                                .map(|i| carried(to, from + i, bytes, pattern))
                                .collect()
                        })
                    })
                    .collect();
                workers
                    .into_iter()
                    .map(|w| {
                        w.join()
                            .unwrap_or_else(|_| Err(io::Error::other("a worker panicked")))
                    })
                    .collect()
            });
            self.streams.extend(more?.into_iter().flatten());
        }
        Ok(())
    }
}

fn carried(to: SocketAddr, nth: usize, bytes: u64, pattern: &Pattern) -> io::Result<TcpStream> {
    let stream = client(to, nth)?;
    transfer(&stream, bytes, 0, pattern)?;
    transfer(&stream, 0, bytes, pattern)?;
    Ok(stream)
}
