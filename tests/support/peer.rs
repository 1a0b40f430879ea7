//! Scripted peers: proxies with any reply, destinations with any behaviour.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::process;
use super::sys;
use super::temp::free_port;
use super::wait::{eventually, TIMEOUT};

/// One side of a TCP connection. No read or write lasts longer than [`TIMEOUT`].
pub struct Connection {
    stream: TcpStream,
    /// Bytes that were read together with a head, and are still unread by the test.
    ahead: Vec<u8>,
    /// Number of connections that the peer accepted before this one.
    pub number: usize,
}

impl Connection {
    /// Connects.
    #[track_caller]
    pub fn open(address: SocketAddr) -> Connection {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => Connection::new(stream, 0),
            Err(e) => panic!("connecting to {}: {}", address, e),
        }
    }

    /// Connects from an address of this machine.
    #[track_caller]
    pub fn open_from(ip: IpAddr, address: SocketAddr) -> Connection {
        let connect = || {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
            socket.bind(&SocketAddr::new(ip, 0).into())?;
            socket.connect_timeout(&address.into(), TIMEOUT)?;
            io::Result::Ok(socket)
        };
        match connect() {
            Ok(socket) => Connection::new(socket.into(), 0),
            Err(e) => panic!("connecting from {} to {}: {}", ip, address, e),
        }
    }

    /// Takes over a connected socket.
    pub fn new(stream: TcpStream, number: usize) -> Connection {
        stream.set_nodelay(true).expect("TCP_NODELAY");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a limit");
        stream.set_write_timeout(Some(TIMEOUT)).expect("a limit");
        Connection {
            stream,
            ahead: Vec::new(),
            number,
        }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns a second handle on the same connection. Bytes that were read ahead stay with the
    /// first.
    pub fn handle(&self) -> Connection {
        Connection::new(self.stream.try_clone().expect("a descriptor"), self.number)
    }

    /// Returns the local address.
    pub fn local(&self) -> SocketAddr {
        self.stream.local_addr().expect("an address")
    }

    /// Writes all of `bytes`.
    #[track_caller]
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        if let Err(e) = self.stream.write_all(bytes.as_ref()) {
            panic!("sending: {}", e);
        }
    }

    /// Writes as much as the other side accepts before it ends the connection.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Writes the pieces so that each is read separately: the next one is sent after the previous
    /// one was read.
    pub fn send_apart<P: AsRef<[u8]>>(&mut self, pieces: impl IntoIterator<Item = P>) {
        for piece in pieces {
            // The other side may have read enough and closed the connection.
            if self.try_send(piece).is_err() {
                return;
            }
            self.wait_until_read();
        }
    }

    /// Writes single bytes, each of which is read separately.
    pub fn send_bytewise(&mut self, bytes: impl AsRef<[u8]>) {
        self.send_apart(bytes.as_ref().chunks(1));
    }

    /// Waits until the other side's program has read all bytes, or has closed.
    #[track_caller]
    pub fn wait_until_read(&self) {
        let (here, there) = match (self.stream.local_addr(), self.stream.peer_addr()) {
            (Ok(here), Ok(there)) => (here, there),
            _ => return,
        };
        eventually("the other side reads what was sent", || {
            process::unread(there, here).unwrap_or(0) == 0
        });
    }

    /// Reads a head up to its blank line, and keeps the bytes after it for the next read.
    ///
    /// Returns an incomplete head if the end comes first.
    pub fn read_head(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            if let Some(at) = find(&all, b"\r\n\r\n") {
                self.ahead = all.split_off(at + 4);
                return all;
            }
            let mut buffer = [0; 4096];
            match self.read(&mut buffer) {
                Ok(0) | Err(_) => return all,
                Ok(n) => all.extend_from_slice(&buffer[..n]),
            }
        }
    }

    /// Replies to a request for a tunnel with 200; returns the request's head.
    pub fn grant(&mut self) -> String {
        let head = self.read_head();
        self.send("HTTP/1.1 200 OK\r\n\r\n");
        String::from_utf8(head).expect("a head in ASCII")
    }

    /// Reads exactly `count` bytes.
    #[track_caller]
    pub fn receive(&mut self, count: usize) -> Vec<u8> {
        let mut all = vec![0; count];
        if let Err(e) = self.read_exact(&mut all) {
            panic!("expected {} bytes: {}", count, e);
        }
        all
    }

    /// Reads exactly these bytes.
    #[track_caller]
    pub fn expect(&mut self, bytes: impl AsRef<[u8]>) {
        let expected = bytes.as_ref();
        let got = self.receive(expected.len());
        assert!(
            got == expected,
            "{:?} instead of {:?}",
            String::from_utf8_lossy(&got),
            String::from_utf8_lossy(expected)
        );
    }

    /// Reads to the end, and panics unless it is an orderly one.
    #[track_caller]
    pub fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        if let Err(e) = self.read_to_end(&mut all) {
            panic!("no orderly end after {} bytes: {}", all.len(), e);
        }
        all
    }

    /// Reads to the end, orderly or by a reset.
    #[track_caller]
    pub fn rest_or_reset(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        match self.read_to_end(&mut all) {
            Err(e) if e.kind() != io::ErrorKind::ConnectionReset => {
                panic!("no end after {} bytes: {}", all.len(), e)
            }
            _ => all,
        }
    }

    /// Expects the end of the connection with no byte before it.
    #[track_caller]
    pub fn expect_nothing(&mut self) {
        let rest = self.rest_or_reset();
        let text = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty(), "{:?} instead of nothing", text);
    }

    /// Expects an orderly end with no byte before it.
    #[track_caller]
    pub fn expect_end(&mut self) {
        let rest = self.rest();
        let text = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty(), "{:?} instead of the end", text);
    }

    /// Expects a reset with no byte before it.
    #[track_caller]
    pub fn expect_reset(&mut self) {
        let mut byte = [0; 1];
        match self.read(&mut byte) {
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {}
            other => panic!("{:?} instead of a reset", other),
        }
    }

    /// Returns whether there is nothing to read now: neither bytes nor the end.
    pub fn is_quiet(&self) -> bool {
        self.stream.set_nonblocking(true).expect("a mode");
        let mut byte = [0; 1];
        let answer = self.stream.peek(&mut byte);
        self.stream.set_nonblocking(false).expect("a mode");
        self.ahead.is_empty() && matches!(answer, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Sends the end; the other direction stays open.
    pub fn finish_sending(&self) {
        // Fails if the other side has closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Ends the connection with a reset.
    pub fn reset(self) {
        sys::reset_on_close(&self.stream);
    }

    /// Sends all bytes back, and the end after them.
    pub fn echo(&mut self) {
        let mut buffer = vec![0; 65_536];
        loop {
            match self.read(&mut buffer) {
                Ok(n) if n > 0 => {
                    if self.try_send(&buffer[..n]).is_err() {
                        return;
                    }
                }
                _ => return self.finish_sending(),
            }
        }
    }

    /// Reads and discards all bytes, to the end.
    pub fn drain(&mut self) {
        let mut buffer = vec![0; 65_536];
        while let Ok(n) = self.read(&mut buffer) {
            if n == 0 {
                return;
            }
        }
    }

    /// Carries bytes between both connections, until both have ended.
    pub fn join(self, far: Connection) {
        let (mut down, mut up) = (self.handle(), far.handle());
        let (mut from, mut to) = (self, far);
        let downwards = thread::spawn(move || {
            let _ = io::copy(&mut up, &mut down);
            down.finish_sending();
        });
        let _ = io::copy(&mut from, &mut to);
        to.finish_sending();
        downwards.join().unwrap();
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ahead.is_empty() {
            return self.stream.read(buffer);
        }
        let count = self.ahead.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.ahead[..count]);
        self.ahead.drain(..count);
        Ok(count)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

/// A listener that runs a script with each connection, on a separate thread.
///
/// A script that panics fails the test when the peer is dropped.
pub struct Peer {
    address: SocketAddr,
    /// Keeps the port to the end: no other program must get the connection that ends the thread.
    _listener: TcpListener,
    accepted: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    failures: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Peer {
    /// Starts on a free port of 127.0.0.1.
    pub fn start<S>(script: S) -> Peer
    where
        S: Fn(Connection) + Send + Sync + 'static,
    {
        Peer::start_on("127.0.0.1:0".parse().unwrap(), script)
    }

    pub fn start_on<S>(address: SocketAddr, script: S) -> Peer
    where
        S: Fn(Connection) + Send + Sync + 'static,
    {
        let listener = TcpListener::bind(address);
        let listener = listener.unwrap_or_else(|e| panic!("binding {}: {}", address, e));
        Peer::accept_from(listener, script)
    }

    /// Starts on a listener that the test made.
    pub fn accept_from<S>(listener: TcpListener, script: S) -> Peer
    where
        S: Fn(Connection) + Send + Sync + 'static,
    {
        let address = listener.local_addr().expect("an address");
        let held = listener.try_clone().expect("a descriptor");
        let accepted = Arc::new(AtomicUsize::new(0));
        let failures = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let accepting = {
            let (accepted, failures, stop) = (accepted.clone(), failures.clone(), stop.clone());
            let script = Arc::new(script);
            thread::spawn(move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let stream = match stream {
                        Ok(stream) => stream,
                        Err(_) => continue,
                    };
                    let number = accepted.fetch_add(1, Ordering::SeqCst);
                    let (failures, script) = (failures.clone(), script.clone());
                    thread::spawn(move || {
                        let connection = Connection::new(stream, number);
                        let run = AssertUnwindSafe(|| script(connection));
                        if let Err(cause) = panic::catch_unwind(run) {
                            let text = cause.downcast_ref::<String>().cloned();
                            let text = text.unwrap_or_else(|| "a fixed text".to_string());
                            failures.lock().unwrap().push(text);
                        }
                    });
                }
            })
        };
        Peer {
            address,
            _listener: held,
            accepted,
            heads: Arc::new(Mutex::new(Vec::new())),
            failures,
            stop,
            accepting: Some(accepting),
        }
    }

    /// Starts a proxy that keeps each request's head, and leaves the reply to the script.
    pub fn proxy<S>(script: S) -> Peer
    where
        S: Fn(Connection) + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Peer::proxy_from(listener, script)
    }

    /// Starts a proxy like `proxy` on a listener that the test made.
    pub fn proxy_from<S>(listener: TcpListener, script: S) -> Peer
    where
        S: Fn(Connection) + Send + Sync + 'static,
    {
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = heads.clone();
        let mut peer = Peer::accept_from(listener, move |mut connection| {
            let head = connection.read_head();
            kept.lock()
                .unwrap()
                .push(String::from_utf8_lossy(&head).into_owned());
            script(connection);
        });
        peer.heads = heads;
        peer
    }

    /// Starts a proxy that grants each tunnel; the script then plays the destination.
    pub fn granting<S>(script: S) -> Peer
    where
        S: Fn(Connection) + Send + Sync + 'static,
    {
        Peer::proxy(move |mut connection| {
            connection.send("HTTP/1.1 200 OK\r\n\r\n");
            script(connection);
        })
    }

    /// Starts an echoing proxy that requires Digest, and closes the connection of the challenge.
    pub fn closing_at_its_challenge() -> Peer {
        Peer::start(|mut connection| {
            let head = String::from_utf8(connection.read_head()).unwrap();
            if head.contains("Proxy-Authorization: Digest ") {
                connection.send("HTTP/1.1 200 OK\r\n\r\n");
                connection.echo();
            } else {
                connection.send(
                    "HTTP/1.1 407 Who are you\r\nConnection: close\r\n\
                     Proxy-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n\r\n",
                );
                connection.finish_sending();
                connection.drain();
            }
        })
    }

    /// Starts a proxy that grants each tunnel to an echo.
    pub fn echoing() -> Peer {
        Peer::granting(|mut connection| connection.echo())
    }

    /// Starts a proxy that sends this reply to any request, and then its end.
    pub fn replying(reply: impl Into<Vec<u8>>) -> Peer {
        let reply = reply.into();
        Peer::proxy(move |mut connection| {
            let _ = connection.try_send(&reply);
            connection.finish_sending();
            connection.drain();
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the number of accepted connections.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Returns the heads of the requests so far, in their order.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Returns the head of the only request.
    #[track_caller]
    pub fn head(&self) -> String {
        eventually("a request", || !self.heads().is_empty());
        let heads = self.heads();
        assert_eq!(heads.len(), 1, "{:?}", heads);
        heads[0].clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread from accept.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(5));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        let failures = self.failures.lock().unwrap();
        if !failures.is_empty() && !thread::panicking() {
            panic!("a peer's script failed: {:?}", *failures);
        }
    }
}

/// Returns an address of this machine on which no socket listens: a connection is refused at once.
pub fn closed_address() -> SocketAddr {
    SocketAddr::new("127.0.0.1".parse().unwrap(), free_port())
}

/// An address at which connections are neither accepted nor refused: the backlog is full, and stays
/// full.
pub struct Blackhole {
    listener: TcpListener,
    waiting: Vec<TcpStream>,
}

impl Blackhole {
    pub fn start() -> Blackhole {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        sys::set_backlog(&listener, 0);
        let address = listener.local_addr().expect("an address");
        let mut waiting = Vec::new();
        // A queue of length 0 holds one connection; the first that has to wait shows that it is
        // full.
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
            waiting.push(stream);
            assert!(waiting.len() < 100, "the backlog does not fill");
        }
        Blackhole { listener, waiting }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("an address")
    }

    /// Returns the listener, which accepts connections from now on.
    pub fn wake(self) -> TcpListener {
        sys::set_backlog(&self.listener, 128);
        for _ in self.waiting {
            self.listener.accept().expect("a connection");
        }
        self.listener
    }
}
