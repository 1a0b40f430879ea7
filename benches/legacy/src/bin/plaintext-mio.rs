//! `plaintext-mio -t THREADS -p PORT`: a plaintext server on bare mio 0.6. The floor.
//!
//! Does: a loop for each thread; level-triggered events, so that one read an event is enough; parses all that was read, writes all
//! the replies at once; waits with further reads while the client doesn't take its replies.
//! Doesn't: anything that a service would need which can't answer at once.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Poll, PollOpt, Ready, Token};
use ptunnel_benches_legacy::http::{self, Date};
use ptunnel_benches_legacy::serving::Serving;
use slab::Slab;

/// Holds 32 requests of the usual size; a longer head is refused.
const BUFFER: usize = 8 * 1024;
const LISTENER: Token = Token(usize::MAX - 1);
const DATE_EVERY: Duration = Duration::from_millis(500);

fn main() -> io::Result<()> {
    Serving::from_args().on_each_thread(|listen| Server::new(listen)?.run())
}

struct Server {
    poll: Poll,
    listener: TcpListener,
    connections: Slab<Connection>,
    date: Date,
    dated: Instant,
}

struct Connection {
    stream: TcpStream,
    buffer: Box<[u8]>,
    /// Bytes of a request that isn't whole, at the front of `buffer`.
    have: usize,
    out: Vec<u8>,
    written: usize,
}

impl Server {
    fn new(listen: SocketAddr) -> io::Result<Server> {
        let poll = Poll::new()?;
        let listener = TcpListener::from_std(ptunnel_benches_legacy::listen(listen)?)?;
        poll.register(&listener, LISTENER, Ready::readable(), PollOpt::level())?;
        Ok(Server {
            poll,
            listener,
            connections: Slab::new(),
            date: Date::now(),
            dated: Instant::now(),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            self.poll.poll(&mut events, Some(DATE_EVERY))?;
            let now = Instant::now();
            if now.duration_since(self.dated) >= DATE_EVERY {
                self.date = Date::now();
                self.dated = now;
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept(),
                    Token(key) => self.ready(key),
                }
            }
        }
    }

    fn accept(&mut self) {
        // Out of descriptors: the listener is level-triggered and asks again.
        while let Ok((stream, _)) = self.listener.accept() {
            let poll = &self.poll;
            let entry = self.connections.vacant_entry();
            let token = Token(entry.key());
            let registered = stream
                .set_nodelay(true)
                .and_then(|()| poll.register(&stream, token, Ready::readable(), PollOpt::level()));
            if registered.is_ok() {
                entry.insert(Connection {
                    stream,
                    buffer: vec![0; BUFFER].into(),
                    have: 0,
                    out: Vec::new(),
                    written: 0,
                });
            }
        }
    }

    fn ready(&mut self, key: usize) {
        let poll = &self.poll;
        let connection = match self.connections.get_mut(key) {
            Some(connection) => connection,
            None => return,
        };
        let waited = connection.is_blocked();
        let turned = connection.turn(&self.date).and_then(|()| {
            let waits = connection.is_blocked();
            if waits == waited {
                return Ok(());
            }
            // Nothing more is read from a client that doesn't read.
            let wanted = if waits {
                Ready::writable()
            } else {
                Ready::readable()
            };
            poll.reregister(&connection.stream, Token(key), wanted, PollOpt::level())
        });
        if turned.is_err() {
            self.connections.remove(key);
        }
    }
}

impl Connection {
    fn is_blocked(&self) -> bool {
        !self.out.is_empty()
    }

    /// Writes what waits, or else reads once and answers all of it; an error ends the connection.
    fn turn(&mut self, date: &Date) -> io::Result<()> {
        if self.is_blocked() {
            return self.write();
        }
        let n = match self.stream.read(&mut self.buffer[self.have..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => n,
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
        };
        let end = self.have + n;
        let mut start = 0;
        while start < end {
            match http::parse(&self.buffer[start..end])? {
                Some((route, length)) => {
                    start += length;
                    http::answer(route).write(date, &mut self.out);
                }
                None if end - start == self.buffer.len() => {
                    return Err(io::ErrorKind::InvalidData.into())
                }
                None => break,
            }
        }
        self.buffer.copy_within(start..end, 0);
        self.have = end - start;
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(())
    }
}
