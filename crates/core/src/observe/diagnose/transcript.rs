//! The observer of `--test`, which prints each step.

use std::fmt;
use std::fs;
use std::io::{self, Stdout, Write};
use std::mem;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

#[cfg(feature = "tls")]
use openssl::ssl::NameType;

use super::advice::Advice;
use super::{Observer, PathEvent, TestStep};
use crate::config::{Destination, ProxySpec};
use crate::error::Error;
use crate::upstream::{Hop, ProxyChain};
use ptunnel_proto::text::escape::shown;
use ptunnel_proto::values::{Host, HostPort, Protocol};
use ptunnel_proto::{AuthMethod, Negotiation};

/// Prints the test of one destination on stdout.
pub(super) struct Transcript {
    out: Stdout,
    /// Whether stdout is a terminal. There a step's name is printed when the step starts.
    is_terminal: bool,
    start: Instant,
    /// The path that is being tried.
    path: Option<ProxyChain>,
    /// The current hop.
    hop: Option<Hop>,
    /// The hops whose proxy wants another connection, each as the number of proxies before it.
    redialed: Vec<usize>,
    /// The authentication method that was used with the current hop.
    auth: Option<AuthMethod>,
    /// The current step and its start.
    step: Option<(TestStep, Instant)>,
    /// Whether the current hop uses TLS.
    is_secure: bool,
    /// Whether the proxy of the current hop has replied to a message.
    has_replied: bool,
    /// Whether the last path has failed and its error has been printed.
    has_failed: bool,
    /// The first error of writing.
    written: io::Result<()>,
}

impl Transcript {
    /// Begins the test of a destination, and prints the first line.
    pub(super) fn new(destination: &Destination) -> Transcript {
        let mut transcript = Transcript {
            out: io::stdout(),
            is_terminal: is_character_device("/dev/fd/1"),
            start: Instant::now(),
            path: None,
            hop: None,
            redialed: Vec::new(),
            auth: None,
            step: None,
            is_secure: false,
            has_replied: false,
            has_failed: false,
            written: Ok(()),
        };
        transcript.start_line(format_args!("testing {}\n", destination));
        transcript
    }

    /// Starts a line after writing all earlier log lines, which could otherwise split it.
    fn start_line(&mut self, what: fmt::Arguments<'_>) {
        log::logger().flush();
        self.print(what);
    }

    fn print(&mut self, what: fmt::Arguments<'_>) {
        if self.written.is_ok() {
            self.written = self.out.write_fmt(what).and_then(|()| self.out.flush());
        }
    }

    fn start_step(&mut self, step: TestStep) {
        self.step = Some((step, Instant::now()));
        if self.is_terminal {
            self.start_line(format_args!("{}", margin(step)));
        }
    }

    /// Prints the rest of a step's line; returns the step.
    fn end_step(&mut self, what: &dyn fmt::Display) -> Option<TestStep> {
        let (step, since) = self.step.take()?;
        let rest = format_args!("{:>10}  {}\n", Millis(since.elapsed()), what).to_string();
        if self.is_terminal {
            self.print(format_args!("{}", rest));
        } else {
            // With one write, which log lines can't split.
            self.start_line(format_args!("{}{}", margin(step), rest));
        }
        Some(step)
    }

    fn start_path(&mut self, path: &ProxyChain) {
        self.has_failed = false;
        self.path = Some(path.clone());
        self.hop = None;
        self.redialed.clear();
        self.is_secure = false;
        self.start_line(format_args!("{}\n", path));
    }

    fn start_hop(&mut self, hop: &Hop) {
        self.is_secure = false;
        self.has_replied = false;
        if hop.is_of_chain() {
            self.start_line(format_args!("asking {} for {}\n", hop.spec(), hop.target()));
        }
        self.hop = Some(hop.clone());
    }

    fn end_lookup(&mut self, address: &HostPort, found: &[SocketAddr]) {
        match &address.host {
            Host::Ip(_) => self.end_step(&"an address, no lookup needed"),
            Host::Name(name) => {
                let ips: Vec<String> = found.iter().map(|found| found.ip().to_string()).collect();
                self.end_step(&format_args!("{} is {}", name, ips.join(", ")))
            }
        };
        self.start_step(TestStep::Connection);
    }

    fn start_negotiation(&mut self, negotiation: &Negotiation) {
        let (protocol, index) = match &self.hop {
            Some(hop) => (hop.spec().protocol, hop.before().count()),
            None => return,
        };
        self.auth = negotiation.auth_method();
        let step = match protocol {
            _ if self.redialed.last() == Some(&index) => {
                self.redialed.pop();
                TestStep::Authentication
            }
            Protocol::Http => TestStep::Connect,
            Protocol::Socks5(_) => TestStep::Socks5,
            Protocol::Socks4(_) => TestStep::Socks4,
        };
        self.start_step(step);
    }

    fn repeat_request(&mut self, negotiation: &Negotiation) {
        self.has_replied = true;
        if let Some(auth) = negotiation.auth_method() {
            self.auth = Some(auth);
            self.end_step(&AuthRequested(auth));
            self.start_step(TestStep::Authentication);
        }
    }

    fn start_redial(&mut self, negotiation: &Negotiation) {
        self.redialed
            .extend(self.hop.iter().map(|hop| hop.before().count()));
        match (negotiation.checked_with(), negotiation.auth_method()) {
            (Some(other), _) => self.end_step(&format_args!(
                "refused; asking for {}, which the proxy granted before",
                other
            )),
            (None, Some(auth)) => self.end_step(&format_args!(
                "{}, on a new connection",
                AuthRequested(auth)
            )),
            (None, None) => self.end_step(&"the proxy requires a new connection"),
        };
    }

    /// Prints the grant, and whether credentials were requested, sent at once, or not needed.
    fn end_negotiation(&mut self) {
        let credentials = self
            .hop
            .as_ref()
            .and_then(|hop| hop.spec().credentials.as_ref());
        // A ticket's user isn't known.
        let user = credentials.map_or(String::new(), |known| format!(", as {}", known.user()));
        let is_requested = matches!(self.step, Some((TestStep::Authentication, _)));
        if let Some(auth) = self.auth.filter(|_| is_requested) {
            self.end_step(&format_args!("granted{} ({})", user, auth));
            return;
        }
        self.end_step(&"granted");
        self.start_step(TestStep::Authentication);
        match self.auth {
            Some(auth) => self.end_step(&format_args!("sent with the request{} ({})", user, auth)),
            None => self.end_step(&"not required"),
        };
    }

    fn path_failed(&mut self, error: &Error) {
        let step = self.end_step(&format_args!("FAILED: {}", error));
        if step.is_none() && !self.has_failed {
            self.start_line(format_args!("FAILED: {}\n", error));
        }
        self.has_failed = true;
        let before: Vec<&ProxySpec> = if error.is_of_destinations_tls() {
            self.path.iter().flat_map(ProxyChain::proxies).collect()
        } else {
            self.hop.iter().flat_map(Hop::before).collect()
        };
        let (is_secure, has_replied) = (self.is_secure, self.has_replied);
        let is_direct = self.path.iter().flat_map(ProxyChain::proxies).count() == 0;
        let advise = |step| Advice::after(step, is_secure, has_replied, is_direct, error, &before);
        if let Some(advice) = step.and_then(advise) {
            self.print(format_args!("  {:<26}try: {}\n", "", advice));
        }
    }

    /// Prints the destination's greeting and the last line; returns the exit code.
    ///
    /// # Errors
    ///
    /// The first error of writing to stdout.
    pub(super) fn finish(
        &mut self,
        result: Result<(ProxyChain, String), Error>,
    ) -> io::Result<i32> {
        let exit_code = match result {
            Ok((path, greeting)) => {
                self.end_step(&greeting);
                let all = Millis(self.start.elapsed());
                self.start_line(format_args!("works {}, {} in total\n", path, all));
                0
            }
            Err(e) => {
                self.path_failed(&e);
                self.start_line(format_args!("does not work\n"));
                e.exit_code()
            }
        };
        mem::replace(&mut self.written, Ok(())).map(|()| exit_code)
    }
}

impl Observer for Transcript {
    fn observe(&mut self, event: PathEvent<'_>) {
        match event {
            PathEvent::PacStarted => self.start_step(TestStep::Pac),
            PathEvent::PacAnswered(tunnel, answer) => {
                let answer = match answer.trim() {
                    "" => "nothing, which means DIRECT".to_string(),
                    answer => shown(answer),
                };
                let file = tunnel.selector().route().pac.as_ref();
                let name = file.map_or("", |file| &file.name[..]);
                self.end_step(&format_args!("{} returns {}", name, answer));
            }
            PathEvent::PathStarted(path) => self.start_path(path),
            PathEvent::PathFailed(error) => self.path_failed(error),
            PathEvent::LookupStarted => self.start_step(TestStep::Name),
            PathEvent::Located(hop) => {
                if let Host::Ip(ip) = &hop.requested().host {
                    self.end_step(&format_args!("{} is {}", hop.target().host, ip));
                }
            }
            PathEvent::Resolved(address, found) => self.end_lookup(address, found),
            PathEvent::Connected(Some((to, from))) => {
                self.end_step(&format_args!("{} from {}", to, from));
            }
            // The connection has already been reset; the next step fails.
            PathEvent::Connected(None) => {
                self.end_step(&"connected");
            }
            PathEvent::HopStarted(hop) => self.start_hop(hop),
            #[cfg(feature = "tls")]
            PathEvent::TlsStarted => {
                self.is_secure = true;
                self.start_step(TestStep::Tls);
            }
            #[cfg(feature = "tls")]
            PathEvent::TlsDone(ssl, peer, warning) => {
                let cipher = ssl.current_cipher().map_or("", |cipher| cipher.name());
                let certificate = match warning {
                    Some(warning) => format!("; {}", warning),
                    None => match ssl.servername(NameType::HOST_NAME) {
                        Some(name) => format!(", certificate valid for {}", name),
                        None => format!(", certificate valid for {}", peer.address().host),
                    },
                };
                let version = ssl.version_str();
                self.end_step(&format_args!("{}, {}{}", version, cipher, certificate));
            }
            PathEvent::NegotiationStarted(negotiation) => self.start_negotiation(negotiation),
            PathEvent::RequestRepeated(negotiation) => self.repeat_request(negotiation),
            PathEvent::RedialStarted(negotiation) => self.start_redial(negotiation),
            PathEvent::Granted => self.end_negotiation(),
            PathEvent::Opened => self.start_step(TestStep::FirstByte),
        }
    }
}

/// Displays that the proxy requested authentication.
struct AuthRequested(AuthMethod);

impl fmt::Display for AuthRequested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the proxy requires authentication, ptunnel uses {}",
            self.0
        )
    }
}

/// Returns the beginning of a step's line.
fn margin(step: TestStep) -> String {
    format!("  {:<14}", step.label())
}

/// Whether the path is a character device: a terminal or /dev/null, for which the result has no
/// effect.
fn is_character_device(path: &str) -> bool {
    fs::metadata(path).map_or(false, |metadata| metadata.file_type().is_char_device())
}

/// Displays a time as `12.3 ms`.
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
    fn times_are_aligned() {
        let shown = format!("{:>10}|", Millis(Duration::from_micros(12_345)));
        assert_eq!(shown, "   12.3 ms|");
    }
}
