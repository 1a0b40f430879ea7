//! `--test`: the way to a destination, step by step, each with its time, and what to try when one
//! fails.
//!
//! Plain blocking code beside every engine: what is looked at is the network, the proxy and our
//! credentials, and a step is timed best when nothing else is going on. What is sent, and what a
//! reply means, is [`proto`](crate::proto)'s, as it is for a tunnel; so is the order of the proxies
//! [`upstream`](crate::upstream)'s.

mod advice;
mod dial;
mod stream;
mod walk;

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Read, Stdout, Write};
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use self::advice::Advice;
pub(crate) use self::stream::{DeadlineStream, Stream};
pub(crate) use self::walk::{Opened, Probe};
use crate::config::{Config, Destination, ProxySpec};
use crate::error::Error;
use crate::text::escape::{excerpt, Escaped};
use crate::upstream::{Hop, ProxyChain, ProxySelector, Tunnel, UpstreamPath};

/// How long a destination has to speak first. Whoever hasn't by then waits for us to.
const GREETING: Duration = Duration::from_secs(2);

/// What is done after the other on the way to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The PAC file says which way.
    Pac,
    /// A name becomes addresses.
    Name,
    /// One of them takes a connection.
    Connection,
    /// The proxy's certificate is looked at, or the destination's.
    #[cfg(feature = "tls")]
    Tls,
    /// The proxy is asked for the destination, with HTTP's method of that name.
    Connect,
    /// The same in SOCKS5.
    Socks5,
    /// The same in SOCKS4.
    Socks4,
    /// It is answered who we are.
    Authentication,
    /// The destination speaks.
    FirstByte,
}

impl Step {
    fn label(self) -> &'static str {
        match self {
            Step::Pac => "pac",
            Step::Name => "name",
            Step::Connection => "connection",
            #[cfg(feature = "tls")]
            Step::Tls => "TLS",
            Step::Connect => "CONNECT",
            Step::Socks5 => "SOCKS5",
            Step::Socks4 => "SOCKS4",
            Step::Authentication => "authentication",
            Step::FirstByte => "first byte",
        }
    }

    /// Whether what comes after it is said in TLS.
    fn secures(self) -> bool {
        match self {
            #[cfg(feature = "tls")]
            Step::Tls => true,
            _ => false,
        }
    }
}

/// Who is told how a [`Probe`] goes.
pub(crate) trait Observer {
    /// A way is tried: through this proxy, or directly.
    fn sets_out(&mut self, _way: &UpstreamPath) {}

    /// In a chain, this proxy is turned to now.
    fn turns_to(&mut self, _hop: &Hop) {}

    /// It is on this step now.
    fn begins(&mut self, _step: Step) {}

    /// The step was done, and this is what came of it.
    fn is_done(&mut self, _what: &dyn fmt::Display) {}

    /// The step failed, and with it this way.
    fn gives_up(&mut self, _why: &Error) {}
}

/// Walks to every destination of the configuration, and tells of it on stdout; returns the exit
/// code: that of the first one that can't be reached.
///
/// # Errors
///
/// When nothing can be told on stdout.
pub fn run(config: &Config) -> Result<i32, Error> {
    let gateway = ProxySelector::new(config.route.clone());
    let mut code = 0;
    for destination in config.destinations() {
        let mut account = Transcript::new();
        let answer = walk(config, &gateway, destination, &mut account);
        let failed = account.close(answer);
        account
            .told
            .map_err(|e| Error::other("cannot write to stdout", e))?;
        if code == 0 {
            code = failed;
        }
    }
    Ok(code)
}

/// To the destination's first byte; returns by which way.
fn walk(
    config: &Config,
    gateway: &ProxySelector,
    destination: &Destination,
    account: &mut Transcript,
) -> Result<UpstreamPath, Error> {
    let tunnel = Tunnel::new(destination.clone(), gateway);
    account.title(destination);
    let mut opened = Probe::new(&config.timeouts, account).open(&tunnel)?;
    account.begins(Step::FirstByte);
    account.is_done(&greeting(&mut opened, destination)?);
    Ok(opened.via)
}

/// What the destination says first, as text for a terminal.
fn greeting(opened: &mut Opened, destination: &Destination) -> Result<String, Error> {
    let Opened { stream, early, .. } = opened;
    if !early.is_empty() {
        return Ok(format!("{}, with the proxy's reply", quoted(early)));
    }
    stream.limit(GREETING);
    let mut piece = [0; 256];
    match stream.read(&mut piece) {
        Ok(0) => Err(Error::cut(destination, "it ended before any byte")),
        Ok(count) => Ok(quoted(&piece[..count])),
        Err(ref e) if e.kind() == ErrorKind::TimedOut => {
            Ok("none: connected, and the server waits for us to speak".into())
        }
        Err(e) => Err(Error::cut(destination, e)),
    }
}

/// The first line, as far as it is worth showing.
fn quoted(bytes: &[u8]) -> String {
    let is_end = |byte: &u8| *byte == b'\r' || *byte == b'\n';
    let first = bytes.split(is_end).next().unwrap_or_default();
    let text = Escaped(first).to_string();
    format!("\"{}\"", excerpt(&text))
}

/// The story of one walk, as it is told on stdout.
struct Transcript {
    out: Stdout,
    /// Whether somebody waits before it, who shall see for what.
    is_watched: bool,
    start: Instant,
    /// The way that it is on.
    via: Option<UpstreamPath>,
    /// Where on it, in a chain.
    hop: Option<Hop>,
    /// Under way, and since when.
    step: Option<(Step, Instant)>,
    /// There is TLS with the proxy that is asked.
    is_secure: bool,
    /// Whether all of it could be written.
    told: io::Result<()>,
}

impl Transcript {
    fn new() -> Transcript {
        Transcript {
            out: io::stdout(),
            is_watched: is_character_device("/dev/fd/1"),
            start: Instant::now(),
            via: None,
            hop: None,
            step: None,
            is_secure: false,
            told: Ok(()),
        }
    }

    fn title(&mut self, destination: &Destination) {
        self.begin_line(format_args!("testing {}\n", destination));
    }

    /// Begins a line when those of the log that came before are written: they would come between
    /// its beginning and its end.
    fn begin_line(&mut self, what: fmt::Arguments<'_>) {
        log::logger().flush();
        self.tell(what);
    }

    fn tell(&mut self, what: fmt::Arguments<'_>) {
        if self.told.is_ok() {
            self.told = self.out.write_fmt(what).and_then(|()| self.out.flush());
        }
    }

    /// Ends the line of a step.
    fn end_step(&mut self, what: &dyn fmt::Display) -> Option<Step> {
        let (step, since) = self.step.take()?;
        let rest = format_args!("{:>10}  {}\n", Millis(since.elapsed()), what).to_string();
        if self.is_watched {
            self.tell(format_args!("{}", rest));
        } else {
            // In one piece, which the log can't tear.
            self.begin_line(format_args!("{}{}", margin(step), rest));
        }
        Some(step)
    }

    /// Says how it went in all; returns the exit code that this walk calls for.
    fn close(&mut self, answer: Result<UpstreamPath, Error>) -> i32 {
        match answer {
            Ok(via) => {
                let all = Millis(self.start.elapsed());
                self.begin_line(format_args!("works {}, {} in all\n", via, all));
                0
            }
            Err(e) => {
                self.gives_up(&e);
                self.begin_line(format_args!("does not work\n"));
                e.exit_code()
            }
        }
    }
}

impl Observer for Transcript {
    fn sets_out(&mut self, way: &UpstreamPath) {
        self.via = Some(way.clone());
        self.hop = None;
        self.is_secure = false;
        self.begin_line(format_args!("{}\n", way));
    }

    fn turns_to(&mut self, hop: &Hop) {
        self.hop = Some(hop.clone());
        self.is_secure = false;
        self.begin_line(format_args!("asking {} for {}\n", hop.spec(), hop.target()));
    }

    fn begins(&mut self, step: Step) {
        self.step = Some((step, Instant::now()));
        self.is_secure |= step.secures();
        if self.is_watched {
            self.begin_line(format_args!("{}", margin(step)));
        }
    }

    fn is_done(&mut self, what: &dyn fmt::Display) {
        self.end_step(what);
    }

    fn gives_up(&mut self, why: &Error) {
        let step = self.end_step(&format_args!("FAILED: {}", why));
        let before: Vec<&ProxySpec> = if why.is_of_destinations_tls() {
            let way = self.via.as_ref().and_then(UpstreamPath::proxy);
            way.into_iter().flat_map(ProxyChain::proxies).collect()
        } else {
            self.hop.iter().flat_map(Hop::before).collect()
        };
        let is_secure = self.is_secure;
        if let Some(advice) = step.and_then(|step| Advice::after(step, is_secure, why, &before)) {
            self.tell(format_args!("  {:<26}try: {}\n", "", advice));
        }
    }
}

/// How the line of a step begins.
fn margin(step: Step) -> String {
    format!("  {:<14}", step.label())
}

/// As a terminal is one; /dev/null, too, where it makes no difference.
fn is_character_device(path: &str) -> bool {
    fs::metadata(path).map_or(false, |metadata| metadata.file_type().is_char_device())
}

/// Milliseconds with a tenth: `12.3 ms`.
struct Millis(Duration);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.1} ms", self.0.as_secs_f64() * 1e3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_one_line_that_no_terminal_obeys() {
        assert_eq!(quoted(b"SSH-2.0-OpenSSH\r\nmore"), "\"SSH-2.0-OpenSSH\"");
        assert_eq!(quoted(b"a\x1b[2J\xff"), "\"a\\x1b[2J\\xff\"");
    }

    #[test]
    fn times_stand_under_each_other() {
        let shown = format!("{:>10}|", Millis(Duration::from_micros(12_345)));
        assert_eq!(shown, "   12.3 ms|");
    }
}
