//! `--test`: tests the path to each destination, and prints each step with its time, and advice when
//! one fails.
//!
//! - `probe`: opens a path step by step, over `dial` and `stream`, for an `Observer` of its steps.
//! - `transcript`: the observer that prints; `advice`: what to try after an error.
//!
//! Plain blocking code, the same beside every engine. Must not hold what a request or a reply means
//! ([`proto`](crate::proto)), nor the order of the proxies ([`upstream`](crate::upstream)): a probe uses
//! theirs, as a tunnel does. Used by `cli` ([`run`]) and by the status server's `/healthz/probe`.

mod advice;
mod dial;
mod probe;
mod transcript;

use std::fmt;
use std::io::{ErrorKind, Read};
use std::time::Duration;

pub(crate) use self::probe::{OpenedPath, Probe};
use self::transcript::Transcript;
use crate::config::{Config, Destination};
use crate::error::Error;
pub(crate) use crate::observe::status::deadline_stream::Stream;
use crate::text::escape::{excerpt, Escaped};
use crate::upstream::{Hop, ProxySelector, Tunnel, UpstreamPath};

/// Time that a destination gets to send its first byte; after that it is taken to expect the client's.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);

/// A step on the path to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestStep {
    /// Evaluating the PAC file.
    Pac,
    /// Resolving a name.
    Name,
    /// Connecting to one of the addresses.
    Connection,
    /// The TLS handshake with the proxy or the destination.
    #[cfg(feature = "tls")]
    Tls,
    /// The request to the proxy, in HTTP.
    Connect,
    /// The request to the proxy, in SOCKS5.
    Socks5,
    /// The request to the proxy, in SOCKS4.
    Socks4,
    /// Authentication with the proxy.
    Authentication,
    /// Waiting for the first byte of the destination.
    FirstByte,
}

impl TestStep {
    fn label(self) -> &'static str {
        match self {
            TestStep::Pac => "pac",
            TestStep::Name => "name",
            TestStep::Connection => "connection",
            #[cfg(feature = "tls")]
            TestStep::Tls => "TLS",
            TestStep::Connect => "CONNECT",
            TestStep::Socks5 => "SOCKS5",
            TestStep::Socks4 => "SOCKS4",
            TestStep::Authentication => "authentication",
            TestStep::FirstByte => "first byte",
        }
    }

    /// Whether the following steps are in TLS.
    fn starts_tls(self) -> bool {
        match self {
            #[cfg(feature = "tls")]
            TestStep::Tls => true,
            _ => false,
        }
    }
}

/// Receives the steps of a [`Probe`].
pub(crate) trait Observer {
    /// The probe tries this path.
    fn path_started(&mut self, _path: &UpstreamPath) {}

    /// In a chain, the probe now sends a request to the proxy of this hop.
    fn hop_started(&mut self, _hop: &Hop) {}

    /// A step starts.
    fn step_started(&mut self, _step: TestStep) {}

    /// The step succeeded, with this result.
    fn step_done(&mut self, _result: &dyn fmt::Display) {}

    /// The step failed, and the path with it.
    fn path_failed(&mut self, _error: &Error) {}
}

/// Tests every destination of the configuration and prints the steps on stdout; returns the exit code
/// of the first destination that fails, or 0.
///
/// # Errors
///
/// When stdout can't be written.
pub fn run(config: &Config) -> Result<i32, Error> {
    let selector = ProxySelector::new(config.route.clone());
    let mut code = 0;
    for destination in config.destinations() {
        let mut transcript = Transcript::new();
        let result = test(config, &selector, destination, &mut transcript);
        let exit_code = transcript
            .finish(result)
            .map_err(|e| Error::other("cannot write to stdout", e))?;
        if code == 0 {
            code = exit_code;
        }
    }
    Ok(code)
}

/// Opens a path up to the destination's first byte; returns the path.
fn test(
    config: &Config,
    selector: &ProxySelector,
    destination: &Destination,
    transcript: &mut Transcript,
) -> Result<UpstreamPath, Error> {
    let tunnel = Tunnel::new(destination.clone(), selector);
    transcript.title(destination);
    let mut opened = Probe::new(&config.timeouts, transcript).open(&tunnel)?;
    transcript.step_started(TestStep::FirstByte);
    transcript.step_done(&greeting(&mut opened, destination)?);
    Ok(opened.path)
}

/// Reads the destination's first bytes; returns the text to print.
///
/// # Errors
///
/// When the connection ends or fails before any byte.
fn greeting(opened: &mut OpenedPath, destination: &Destination) -> Result<String, Error> {
    let OpenedPath { stream, early, .. } = opened;
    if !early.is_empty() {
        return Ok(format!("{}, with the proxy's reply", quoted(early)));
    }
    stream.limit(GREETING_TIMEOUT);
    let mut chunk = [0; 256];
    match stream.read(&mut chunk) {
        Ok(0) => Err(Error::cut(destination, "it ended before any byte")),
        Ok(count) => Ok(quoted(&chunk[..count])),
        Err(ref e) if e.kind() == ErrorKind::TimedOut => {
            Ok("none: connected, and the server waits for us to speak".into())
        }
        Err(e) => Err(Error::cut(destination, e)),
    }
}

/// Returns an excerpt of the first line, quoted and escaped.
fn quoted(bytes: &[u8]) -> String {
    let is_end = |byte: &u8| *byte == b'\r' || *byte == b'\n';
    let first = bytes.split(is_end).next().unwrap_or_default();
    let text = Escaped(first).to_string();
    format!("\"{}\"", excerpt(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_one_line_without_control_characters() {
        assert_eq!(quoted(b"SSH-2.0-OpenSSH\r\nmore"), "\"SSH-2.0-OpenSSH\"");
        assert_eq!(quoted(b"a\x1b[2J\xff"), "\"a\\x1b[2J\\xff\"");
    }
}
