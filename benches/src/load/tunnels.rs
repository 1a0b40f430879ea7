//! New tunnels in a closed loop: connect, one exchange, end of file both ways, close; then the next.
//!
//! The server closes first, as with `Connection: close`. So the closing states that linger belong to ports of the server
//! and the relay, which are new with each sample, and the search for a free port is as quick in the last as in the first.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};

use super::requests::Until;
use super::sockets::{connecting, TIMEOUT};
use super::wire::{Command, COMMAND};
use crate::stop::Stop;

/// Bytes of the one exchange.
const SIZE: usize = 64;

/// ```text
/// Connecting ── writable: send ──▶ Awaiting ── whole reply ──▶ Ending ── end of file ──▶ counted
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Awaiting { have: usize },
    Ending,
}

#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    state: State,
    message: [u8; COMMAND + SIZE],
    reply: [u8; SIZE],
}

#[derive(Debug)]
pub struct Tunnels {
    epoll: OwnedFd,
    to: SocketAddr,
    clients: Vec<Option<Client>>,
    opened: usize,
}

impl Tunnels {
    /// At most `at_once` tunnels are open at a time.
    pub fn new(to: SocketAddr, at_once: usize) -> io::Result<Tunnels> {
        Ok(Tunnels {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            to,
            clients: (0..at_once).map(|_| None).collect(),
            opened: 0,
        })
    }

    /// Opens tunnels for that long, awaits those still open, and returns how many ended as they should.
    pub fn run(&mut self, time: Duration, stop: &Stop) -> io::Result<u64> {
        self.run_until(Until::Elapsed(time), stop)
    }

    /// As [`run`](Tunnels::run), or with a number of tunnels.
    pub fn run_until(&mut self, until: Until, stop: &Stop) -> io::Result<u64> {
        let begun = Instant::now();
        let before = self.opened as u64;
        let is_over = |opened: usize| match until {
            Until::Sent(count) => opened as u64 - before >= count,
            Until::Elapsed(time) => begun.elapsed() >= time,
        };
        let (mut open, mut done) = (0, 0);
        for slot in 0..self.clients.len() {
            if open == 0 || !is_over(self.opened) {
                self.open(slot)?;
                open += 1;
            }
        }
        let mut events: Vec<Event> = Vec::with_capacity(self.clients.len());
        let timeout = Timespec::try_from(TIMEOUT).map_err(io::Error::other)?;
        while open > 0 {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "a tunnel did not end",
                    ))
                }
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            }
            stop.check()?;
            for event in &events {
                let slot = event.data.u64() as usize;
                let ended = match &mut self.clients[slot] {
                    Some(client) => client.advance()?,
                    None => false,
                };
                if ended {
                    done += 1;
                    self.clients[slot] = None;
                    if is_over(self.opened) {
                        open -= 1;
                    } else {
                        self.open(slot)?;
                    }
                }
            }
        }
        Ok(done)
    }

    fn open(&mut self, slot: usize) -> io::Result<()> {
        self.opened += 1;
        let socket = connecting(self.to, self.opened)?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &socket, EventData::new_u64(slot as u64), flags)?;
        let mut message = [0; COMMAND + SIZE];
        message[..COMMAND].copy_from_slice(&Command::Reply { bytes: SIZE as u64 }.encode());
        for (i, byte) in message[COMMAND..].iter_mut().enumerate() {
            *byte = (self.opened + i * 11) as u8;
        }
        self.clients[slot] = Some(Client {
            socket,
            state: State::Connecting,
            message,
            reply: [0; SIZE],
        });
        Ok(())
    }
}

impl Client {
    /// Goes as far as the socket allows; true at its end.
    fn advance(&mut self) -> io::Result<bool> {
        loop {
            self.state = match self.state {
                State::Connecting => match send(&self.socket, &self.message, SendFlags::NOSIGNAL) {
                    Ok(n) if n == self.message.len() => {
                        self.state = State::Awaiting { have: 0 };
                        // The edge of the reply is still to come.
                        return Ok(false);
                    }
                    Ok(_) => return Err(io::Error::other("a message did not fit the socket")),
                    Err(Errno::AGAIN) => return Ok(false),
                    Err(e) => return Err(e.into()),
                },
                State::Awaiting { have } => {
                    match recv(&self.socket, &mut self.reply[have..], RecvFlags::empty()) {
                        Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                        Ok((n, _)) if have + n < SIZE => State::Awaiting { have: have + n },
                        Ok(_) if self.reply == self.message[COMMAND..] => State::Ending,
                        Ok(_) => {
                            let text = "a reply differs from its request";
                            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                        }
                        Err(Errno::AGAIN) => return Ok(false),
                        Err(e) => return Err(e.into()),
                    }
                }
                State::Ending => match recv(&self.socket, &mut [0; 1], RecvFlags::empty()) {
                    Ok((0, _)) => return Ok(true),
                    Ok(_) => return Err(io::Error::other("bytes after the end")),
                    Err(Errno::AGAIN) => return Ok(false),
                    Err(e) => return Err(e.into()),
                },
            };
        }
    }
}
