//! One end of a tunnel, as a script drives it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::TIMEOUT;

/// A connection of which everything that is seen is kept.
pub struct Peer {
    stream: TcpStream,
    waiting: Vec<u8>,
    seen: u64,
    sum: u64,
    told: u64,
    end: Option<&'static str>,
    untold: Vec<&'static str>,
    stalled: bool,
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Peer {
        Peer::new(TcpStream::connect(address).expect("the program listens"))
    }

    fn new(stream: TcpStream) -> Peer {
        stream.set_nonblocking(true).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        let waiting = Vec::new();
        Peer {
            stream,
            waiting,
            seen: 0,
            sum: 0,
            told: 0,
            end: None,
            untold: Vec::new(),
            stalled: false,
        }
    }

    /// Reads up to the blank line, and nothing behind it.
    pub(crate) fn read_head(&mut self) -> String {
        let start = Instant::now();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match self.stream.read(&mut byte) {
                Ok(0) => panic!("the program ended within its request"),
                Ok(_) => head.push(byte[0]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    assert!(start.elapsed() < TIMEOUT, "no request");
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(e) => panic!("no request: {e}"),
            }
        }
        String::from_utf8(head).expect("a request is text")
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        self.look();
    }

    pub(crate) fn end(&mut self) {
        let start = Instant::now();
        while !self.waiting.is_empty() {
            assert!(start.elapsed() < TIMEOUT, "the program takes no more");
            self.look();
        }
        // Fails when the connection is reset, which is seen by itself.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    pub(crate) fn reset(self) {
        SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .expect("a socket");
    }

    pub(crate) fn stall(&mut self, stalled: bool) {
        self.stalled = stalled;
    }

    /// Moves what can be moved; whether there was anything.
    pub(crate) fn look(&mut self) -> bool {
        let mut news = false;
        while !self.waiting.is_empty() {
            match self.stream.write(&self.waiting) {
                Ok(count) => {
                    self.waiting.drain(..count);
                    news = true;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => {
                    // The socket has told its error: the reads below would find a mere end.
                    self.waiting.clear();
                    self.note(name(&e));
                    news = true;
                }
            }
        }
        let mut buffer = [0; 64 * 1024];
        while self.end.is_none() && !self.stalled {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.note(FIN),
                Ok(count) => self.take(&buffer[..count]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => self.note(name(&e)),
            }
            news = true;
        }
        // After a FIN each read finds the FIN again: an RST behind it is only in the socket's error.
        if self.end == Some(FIN) {
            if let Some(e) = self.stream.take_error().expect("a socket") {
                self.note(name(&e));
                news = true;
            }
        }
        news
    }

    fn note(&mut self, end: &'static str) {
        if self.end != Some(end) {
            self.end = Some(end);
            self.untold.push(end);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        for byte in bytes {
            self.sum = self.sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
    }

    /// What was seen since the last time.
    pub(crate) fn tell(&mut self) -> Vec<String> {
        let mut news = Vec::new();
        if self.told != self.seen {
            news.push(format!("{} bytes in all, sum {:x}", self.seen, self.sum));
            self.told = self.seen;
        }
        news.extend(self.untold.drain(..).map(str::to_owned));
        news
    }
}

const FIN: &str = "FIN";

fn name(error: &io::Error) -> &'static str {
    match error.kind() {
        // The latter when the FIN was there first.
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "RST",
        _ => "another error",
    }
}

/// A proxy that does as the script says.
pub struct Proxy {
    listener: TcpListener,
}

impl Proxy {
    pub(crate) fn new() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
        listener.set_nonblocking(true).expect("a socket");
        Proxy { listener }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("it is bound")
    }

    pub(crate) fn accept(&self) -> Peer {
        let start = Instant::now();
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => return Peer::new(stream),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    assert!(start.elapsed() < TIMEOUT, "the program does not come");
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(e) => panic!("no connection: {e}"),
            }
        }
    }
}
