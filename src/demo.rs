//! `--demo`: a proxy, an origin and a tunnel between them, in one process, on loopback.
//!
//! The tunnel and the proxy are the real ones, on whichever engine shows itself. The origin and the
//! client are plain blocking code: they stand for programs that know nothing of ptunnel.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::config::{Bind, Host, HostPort, ProxySpec, ServeSpec};
use crate::error::Error;
use crate::inbound::policy::Policy;
use crate::listener::bind::{BoundListener, Listen};
use crate::listener::kind::ListenerKind;
use crate::listener::settings::ListenerHandle;
use crate::upstream::Tunnel;

/// Bytes carried in each direction.
const BULK: usize = 64 << 20;

/// What the client and the origin read and write at once.
const CHUNK: usize = 256 * 1024;

/// A step that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

const GREETING: &[u8] = b"Hello from the other side of the proxy\n";

/// Shows every step with its time on stdout.
///
/// `serve` is the engine: it starts to serve these listeners, on threads of its own, and returns
/// what stops it, and tells how that went.
///
/// # Errors
///
/// The step that failed, and how.
pub fn run<L, S>(serve: impl FnOnce(Vec<BoundListener<L>>) -> S) -> Result<(), Error>
where
    L: Listen,
    S: FnOnce() -> Result<(), Error>,
{
    let step = |what: &'static str| move |e| Error::other(format!("demo: {}", what), e);
    let origin = start_origin().map_err(step("cannot start the origin"))?;
    tell("origin", format_args!("an HTTP server on {}", origin));

    let (at_proxy, proxy) = listen::<L>().map_err(step("cannot listen"))?;
    tell(
        "proxy",
        format_args!("the embedded CONNECT proxy on {}", proxy),
    );

    let (at_entrance, entrance) = listen::<L>().map_err(step("cannot listen"))?;
    let tunnel = Tunnel::to(origin.into())
        .through(ProxySpec::from(HostPort::from(proxy)))
        .build();
    tell("tunnel", format_args!("{} for {}", entrance, tunnel));

    let stop = serve(vec![
        BoundListener::new(
            ListenerHandle::new(ListenerKind::Proxy(Policy::new(loopback_proxy()))),
            at_proxy,
        ),
        BoundListener::new(
            ListenerHandle::new(ListenerKind::Tunnel(tunnel)),
            at_entrance,
        ),
    ]);
    let checked = greet(entrance)
        .and_then(|()| download(entrance))
        .and_then(|()| upload(entrance))
        .map_err(step("the tunnel failed"));
    let ended = stop();
    checked.and(ended)?;
    tell("done", format_args!("every byte arrived as it was sent"));
    Ok(())
}

fn tell(step: &str, what: fmt::Arguments<'_>) {
    // Nobody may be reading any more; the exit code still tells.
    let _ = writeln!(io::stdout(), "{:<9}{}", step, what);
}

fn listen<L: Listen>() -> io::Result<(L, SocketAddr)> {
    let listening = L::bind(&SocketAddr::from(([127, 0, 0, 1], 0)), false, None)?;
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

/// The client's part: what an HTTP client does, and a check of each byte.
fn greet(entrance: SocketAddr) -> io::Result<()> {
    let start = Instant::now();
    let mut answer = ask(entrance, "GET /", 0)?;
    let mut body = Vec::new();
    answer.read_to_end(&mut body)?;
    check(body == GREETING, "the greeting differs")?;
    let length = GREETING.len();
    tell(
        "request",
        format_args!(
            "GET / answered with {} bytes in {:.1?}",
            length,
            start.elapsed()
        ),
    );
    Ok(())
}

fn download(entrance: SocketAddr) -> io::Result<()> {
    let start = Instant::now();
    let mut answer = ask(entrance, "GET /bulk", 0)?;
    Pattern::default().check(&mut answer)?;
    tell("download", format_args!("{}", Rate(start.elapsed())));
    Ok(())
}

fn upload(entrance: SocketAddr) -> io::Result<()> {
    let start = Instant::now();
    let mut answer = ask(entrance, "POST /bulk", BULK)?;
    Pattern::default().write(answer.get_mut())?;
    answer.get_mut().shutdown(std::net::Shutdown::Write)?;
    let mut verdict = String::new();
    answer.read_to_string(&mut verdict)?;
    check(verdict == "same", "the origin received other bytes")?;
    tell("upload", format_args!("{}", Rate(start.elapsed())));
    Ok(())
}

/// Sends a request's head and reads its answer's.
fn ask(entrance: SocketAddr, what: &str, length: usize) -> io::Result<BufReader<TcpStream>> {
    let mut stream = patient(TcpStream::connect(entrance)?)?;
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
            "the origin did not answer 200",
        )?;
    }
    Ok(answer)
}

/// The origin: one thread a connection, three answers.
fn start_origin() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that fails is told by what it doesn't receive.
            thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream) -> io::Result<()> {
    let mut request = BufReader::with_capacity(CHUNK, patient(stream)?);
    let head = read_head(&mut request)?;
    if head.starts_with("POST ") {
        let verdict = Pattern::default().check(&mut request);
        let text = verdict.map_or("different", |()| "same");
        return request.get_mut().write_all(text.as_bytes());
    }
    let stream = request.get_mut();
    stream.write_all(b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n")?;
    if head.starts_with("GET /bulk ") {
        Pattern::default().write(stream)
    } else {
        stream.write_all(GREETING)
    }
}

/// The first line of a head, the rest of which is read and left aside.
fn read_head(stream: &mut impl BufRead) -> io::Result<String> {
    let mut first = String::new();
    stream.read_line(&mut first)?;
    let mut line = String::new();
    while stream.read_line(&mut line)? > 2 {
        line.clear();
    }
    Ok(first)
}

fn patient(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn check(right: bool, what: &str) -> io::Result<()> {
    if right {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    }
}

/// [`BULK`] bytes of which no two blocks are alike: a lost, doubled or swapped one shows.
#[derive(Default)]
struct Pattern {
    chunk: Vec<u8>,
    made: usize,
}

impl Pattern {
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
        check(from.read(&mut [0])? == 0, "more bytes came than were sent")
    }
}

/// How fast [`BULK`] went.
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
