//! GETs in a closed loop over HTTP/1.1: each client sends one, compares the whole reply, sends the next.
//!
//! A reply that announces the end of its connection counts when the end of file is there, as it does in ab: a tunnel
//! that passes it on late is late with the reply. The next GET of that client then has a new connection.

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
use crate::stop::Stop;

/// More than the head and the body of any reply.
const MOST: usize = 16 * 1024;

/// What every client sends, and what it must get.
#[derive(Clone, Debug)]
pub struct Script {
    /// Sent first and answered first: the request to a proxy, where the load asks it by itself.
    pub connect: Option<Vec<u8>>,
    pub request: Vec<u8>,
    pub body: Vec<u8>,
}

impl Script {
    /// GETs of `path`, which has this body; with `close` the server ends the connection after each.
    pub fn get(host: SocketAddr, path: &str, close: bool, body: &[u8]) -> Script {
        let close = if close { "Connection: close\r\n" } else { "" };
        Script {
            connect: None,
            request: format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n").into_bytes(),
            body: body.to_vec(),
        }
    }

    /// The same through a proxy that the load itself asks for `target`.
    pub fn asking_for(self, target: SocketAddr) -> Script {
        let connect = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        Script {
            connect: Some(connect.into_bytes()),
            ..self
        }
    }
}

/// ```text
/// Connecting ── writable ──▶ Asking ── 2xx ──┐
///      └────────── nobody to ask ────────────┴─▶ Awaiting ── reply ──▶ Resting ── next GET ──▶ Awaiting
///                                                   └─ last reply ──▶ Ending ── end of file ──▶ counted
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Asking,
    Awaiting,
    Resting,
    Ending,
}

/// What came of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Waits,
    Answered,
    /// Answered, and the connection is over.
    Ended,
}

#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    state: State,
    buffer: Box<[u8; MOST]>,
    have: usize,
}

#[derive(Debug)]
pub struct Gets {
    epoll: OwnedFd,
    to: SocketAddr,
    script: Script,
    clients: Vec<Option<Client>>,
    opened: usize,
}

impl Gets {
    /// `count` clients; they connect when they have something to ask.
    pub fn new(to: SocketAddr, count: usize, script: Script) -> io::Result<Gets> {
        Ok(Gets {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            to,
            script,
            clients: (0..count).map(|_| None).collect(),
            opened: 0,
        })
    }

    /// Runs the loop, awaits what is in flight then, and returns the number of GETs whose replies were right.
    pub fn run(&mut self, until: Until, stop: &Stop) -> io::Result<u64> {
        let begun = Instant::now();
        let (most, time) = match until {
            Until::Sent(count) => (count, Duration::MAX),
            Until::Elapsed(time) => (u64::MAX, time),
        };
        let (mut sent, mut answered) = (0, 0);
        for slot in 0..self.clients.len() {
            if sent < most {
                self.ask(slot)?;
                sent += 1;
            }
        }
        let mut events: Vec<Event> = Vec::with_capacity(self.clients.len().max(1));
        let timeout = Timespec::try_from(TIMEOUT).map_err(io::Error::other)?;
        while answered < sent {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(0) => {
                    let text = "a reply, or the end of its connection, did not come";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e.into()),
            }
            stop.check()?;
            let over = begun.elapsed() >= time;
            for event in &events {
                let slot = event.data.u64() as usize;
                let Some(client) = &mut self.clients[slot] else {
                    continue;
                };
                match client.advance(&self.script)? {
                    Step::Waits => continue,
                    Step::Answered => {}
                    Step::Ended => self.clients[slot] = None,
                }
                answered += 1;
                if !over && sent < most {
                    self.ask(slot)?;
                    sent += 1;
                }
            }
        }
        Ok(answered)
    }

    /// Sends the next GET of a client, on its connection or on a new one.
    fn ask(&mut self, slot: usize) -> io::Result<()> {
        if let Some(client) = &mut self.clients[slot] {
            client.state = State::Awaiting;
            return match send(&client.socket, &self.script.request, SendFlags::NOSIGNAL)? {
                n if n == self.script.request.len() => Ok(()),
                _ => Err(does_not_fit()),
            };
        }
        self.opened += 1;
        let socket = connecting(self.to, self.opened)?;
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &socket, EventData::new_u64(slot as u64), flags)?;
        self.clients[slot] = Some(Client {
            socket,
            state: State::Connecting,
            buffer: Box::new([0; MOST]),
            have: 0,
        });
        Ok(())
    }
}

impl Client {
    /// Goes as far as the socket allows.
    fn advance(&mut self, script: &Script) -> io::Result<Step> {
        loop {
            match self.state {
                State::Connecting => {
                    let (first, next) = match &script.connect {
                        Some(connect) => (connect, State::Asking),
                        None => (&script.request, State::Awaiting),
                    };
                    if !self.send(first)? {
                        return Ok(Step::Waits);
                    }
                    self.state = next;
                    // The edge of the reply is still to come.
                    return Ok(Step::Waits);
                }
                State::Resting => return Ok(Step::Waits),
                State::Asking => {
                    if !self.receive()? {
                        return Ok(Step::Waits);
                    }
                    if let Some(head) = Head::parse(&self.buffer[..self.have])? {
                        if head.size != self.have {
                            return Err(wrong("a proxy's reply has a body"));
                        }
                        self.have = 0;
                        self.state = State::Awaiting;
                        if !self.send(&script.request)? {
                            return Err(does_not_fit());
                        }
                        return Ok(Step::Waits);
                    }
                }
                State::Awaiting => {
                    if !self.receive()? {
                        return Ok(Step::Waits);
                    }
                    let bytes = &self.buffer[..self.have];
                    let Some(head) = Head::parse(bytes)? else {
                        continue;
                    };
                    if self.have < head.size + script.body.len() {
                        continue;
                    }
                    if head.length != script.body.len() || bytes[head.size..] != script.body {
                        return Err(wrong("a reply has another body than its page"));
                    }
                    self.have = 0;
                    if !head.closes {
                        self.state = State::Resting;
                        return Ok(Step::Answered);
                    }
                    self.state = State::Ending;
                }
                State::Ending => match recv(&self.socket, &mut [0; 1], RecvFlags::empty()) {
                    Ok((0, _)) => return Ok(Step::Ended),
                    Ok(_) => return Err(wrong("bytes after the end of a reply")),
                    Err(Errno::AGAIN) => return Ok(Step::Waits),
                    Err(e) => return Err(e.into()),
                },
            }
        }
    }

    /// False while the connection isn't there.
    fn send(&self, bytes: &[u8]) -> io::Result<bool> {
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Ok(n) if n == bytes.len() => Ok(true),
            Ok(_) => Err(does_not_fit()),
            Err(Errno::AGAIN) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// False when there is nothing to receive.
    fn receive(&mut self) -> io::Result<bool> {
        match recv(
            &self.socket,
            &mut self.buffer[self.have..],
            RecvFlags::empty(),
        ) {
            Ok((0, _)) if self.have == MOST => Err(wrong("a reply is too long")),
            Ok((0, _)) => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("end of file after {} bytes of a reply", self.have),
            )),
            Ok((n, _)) => {
                self.have += n;
                Ok(true)
            }
            Err(Errno::AGAIN) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}

fn does_not_fit() -> io::Error {
    io::Error::other("a request did not fit the socket")
}

fn wrong(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// What the head of a reply says; only successful ones are let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    size: usize,
    length: usize,
    closes: bool,
}

impl Head {
    /// None while it isn't whole.
    fn parse(bytes: &[u8]) -> io::Result<Option<Head>> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| wrong("a head isn't text"))?;
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap_or_default();
        let code = status.split(' ').nth(1).unwrap_or_default();
        if !status.starts_with("HTTP/1.") || code.len() != 3 || !code.starts_with('2') {
            return Err(wrong(format!("a reply says {status:?}")));
        }
        let mut head = Head {
            size: end + 4,
            length: 0,
            closes: false,
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                let length = value.trim().parse();
                head.length = length.map_err(|_| wrong("a length isn't a number"))?;
            } else if name.eq_ignore_ascii_case("connection") {
                head.closes = value.trim().eq_ignore_ascii_case("close");
            }
        }
        Ok(Some(head))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const CLOSING: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    const KEPT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

    #[test]
    fn a_head_is_whole_or_not_there() {
        for cut in 0..CLOSING.len() - 2 {
            assert_eq!(Head::parse(&CLOSING.as_bytes()[..cut]).unwrap(), None);
        }
        let head = Head::parse(CLOSING.as_bytes()).unwrap().unwrap();
        assert_eq!(
            (head.size, head.length, head.closes),
            (CLOSING.len() - 2, 2, true)
        );
        assert!(!Head::parse(KEPT.as_bytes()).unwrap().unwrap().closes);
    }

    #[test]
    fn a_refusal_is_an_error_with_its_status() {
        let e = Head::parse(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap_err();
        assert!(e.to_string().contains("503 Service Unavailable"));
        assert!(Head::parse(b"SSH-2.0-x\r\n\r\n").is_err());
    }

    /// A server that answers each connection with these replies, `pause` before it closes, and its address.
    fn server(replies: &'static [&'static str], pause: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                for reply in replies {
                    let mut request = [0; 4096];
                    if stream.read(&mut request).unwrap_or(0) == 0 {
                        break;
                    }
                    stream.write_all(reply.as_bytes()).unwrap();
                }
                thread::sleep(pause);
            }
        });
        address
    }

    fn run(to: SocketAddr, script: Script, count: u64) -> io::Result<u64> {
        Gets::new(to, 1, script)?.run(Until::Sent(count), &Stop::default())
    }

    #[test]
    fn a_last_reply_counts_at_the_end_of_file_and_the_next_has_a_new_connection() {
        let pause = Duration::from_millis(50);
        let to = server(&[KEPT, CLOSING], pause);
        let begun = Instant::now();
        let script = Script::get(to, "/", false, b"hi");
        assert_eq!(run(to, script, 4).unwrap(), 4);
        assert!(begun.elapsed() >= 2 * pause, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_proxy_is_asked_first() {
        let to = server(&["HTTP/1.1 200 Fine\r\n\r\n", CLOSING], Duration::ZERO);
        let script = Script::get(to, "/", true, b"hi").asking_for(to);
        assert_eq!(run(to, script, 2).unwrap(), 2);
    }

    #[test]
    fn a_wrong_byte_and_an_early_end_are_errors() {
        let to = server(&[KEPT], Duration::ZERO);
        let e = run(to, Script::get(to, "/", false, b"ho"), 1).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::InvalidData);
        let to = server(
            &["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh"],
            Duration::ZERO,
        );
        let e = run(to, Script::get(to, "/", false, b"hi"), 1).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::UnexpectedEof);
    }
}
