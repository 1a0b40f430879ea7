//! `--demo`: a proxy, an origin and a tunnel between them, in one process, on loopback.
//!
//! One reactor runs both the tunnel and the embedded proxy. The origin and the client are plain
//! blocking code and use nothing else of ptunnel.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use ptunnel_core::config::{Config, ProxySpec, ServeSpec};
use ptunnel_core::error::Error;
use ptunnel_core::inbound::policy::Policy;
use ptunnel_core::listener::bind::BoundListener;
use ptunnel_core::listener::kind::ListenerKind;
use ptunnel_core::listener::settings::ListenerHandle;
use ptunnel_core::upstream::Tunnel;
use ptunnel_proto::values::{Bind, Host, HostPort};

use crate::io::BoundSocket;
use crate::server::Reactor;
use crate::shutdown::Leader;
use crate::{Permits, Settings};

/// Bytes carried in each direction.
const BULK: usize = 64 << 20;

/// Bytes that the client and the origin read or write at once.
const CHUNK: usize = 256 * 1024;

/// Time limit of a read or write; after it the step has failed.
const TIMEOUT: Duration = Duration::from_secs(60);

const GREETING: &[u8] = b"Hello from the other side of the proxy\n";

/// Runs the demo, and prints each step with its time on stdout.
///
/// # Errors
///
/// The error of the step that failed.
pub(crate) fn run(config: &Config) -> Result<(), Error> {
    let settings = Settings::of(config);
    carry(|listeners| {
        let (leader, stop) = Leader::new();
        let reactor = thread::spawn(move || {
            let reactor = Reactor::new(settings, Permits::new(None), &stop)?;
            reactor.accept(listeners)?;
            reactor.follow(&stop)
        });
        move || {
            drop(leader);
            reactor
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
    })
}

/// Carries bytes through the proxy and the tunnel that `serve` starts, on other threads; it returns a
/// function that stops it and returns its result.
fn carry<S>(serve: impl FnOnce(Vec<BoundListener<BoundSocket>>) -> S) -> Result<(), Error>
where
    S: FnOnce() -> Result<(), Error>,
{
    let step = |what: &'static str| move |e| Error::other(format!("demo: {}", what), e);
    let origin = start_origin().map_err(step("cannot start the origin"))?;
    report("origin", format_args!("an HTTP server on {}", origin));

    let (proxy_socket, proxy) = listen().map_err(step("cannot listen"))?;
    report(
        "proxy",
        format_args!("the embedded CONNECT proxy on {}", proxy),
    );

    let (tunnel_socket, address) = listen().map_err(step("cannot listen"))?;
    let tunnel = Tunnel::to(origin.into())
        .through(ProxySpec::from(HostPort::from(proxy)))
        .build();
    report("tunnel", format_args!("{} for {}", address, tunnel));

    let stop = serve(vec![
        BoundListener::new(
            ListenerHandle::new(ListenerKind::Proxy(Policy::new(loopback_proxy()))),
            proxy_socket,
        ),
        BoundListener::new(
            ListenerHandle::new(ListenerKind::Tunnel(tunnel)),
            tunnel_socket,
        ),
    ]);
    let checked = greet(address)
        .and_then(|()| download(address))
        .and_then(|()| upload(address))
        .map_err(step("the tunnel failed"));
    let ended = stop();
    checked.and(ended)?;
    report("done", format_args!("every byte arrived as it was sent"));
    Ok(())
}

fn report(step: &str, what: fmt::Arguments<'_>) {
    // Fails if stdout is closed; the exit code still reports the result.
    let _ = writeln!(io::stdout(), "{:<9}{}", step, what);
}

fn listen() -> io::Result<(BoundSocket, SocketAddr)> {
    let listening = BoundSocket::bind(&SocketAddr::from(([127, 0, 0, 1], 0)), false, None)?;
    let address = listening.local_addr()?;
    Ok((listening, address))
}

fn loopback_proxy() -> ServeSpec {
    ServeSpec {
        bind: Bind::Host(Host::Ip([127, 0, 0, 1].into())),
        port: 0,
        credentials: None,
        allow: Vec::new(),
    }
}

/// Requests the greeting as an HTTP client does, and checks each byte.
fn greet(address: SocketAddr) -> io::Result<()> {
    let start = Instant::now();
    let mut answer = ask(address, "GET /", 0)?;
    let mut body = Vec::new();
    answer.read_to_end(&mut body)?;
    check(body == GREETING, "the greeting differs")?;
    let length = GREETING.len();
    report(
        "request",
        format_args!("GET / returned {} bytes in {:.1?}", length, start.elapsed()),
    );
    Ok(())
}

fn download(address: SocketAddr) -> io::Result<()> {
    let start = Instant::now();
    let mut answer = ask(address, "GET /bulk", 0)?;
    DemoPattern::default().check(&mut answer)?;
    report("download", format_args!("{}", Rate(start.elapsed())));
    Ok(())
}

fn upload(address: SocketAddr) -> io::Result<()> {
    let start = Instant::now();
    let mut answer = ask(address, "POST /bulk", BULK)?;
    DemoPattern::default().write(answer.get_mut())?;
    answer.get_mut().shutdown(std::net::Shutdown::Write)?;
    let mut verdict = String::new();
    answer.read_to_string(&mut verdict)?;
    check(verdict == "same", "the origin received other bytes")?;
    report("upload", format_args!("{}", Rate(start.elapsed())));
    Ok(())
}

/// Sends the head of a request and reads the head of the reply.
fn ask(address: SocketAddr, what: &str, length: usize) -> io::Result<BufReader<TcpStream>> {
    let mut stream = with_timeout(TcpStream::connect(address)?)?;
    write!(
        stream,
        "{} HTTP/1.0\r\nContent-Length: {}\r\n\r\n",
        what, length
    )?;
    let mut answer = BufReader::with_capacity(CHUNK, stream);
    if length == 0 {
        let status = read_head(&mut answer)?;
        check(
            status.starts_with("HTTP/1.0 200 "),
            "the origin didn't reply 200",
        )?;
    }
    Ok(answer)
}

/// Starts the origin: a thread per connection, three resources.
fn start_origin() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // If this fails, the client misses bytes and reports that.
            thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream) -> io::Result<()> {
    let mut request = BufReader::with_capacity(CHUNK, with_timeout(stream)?);
    let head = read_head(&mut request)?;
    if head.starts_with("POST ") {
        let verdict = DemoPattern::default().check(&mut request);
        let text = verdict.map_or("different", |()| "same");
        return request.get_mut().write_all(text.as_bytes());
    }
    let stream = request.get_mut();
    stream.write_all(b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n")?;
    if head.starts_with("GET /bulk ") {
        DemoPattern::default().write(stream)
    } else {
        stream.write_all(GREETING)
    }
}

/// Reads a head, and returns its first line.
fn read_head(stream: &mut impl BufRead) -> io::Result<String> {
    let mut first = String::new();
    stream.read_line(&mut first)?;
    let mut line = String::new();
    while stream.read_line(&mut line)? > 2 {
        line.clear();
    }
    Ok(first)
}

fn with_timeout(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

fn check(right: bool, what: &str) -> io::Result<()> {
    if right {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

/// [`BULK`] bytes without two equal blocks, so that a lost, doubled or swapped block is noticed.
#[derive(Default)]
struct DemoPattern {
    chunk: Vec<u8>,
    made: usize,
}

impl DemoPattern {
    fn next(&mut self) -> Option<&[u8]> {
        if self.made == BULK {
            return None;
        }
        self.chunk.clear();
        let words = (self.made / 8..(self.made + CHUNK) / 8).map(|word| word as u64);
        for word in words {
            self.chunk.extend_from_slice(&word.to_le_bytes());
        }
        self.made += CHUNK;
        Some(&self.chunk)
    }

    fn write(mut self, to: &mut impl Write) -> io::Result<()> {
        while let Some(chunk) = self.next() {
            to.write_all(chunk)?;
        }
        Ok(())
    }

    fn check(mut self, from: &mut impl Read) -> io::Result<()> {
        let mut received = vec![0; CHUNK];
        while let Some(chunk) = self.next() {
            from.read_exact(&mut received)?;
            check(received == chunk, "bytes differ from those that were sent")?;
        }
        check(
            from.read(&mut [0])? == 0,
            "more bytes arrived than were sent",
        )
    }
}

/// The time in which [`BULK`] was carried, shown as a rate.
struct Rate(Duration);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = BULK >> 20;
        let rate = mebibytes as f64 / self.0.as_secs_f64();
        write!(
            f,
            "{} MiB in {:.1?}, {:.0} MiB/s, each byte checked",
            mebibytes, self.0, rate
        )
    }
}
