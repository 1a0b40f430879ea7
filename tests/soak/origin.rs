//! The origin behind all proxies: it joins the two ends of a tunnel.
//!
//! A client's first bytes are a number, by which the origin knows which tunnel has arrived: with
//! faults on the path, the order of connections doesn't tell.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::{Connection, Peer, TIMEOUT};

type Expected = Arc<Mutex<HashMap<u64, Sender<Connection>>>>;

pub struct Origin {
    peer: Peer,
    expected: Expected,
    tickets: AtomicU64,
}

impl Origin {
    pub fn open() -> Origin {
        let expected = Expected::default();
        let waiting = expected.clone();
        let peer = Peer::start(move |mut connection| {
            let mut number = [0; 8];
            if connection.read_exact(&mut number).is_err() {
                return;
            }
            let client = waiting.lock().unwrap().remove(&u64::from_le_bytes(number));
            if let Some(client) = client {
                // The client may have given up, and then no test waits for this end.
                let _ = client.send(connection);
            }
        });
        Origin {
            peer,
            expected,
            tickets: AtomicU64::new(1),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.peer.address()
    }

    pub fn ticket(&self) -> Ticket {
        let number = self.tickets.fetch_add(1, Ordering::SeqCst);
        let (sender, arrival) = mpsc::channel();
        self.expected.lock().unwrap().insert(number, sender);
        Ticket {
            number,
            arrival,
            expected: self.expected.clone(),
        }
    }
}

/// The number that a client sends to get its other end.
pub struct Ticket {
    pub number: u64,
    arrival: Receiver<Connection>,
    expected: Expected,
}

impl Ticket {
    /// Sends the number; returns false if the tunnel has ended already.
    pub fn show(&self, client: &mut impl Write) -> bool {
        client.write_all(&self.number.to_le_bytes()).is_ok()
    }

    /// Returns the other end, or `None` if `is_over` returns true first, because the client's end
    /// was seen.
    pub fn other_end(&self, mut is_over: impl FnMut() -> bool) -> Option<Connection> {
        let start = Instant::now();
        loop {
            // In this order: a tunnel that ended after its arrival has arrived.
            let over = is_over();
            let wait = Duration::from_millis(if over { 0 } else { 10 });
            match self.arrival.recv_timeout(wait) {
                Ok(connection) => return Some(connection),
                Err(_) if over => return None,
                Err(_) => assert!(start.elapsed() < TIMEOUT, "neither an end nor the origin"),
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.expected.lock().unwrap().remove(&self.number);
    }
}
