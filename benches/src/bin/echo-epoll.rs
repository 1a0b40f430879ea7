//! `echo-epoll -t THREADS -p PORT`: an echo server that is one epoll loop a thread. The floor.
//!
//! Does: one scratch buffer a thread, an own buffer only for what could not be written, `TCP_NODELAY`. Level-triggered,
//! so that one receive a message is enough; it waits for a socket to take bytes only after that said that it would not.
//! Doesn't: timeouts, logging.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use ptunnel_benches::peer::serving::Serving;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, Result};
use rustix::net::sockopt::{set_socket_reuseaddr, set_socket_reuseport, set_tcp_nodelay};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const SCRATCH: usize = 16 * 1024;
const LISTENER: u64 = u64::MAX;

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(|listen| Ok(Echo::new(listen)?.run()?))
}

struct Connection {
    fd: OwnedFd,
    /// What the socket did not take; while there is some, nothing more is read.
    kept: Vec<u8>,
}

struct Echo {
    epoll: OwnedFd,
    listener: OwnedFd,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    scratch: Vec<u8>,
}

impl Echo {
    fn new(listen: SocketAddr) -> Result<Echo> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let listener = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        set_socket_reuseaddr(&listener, true)?;
        set_socket_reuseport(&listener, true)?;
        // Accepted sockets inherit it.
        set_tcp_nodelay(&listener, true)?;
        net::bind(&listener, &listen)?;
        net::listen(&listener, 4096)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let data = EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, EventFlags::IN)?;
        Ok(Echo {
            epoll,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            scratch: vec![0; SCRATCH],
        })
    }

    fn run(&mut self) -> Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(1024);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    token => self.ready(token as usize),
                }
            }
        }
    }

    fn accept(&mut self) -> Result<()> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Out of descriptors or out of clients: the listener asks again.
        while let Ok(fd) = net::accept_with(&self.listener, flags) {
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let data = EventData::new_u64(index as u64);
            epoll::add(&self.epoll, &fd, data, EventFlags::IN)?;
            self.connections[index] = Some(Connection {
                fd,
                kept: Vec::new(),
            });
        }
        Ok(())
    }

    fn ready(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let was_kept = !connection.kept.is_empty();
        let outcome = if was_kept {
            connection.flush()
        } else {
            connection.echo(&mut self.scratch)
        };
        let outcome = outcome.and_then(|()| {
            let is_kept = !connection.kept.is_empty();
            if was_kept == is_kept {
                return Ok(());
            }
            let flags = if is_kept {
                EventFlags::OUT
            } else {
                EventFlags::IN
            };
            let data = EventData::new_u64(index as u64);
            epoll::modify(&self.epoll, &connection.fd, data, flags)
        });
        match outcome {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => {
                self.connections[index] = None;
                self.free.push(index);
            }
        }
    }
}

impl Connection {
    /// Sends back what is there, once. The end of file is an error here: both end the connection.
    fn echo(&mut self, scratch: &mut [u8]) -> Result<()> {
        let (n, _) = net::recv(&self.fd, &mut *scratch, RecvFlags::empty())?;
        if n == 0 {
            return Err(Errno::PIPE);
        }
        let sent = match net::send(&self.fd, &scratch[..n], SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(e) => return Err(e),
        };
        self.kept.extend_from_slice(&scratch[sent..n]);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let sent = net::send(&self.fd, &self.kept, SendFlags::NOSIGNAL)?;
        self.kept.drain(..sent);
        Ok(())
    }
}
