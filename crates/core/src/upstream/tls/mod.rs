//! TLS with a proxy, a destination or a client, without the I/O: OpenSSL's settings for one connection, and
//! the meaning of its errors.
//!
//! The peer's name or address is verified against the subjectAltName alone (RFC 9525 §6.3); a name
//! is also sent in the handshake (SNI, RFC 6066 §3). `--sni` and `--proxy-sni` replace the name in
//! both places. No function of the locked openssl crate that
//! an advisory names is called: see "Dependencies" in docs/security.md, and a test.
//!
//! Must not hold a handshake or a stream, which are in the program's `tls` and `io::tls`, or the
//! user's settings, which are in `config::tls`. The program and the rungs of `compat/ladder` use it.

mod certificate;
mod fault;

use std::cell::Cell;
use std::io;

use openssl::ssl::{self, ErrorCode, Ssl, SslVerifyMode};
use openssl::x509::verify::X509CheckFlags;

use log::{debug, warn};

use self::fault::is_end;
use crate::config::TlsSpec;
use ptunnel_proto::values::{Host, HostPort, TlsPeer};

pub use self::certificate::VerifyReport;
pub use self::fault::{explain, is_alert, is_without_data};

/// Maximum number of records without data that one read handles before it yields: a peer can send any
/// number of session tickets.
pub const ROUNDS: usize = 16;

/// The settings of a connection before its handshake.
pub struct TlsSetup {
    /// OpenSSL's configured connection.
    pub ssl: Ssl,
    /// Collects the faults that verification finds.
    pub report: VerifyReport,
    /// The kind of peer.
    pub peer: TlsPeer,
    /// Judges how the connection ends.
    pub ending: Ending,
}

impl TlsSetup {
    /// Prepares a connection to the peer at `address`, or one that a client has opened from there.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for an empty host name, which would disable the check of the name; `Other` if
    /// OpenSSL fails, e.g. for lack of memory.
    pub fn new(spec: &TlsSpec, address: &HostPort) -> io::Result<TlsSetup> {
        let report = VerifyReport::new(spec);
        let ssl = match spec.peer() {
            TlsPeer::Client => server(spec)?,
            TlsPeer::Proxy | TlsPeer::Destination | TlsPeer::PacServer => {
                client(spec, address, &report)?
            }
        };
        Ok(TlsSetup {
            ssl,
            report,
            peer: spec.peer(),
            ending: Ending {
                spec: spec.clone(),
                address: address.clone(),
                has_failed: Cell::new(false),
            },
        })
    }
}

/// Returns ptunnel's side as the server, which asks for no certificate.
fn server(spec: &TlsSpec) -> io::Result<Ssl> {
    let mut ssl = Ssl::new(spec.connector().context())?;
    ssl.set_verify(SslVerifyMode::NONE);
    ssl.set_accept_state();
    Ok(ssl)
}

/// Returns ptunnel's side as the client, which verifies the name of the peer.
fn client(spec: &TlsSpec, address: &HostPort, report: &VerifyReport) -> io::Result<Ssl> {
    let name = match (spec.sni(), &address.host) {
        (Some(name), _) => name.to_string(),
        (None, Host::Ip(ip)) => ip.to_string(),
        (None, Host::Name(name)) => name.clone(),
    };
    let name = name.strip_suffix('.').unwrap_or(&name).to_string();
    if name.is_empty() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut ssl = spec.connector().configure()?.into_ssl(&name)?;
    let flags = X509CheckFlags::NO_PARTIAL_WILDCARDS | X509CheckFlags::NEVER_CHECK_SUBJECT;
    ssl.param_mut().set_hostflags(flags);
    report.collect(&mut ssl, name);
    ssl.set_connect_state();
    Ok(ssl)
}

/// Judges whether a connection that ended without close_notify has ended.
///
/// A proxy's TLS protects the connection to the proxy, not the one behind it, and many proxies never
/// send close_notify: their end counts as much as a plain proxy's FIN. So does that of a client. For
/// a `tls://` destination only close_notify distinguishes a whole stream from a truncated one.
#[derive(Debug)]
pub struct Ending {
    spec: TlsSpec,
    address: HostPort,
    has_failed: Cell<bool>,
}

impl Ending {
    /// Returns whether a failed read is a normal end of the stream (`Ok`).
    ///
    /// # Errors
    ///
    /// The error as [`explain`] describes it; `WouldBlock` unchanged.
    pub fn judge(&self, error: ssl::Error) -> io::Result<()> {
        if error.code() == ErrorCode::ZERO_RETURN {
            return Ok(());
        }
        let is_ignored = self.spec.ignores_unexpected_eof() && !self.has_failed.get();
        if !is_ignored || !is_end(&error) {
            return Err(explain(error, self.spec.peer()));
        }
        match self.spec.peer() {
            TlsPeer::Proxy if self.spec.is_to_report(&self.address) => warn!(
                "proxy {}: closed a connection without TLS close_notify; ptunnel treats that as a \
                 normal end (reported once per proxy)",
                self.address
            ),
            _ => debug!(
                "{}: closed a connection without TLS close_notify",
                self.address
            ),
        }
        Ok(())
    }

    /// Returns whether close_notify couldn't be sent because the peer has closed: as with FIN, that is
    /// not a failure, and reading shows the rest.
    pub fn is_moot(&self, error: &io::Error) -> bool {
        let kind = error.kind();
        let is_moot = kind == io::ErrorKind::BrokenPipe || kind == io::ErrorKind::ConnectionReset;
        if is_moot {
            self.note_failure();
        }
        is_moot
    }

    /// Notes that the connection has failed: an end that follows is a consequence of that.
    pub fn note_failure(&self) {
        self.has_failed.set(true);
    }
}

#[cfg(test)]
mod tests;
