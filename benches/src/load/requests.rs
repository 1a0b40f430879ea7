//! Small requests in a closed loop: each connection sends one, awaits the whole echo, compares it, sends the next.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::Timespec;
use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};

use super::sockets::{client, TIMEOUT};
use super::wire::Command;
use crate::stop::Stop;

/// Bytes of a request through a relay and of its reply.
const THROUGH_RELAY: usize = 128;
/// The most that a run which counts requests may take.
pub(super) const LONGEST: Duration = Duration::from_secs(180);

/// When a run ends; what is in flight then is still awaited and counted.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Sent(u64),
    Elapsed(Duration),
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    reply: Vec<u8>,
    have: usize,
}

#[derive(Debug)]
pub struct Requests {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    sequence: u64,
}

impl Requests {
    /// Through relays to the rig's own server, which is told to echo.
    pub fn tunnelled(to: SocketAddr, count: usize) -> io::Result<Requests> {
        Requests::open(to, count, THROUGH_RELAY, &Command::Echo.encode())
    }

    /// To a server that echoes; `size` is that of a request, at least one byte.
    pub fn echoed(to: SocketAddr, count: usize, size: usize) -> io::Result<Requests> {
        Requests::open(to, count, size, &[])
    }

    fn open(to: SocketAddr, count: usize, size: usize, greeting: &[u8]) -> io::Result<Requests> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut connections = Vec::with_capacity(count);
        for index in 0..count {
            let stream = client(to, index)?;
            if !greeting.is_empty() {
                send(&stream, greeting, SendFlags::NOSIGNAL)?;
            }
            epoll::add(
                &epoll,
                &stream,
                EventData::new_u64(index as u64),
                EventFlags::IN,
            )?;
            connections.push(Connection {
                stream,
                request: (0..size).map(|i| (i * 7 + index) as u8).collect(),
                reply: vec![0; size],
                have: 0,
            });
        }
        Ok(Requests {
            epoll,
            connections,
            sequence: 0,
        })
    }

    /// Runs the loop and returns the number of requests whose replies were right.
    pub fn run(&mut self, until: Until, stop: &Stop) -> io::Result<u64> {
        let begun = Instant::now();
        let longest = match until {
            Until::Sent(_) => LONGEST,
            Until::Elapsed(time) => time,
        };
        let most = match until {
            Until::Sent(count) => count,
            Until::Elapsed(_) => u64::MAX,
        };
        let (mut sent, mut answered) = (0, 0);
        for index in 0..self.connections.len() {
            if sent < most {
                self.send(index)?;
                sent += 1;
            }
        }
        let mut events: Vec<Event> = Vec::with_capacity(self.connections.len().max(1));
        let timeout = Timespec::try_from(TIMEOUT).map_err(io::Error::other)?;
        while answered < sent {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "a reply did not come",
                    ))
                }
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            }
            stop.check()?;
            let over = begun.elapsed() >= longest;
            if over && most < u64::MAX {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the requests took too long",
                ));
            }
            for event in &events {
                let index = event.data.u64() as usize;
                if self.receive(index)? {
                    answered += 1;
                    if !over && sent < most {
                        self.send(index)?;
                        sent += 1;
                    }
                }
            }
        }
        Ok(answered)
    }

    fn send(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        self.sequence += 1;
        for (byte, new) in connection
            .request
            .iter_mut()
            .zip(self.sequence.to_le_bytes())
        {
            *byte = new;
        }
        connection.have = 0;
        match send(&connection.stream, &connection.request, SendFlags::NOSIGNAL)? {
            sent if sent == connection.request.len() => Ok(()),
            _ => Err(io::Error::other("a request did not fit the socket")),
        }
    }

    /// True when the reply is whole.
    fn receive(&mut self, index: usize) -> io::Result<bool> {
        let connection = &mut self.connections[index];
        let free = &mut connection.reply[connection.have..];
        match recv(&connection.stream, free, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((n, _)) => connection.have += n,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        if connection.have < connection.reply.len() {
            return Ok(false);
        }
        if connection.reply != connection.request {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a reply differs from its request",
            ));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server for one connection that sends back what `answer` makes of each piece.
    fn server(answer: fn(&mut [u8])) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut buffer = [0; 256];
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                answer(&mut buffer[..n]);
                if stream.write_all(&buffer[..n]).is_err() {
                    return;
                }
            }
        });
        address
    }

    fn answered(size: usize, answer: fn(&mut [u8])) -> io::Result<u64> {
        Requests::echoed(server(answer), 1, size)?.run(Until::Sent(20), &Stop::default())
    }

    #[test]
    fn counts_the_requests_that_came_back() {
        for size in [1, 100, 10_000] {
            assert_eq!(answered(size, |_| {}).unwrap(), 20);
        }
    }

    #[test]
    fn a_wrong_byte_fails_the_run() {
        let e = answered(100, |piece| *piece.last_mut().unwrap() ^= 1).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::InvalidData);
    }
}
