//! `relay-epoll LISTEN TARGET`: a plain TCP relay as one edge-triggered epoll state machine. The floor.
//!
//! Does: one thread; one `epoll_ctl` a socket; small messages through one scratch buffer; an own buffer only
//! for what could not be written; splice(2) with a pooled pipe once a direction filled the scratch twice in a
//! row; half-close in both directions; `TCP_NODELAY`.
//! Doesn't: timeouts, names, logging, several threads, a retry when the target refuses.
//!
//! ```text
//! per direction:  copying ── scratch full twice ──▶ splicing
//!                    ▲                                 │
//!                    └───── a turn that moved little ──┘        end of file → drain → shut down
//! ```

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use ptunnel_benches::peer::pipes::{Pipe, Pool};
use ptunnel_benches::peer::Addresses;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, Result};
use rustix::net::sockopt::{set_socket_reuseaddr, set_tcp_nodelay};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};

const SCRATCH: usize = 64 * 1024;
/// Full reads in a row after which a direction is taken for bulk.
const FULL: u8 = 2;
/// A spliced turn that moved less than this was no bulk.
const LITTLE: usize = 16 * 1024;
/// Reads a direction may do before the others have their turn. More gain no bulk, and make a ping wait tenfold;
/// with one, a message that drained its socket would look unfinished.
const ROUNDS: usize = 2;
const LISTENER: u64 = u64::MAX;

fn main() -> io::Result<()> {
    let Addresses { listen, target, .. } = Addresses::from_args();
    Relay::new(listen, target)?.run()?;
    Ok(())
}

/// One socket of a tunnel, with what the edges reported about it.
struct End {
    fd: OwnedFd,
    readable: bool,
    writable: bool,
    /// The peer's end of file is on its way: a short read does not mean drained.
    hup: bool,
}

/// One direction. Holds a buffer or a pipe only while bytes wait for the socket to take them.
#[derive(Default)]
struct Half {
    kept: Vec<u8>,
    sent: usize,
    pipe: Option<Pipe>,
    full: u8,
    splicing: bool,
    ended: bool,
    shut: bool,
}

struct Tunnel {
    /// The client, the target; half `i` carries from end `i` to the other.
    ends: [End; 2],
    halves: [Half; 2],
    /// In `again`, where one entry is enough.
    queued: bool,
}

struct Relay {
    epoll: OwnedFd,
    listener: OwnedFd,
    target: SocketAddr,
    tunnels: Vec<Option<Tunnel>>,
    free: Vec<usize>,
    /// Tunnels that used up their rounds and have more to do.
    again: Vec<usize>,
    scratch: Vec<u8>,
    pool: Pool,
}

impl Relay {
    fn new(listen: SocketAddr, target: SocketAddr) -> Result<Relay> {
        let listener = tcp_socket(listen)?;
        set_socket_reuseaddr(&listener, true)?;
        // Accepted sockets inherit it: one call less for each tunnel.
        set_tcp_nodelay(&listener, true)?;
        net::bind(&listener, &listen)?;
        net::listen(&listener, 4096)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let data = EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, EventFlags::IN)?;
        Ok(Relay {
            epoll,
            listener,
            target,
            tunnels: Vec::new(),
            free: Vec::new(),
            again: Vec::new(),
            scratch: vec![0; SCRATCH],
            pool: Pool::default(),
        })
    }

    fn run(&mut self) -> Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        let at_once = rustix::event::Timespec::default();
        loop {
            events.clear();
            let timeout = (!self.again.is_empty()).then_some(&at_once);
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    token => self.ready(token, event.flags),
                }
            }
            for index in std::mem::take(&mut self.again) {
                if let Some(tunnel) = &mut self.tunnels[index] {
                    tunnel.queued = false;
                }
                self.turn(index);
            }
        }
    }

    fn accept(&mut self) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Out of descriptors or out of clients: the listener is level-triggered and asks again.
        while let Ok(client) = net::accept_with(&self.listener, flags) {
            if let Err(e) = self.open(client) {
                eprintln!("no tunnel to {}: {e}", self.target);
            }
        }
    }

    fn open(&mut self, client: OwnedFd) -> Result<()> {
        let target = tcp_socket(self.target)?;
        set_tcp_nodelay(&target, true)?;
        match net::connect(&target, &self.target) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(e) => return Err(e),
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.tunnels.push(None);
            self.tunnels.len() - 1
        });
        let ends = [client, target].map(|fd| End {
            fd,
            readable: false,
            writable: false,
            hup: false,
        });
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        for (side, end) in ends.iter().enumerate() {
            let data = EventData::new_u64((index * 2 + side) as u64);
            epoll::add(&self.epoll, &end.fd, data, flags)?;
        }
        let halves = Default::default();
        self.tunnels[index] = Some(Tunnel {
            ends,
            halves,
            queued: false,
        });
        Ok(())
    }

    /// An event for a tunnel that was closed earlier in the same batch may reach the slot's next tunnel: it costs a
    /// call that finds nothing, and no more.
    fn ready(&mut self, token: u64, flags: EventFlags) {
        let (index, side) = ((token / 2) as usize, (token % 2) as usize);
        let Some(tunnel) = &mut self.tunnels[index] else {
            return;
        };
        let end = &mut tunnel.ends[side];
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        end.hup |= broken || flags.contains(EventFlags::RDHUP);
        end.readable |= end.hup || flags.contains(EventFlags::IN);
        end.writable |= broken || flags.contains(EventFlags::OUT);
        self.turn(index);
    }

    fn turn(&mut self, index: usize) {
        let Some(tunnel) = &mut self.tunnels[index] else {
            return;
        };
        let [a, b] = &mut tunnel.ends;
        let [up, down] = &mut tunnel.halves;
        let outcome = up
            .pump(a, b, &mut self.scratch, &mut self.pool)
            .and_then(|more| Ok(more | down.pump(b, a, &mut self.scratch, &mut self.pool)?));
        match outcome {
            Ok(_) if up.shut && down.shut => self.close(index),
            Ok(true) if !tunnel.queued => {
                tunnel.queued = true;
                self.again.push(index);
            }
            Ok(_) => {}
            Err(_) => self.close(index),
        }
    }

    fn close(&mut self, index: usize) {
        if let Some(tunnel) = self.tunnels[index].take() {
            for half in tunnel.halves {
                if let Some(pipe) = half.pipe {
                    self.pool.put(pipe);
                }
            }
            self.free.push(index);
        }
    }
}

impl Half {
    /// Moves bytes until an end would block; true when the rounds ran out first.
    fn pump(
        &mut self,
        from: &mut End,
        to: &mut End,
        scratch: &mut [u8],
        pool: &mut Pool,
    ) -> Result<bool> {
        for _ in 0..ROUNDS {
            if self.holds() && (!to.writable || !self.flush(to, pool)?) {
                return Ok(false);
            }
            if self.ended {
                if !self.shut && to.writable {
                    self.shut = true;
                    match net::shutdown(&to.fd, Shutdown::Write) {
                        Ok(()) | Err(Errno::NOTCONN) => {}
                        Err(e) => return Err(e),
                    }
                }
                return Ok(false);
            }
            // A target that is still connecting is not writable yet: the client's bytes wait in its socket.
            if !from.readable || !to.writable {
                return Ok(false);
            }
            if self.splicing {
                match pool.take() {
                    Some(pipe) => self.splice(from, to, pipe, pool)?,
                    None => self.splicing = false,
                }
            } else {
                self.copy(from, to, scratch)?;
            }
        }
        Ok(true)
    }

    fn holds(&self) -> bool {
        self.pipe.is_some() || self.sent < self.kept.len()
    }

    /// Writes what is held; true when all of it went.
    fn flush(&mut self, to: &mut End, pool: &mut Pool) -> Result<bool> {
        if let Some(mut pipe) = self.pipe.take() {
            match pipe.drain(to.fd.as_fd()) {
                Ok(()) => pool.put(pipe),
                Err(e) => {
                    self.pipe = Some(pipe);
                    return blocked(e, &mut to.writable);
                }
            }
        }
        while self.sent < self.kept.len() {
            match net::send(&to.fd, &self.kept[self.sent..], SendFlags::NOSIGNAL) {
                Ok(n) => self.sent += n,
                Err(e) => return blocked(e, &mut to.writable),
            }
        }
        self.kept = Vec::new();
        self.sent = 0;
        Ok(true)
    }

    fn copy(&mut self, from: &mut End, to: &mut End, scratch: &mut [u8]) -> Result<()> {
        let n = match net::recv(&from.fd, &mut *scratch, RecvFlags::empty()) {
            Ok((n, _)) => n,
            Err(e) => return blocked(e, &mut from.readable).map(drop),
        };
        if n == 0 {
            self.ended = true;
            return Ok(());
        }
        if n < scratch.len() {
            self.full = 0;
            // A short read emptied the socket; a pending end of file gives no second edge, so that is read for.
            from.readable = from.hup;
        } else {
            self.full += 1;
            if self.full == FULL {
                self.full = 0;
                self.splicing = true;
            }
        }
        let written = match net::send(&to.fd, &scratch[..n], SendFlags::NOSIGNAL) {
            Ok(written) => written,
            Err(e) => {
                blocked(e, &mut to.writable)?;
                0
            }
        };
        if written < n {
            // A short write leaves `writable` set; the flush of the next round learns what the socket says now.
            self.kept = scratch[written..n].to_vec();
        }
        Ok(())
    }

    fn splice(
        &mut self,
        from: &mut End,
        to: &mut End,
        mut pipe: Pipe,
        pool: &mut Pool,
    ) -> Result<()> {
        match pipe.fill(from.fd.as_fd()) {
            Ok(0) => {
                self.ended = true;
                pool.put(pipe);
            }
            Ok(n) => {
                self.splicing = n >= LITTLE;
                match pipe.drain(to.fd.as_fd()) {
                    Ok(()) => pool.put(pipe),
                    Err(e) => {
                        self.pipe = Some(pipe);
                        blocked(e, &mut to.writable)?;
                    }
                }
            }
            Err(e) => {
                pool.put(pipe);
                blocked(e, &mut from.readable)?;
            }
        }
        Ok(())
    }
}

/// Clears the readiness that proved wrong; every other error ends the tunnel.
fn blocked(e: Errno, ready: &mut bool) -> Result<bool> {
    match e {
        Errno::AGAIN => {
            *ready = false;
            Ok(false)
        }
        Errno::INTR => Ok(false),
        e => Err(e),
    }
}

fn tcp_socket(family_of: SocketAddr) -> Result<OwnedFd> {
    let family = match family_of {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    net::socket_with(family, SocketType::STREAM, flags, None)
}
