//! The server behind the relays, a child process of the rig.
//!
//! One epoll thread accepts, reads commands and echoes; a transfer has its own thread, which hands the connection
//! back when it is done. It ends with its standard input, so it never outlives the rig.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command as Program, Stdio};
use std::sync::Arc;
use std::thread;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{accept_with, listen, recv, send, shutdown};
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketFlags};

use super::pattern::Pattern;
use super::wire::{Command, Verdict, COMMAND};

/// The rig's hold on its server; dropping it ends the server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts one on its own port, so that no sample meets the closing connections of another.
    pub fn start(first: bool) -> io::Result<Server> {
        // This very program, though cargo may have put another in its place since.
        let mut program = Program::new("/proc/self/exe");
        program
            .arg("server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if first {
            program.arg("--first");
        }
        let mut child = program.spawn()?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let address = line
            .trim()
            .parse()
            .map_err(|_| io::Error::other("the server did not start"))?;
        Ok(Server { child, address })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The child's side: prints its address, serves until standard input ends. With `first` the epoll thread runs before
/// everything else on its core, so that a ping measures the relay and not this server's transfers.
pub fn serve(first: bool) -> io::Result<()> {
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    // Again, for a longer queue than std's; accepted sockets inherit TCP_NODELAY.
    listen(&listener, 4096)?;
    set_tcp_nodelay(&listener, true)?;
    println!("{}", listener.local_addr()?);
    io::stdout().flush()?;
    if first {
        // Refused where the capability lacks; the rig knows by trying the same.
        let _ = crate::sys::run_first();
    }
    Loop::new(listener)?.run()
}

const LISTENER: u64 = u64::MAX;

struct Connection {
    fd: Arc<OwnedFd>,
    head: [u8; COMMAND],
    have: usize,
    /// Bytes that are still to be echoed; more than any load sends means until the end of file.
    echo: u64,
}

struct Loop {
    epoll: Arc<OwnedFd>,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    pattern: Arc<Pattern>,
    buffer: Vec<u8>,
}

impl Loop {
    fn new(listener: TcpListener) -> io::Result<Loop> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let data = EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, EventFlags::IN)?;
        Ok(Loop {
            epoll: Arc::new(epoll),
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            pattern: Arc::new(Pattern::new()?),
            buffer: vec![0; 64 * 1024],
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events: Vec<Event> = Vec::with_capacity(256);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    token => self.ready(token as usize),
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Ok(fd) = accept_with(&self.listener, SocketFlags::CLOEXEC) {
            let index = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            let data = EventData::new_u64(index as u64);
            epoll::add(&self.epoll, &fd, data, EventFlags::IN)?;
            self.connections[index] = Some(Connection {
                fd: Arc::new(fd),
                head: [0; COMMAND],
                have: 0,
                echo: 0,
            });
        }
        Ok(())
    }

    fn ready(&mut self, index: usize) {
        let (epoll, pattern) = (&self.epoll, &self.pattern);
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let outcome = match connection.echo {
            0 => command(connection, index, epoll, pattern, &mut self.buffer),
            _ => echo(connection, &mut self.buffer),
        };
        match outcome {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => {
                self.connections[index] = None;
                self.free.push(index);
            }
        }
    }
}

/// Sends back what is there. The sockets block: a load that always reads can't make a small send wait. An error ends
/// the connection, and so does the last byte of a reply.
fn echo(connection: &mut Connection, buffer: &mut [u8]) -> Result<(), Errno> {
    let most = connection.echo.min(buffer.len() as u64) as usize;
    let (n, _) = recv(&connection.fd, &mut buffer[..most], RecvFlags::DONTWAIT)?;
    if n == 0 {
        return Err(Errno::PIPE);
    }
    send_all(&connection.fd, &buffer[..n])?;
    connection.echo -= n as u64;
    match connection.echo {
        0 => Err(Errno::PIPE),
        _ => Ok(()),
    }
}

fn command(
    connection: &mut Connection,
    index: usize,
    epoll: &Arc<OwnedFd>,
    pattern: &Arc<Pattern>,
    buffer: &mut [u8],
) -> Result<(), Errno> {
    let free = &mut connection.head[connection.have..];
    match recv(&connection.fd, free, RecvFlags::DONTWAIT)? {
        (0, _) => return Err(Errno::PIPE),
        (n, _) => connection.have += n,
    }
    if connection.have < COMMAND {
        return Ok(());
    }
    connection.have = 0;
    match Command::decode(&connection.head).ok_or(Errno::PROTO)? {
        Command::Echo => connection.echo = u64::MAX,
        Command::Reply { bytes } => connection.echo = bytes,
        Command::EchoAll => {
            connection.echo = u64::MAX;
            return send_all(&connection.fd, &connection.head);
        }
        Command::Transfer { down, up } => {
            epoll::delete(epoll, &connection.fd)?;
            let (fd, epoll) = (Arc::clone(&connection.fd), Arc::clone(epoll));
            let pattern = Arc::clone(pattern);
            thread::spawn(move || {
                if transfer(&fd, down, up, &pattern).is_err() {
                    // The epoll thread then reads the end of file and closes.
                    let _ = shutdown(&fd, Shutdown::Both);
                }
                let data = EventData::new_u64(index as u64);
                let _ = epoll::add(&epoll, &fd, data, EventFlags::IN);
            });
            return Ok(());
        }
    }
    echo(connection, buffer)
}

fn transfer(fd: &OwnedFd, down: u64, up: u64, pattern: &Pattern) -> io::Result<()> {
    let taken = pattern.exchange(fd.as_fd(), down, up)?;
    let verdict = Verdict {
        received: up,
        all_right: taken.is_ok(),
    };
    Ok(send_all(fd, &verdict.encode())?)
}

fn send_all(fd: &OwnedFd, mut rest: &[u8]) -> Result<(), Errno> {
    while !rest.is_empty() {
        let n = send(fd, rest, SendFlags::NOSIGNAL)?;
        rest = &rest[n..];
    }
    Ok(())
}
