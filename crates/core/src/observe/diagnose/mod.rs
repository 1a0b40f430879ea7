//! `--test`: tests the path to each destination, prints each step with its time, and prints advice
//! when a step fails.
//!
//! - `observer`: the events of a path that is opened. The program passes them to [`observe`].
//! - `transcript`: the observer that prints them; `advice`: what to try after an error.
//!
//! This folder must not contain code that opens a path: the program and each rung have a
//! [`PathOpener`], so that a test meets the same conditions as a client. `ptunnel-cli` uses it
//! ([`run`]), as do the status server's `/healthz/probe` and, for the events, the program.

mod advice;
mod observer;
mod transcript;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

pub(crate) use self::observer::observed_by;
pub use self::observer::{observe, Observer, PathEvent};
use self::transcript::Transcript;
use crate::config::{Config, Destination, Timeouts};
use crate::error::Error;
use crate::upstream::{ProxyChain, ProxySelector, Tunnel};
use ptunnel_proto::text::escape::{excerpt, Escaped};
use ptunnel_proto::Secrets;

/// Time that a destination gets to send its first byte. After it, the test assumes that the
/// destination waits for the client to send first.
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
}

/// Opens a path to the tunnel's destination on the calling thread, as for a client, and closes it
/// again. If there is a duration, waits in between for the destination's first bytes, for at most
/// that time.
pub type PathOpener =
    fn(&Tunnel, &Timeouts, Option<Duration>) -> Result<(ProxyChain, Option<Greeting>), Error>;

/// The first bytes of a destination.
pub struct Greeting {
    /// The bytes; empty if the connection ended before the first one.
    pub bytes: io::Result<Vec<u8>>,
    /// Whether they arrived together with the proxy's reply.
    pub is_early: bool,
}

/// Tests every destination of the configuration and prints the steps on stdout; returns the exit
/// code of the first destination that fails, or 0.
///
/// # Errors
///
/// When stdout can't be written.
pub fn run(config: &Config, open: PathOpener) -> Result<i32, Error> {
    let selector = ProxySelector::new(config.route.clone());
    let mut code = 0;
    for destination in config.destinations() {
        let transcript = Rc::new(RefCell::new(Transcript::new(destination)));
        let tunnel = Tunnel::new(destination.clone(), &selector).for_observer();
        let open = || open(&tunnel, &config.timeouts, Some(GREETING_TIMEOUT));
        let result = observed_by(transcript.clone(), open);
        let result = result.and_then(|(path, greeting)| {
            let shown = shown(greeting, destination, &path.secrets())?;
            Ok((path, shown))
        });
        let exit_code = transcript
            .borrow_mut()
            .finish(result)
            .map_err(|e| Error::other("cannot write to stdout", e))?;
        if code == 0 {
            code = exit_code;
        }
    }
    Ok(code)
}

/// Returns the text to print for the destination's first bytes.
///
/// # Errors
///
/// When the connection ended or failed before the first byte.
fn shown(
    greeting: Option<Greeting>,
    destination: &Destination,
    secrets: &Secrets,
) -> Result<String, Error> {
    let Greeting { bytes, is_early } = match greeting {
        Some(greeting) => greeting,
        None => return Ok("none: connected, and the destination waits for the client".into()),
    };
    let bytes = bytes.map_err(|e| Error::cut(destination, e))?;
    if bytes.is_empty() {
        return Err(Error::cut(
            destination,
            "the connection ended before the first byte",
        ));
    }
    let place = if is_early {
        ", with the proxy's reply"
    } else {
        ""
    };
    Ok(format!("{}{}", quoted(&bytes, secrets), place))
}

/// Returns an excerpt of the first line, quoted and escaped. A gateway that isn't a proxy can grant
/// the tunnel and repeat the request.
fn quoted(bytes: &[u8], secrets: &Secrets) -> String {
    let is_end = |byte: &u8| *byte == b'\r' || *byte == b'\n';
    let first = bytes.split(is_end).next().unwrap_or_default();
    let is_cut = first.len() == bytes.len();
    let text = Escaped(&secrets.hide(first, is_cut)).to_string();
    format!("\"{}\"", excerpt(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_is_one_line_without_control_characters() {
        let quoted = |bytes: &[u8]| quoted(bytes, &Secrets::default());
        assert_eq!(quoted(b"SSH-2.0-OpenSSH\r\nmore"), "\"SSH-2.0-OpenSSH\"");
        assert_eq!(quoted(b"a\x1b[2J\xff"), "\"a\\x1b[2J\\xff\"");
    }
}
