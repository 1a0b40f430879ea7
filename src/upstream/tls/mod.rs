//! TLS with a proxy or a destination, without the I/O: the settings of OpenSSL for one connection,
//! and the meaning of its errors.
//!
//! The peer's name or address is verified against the subjectAltName alone (RFC 9525 §6.3); a name
//! is also sent in the handshake (SNI, RFC 6066 §3). No function of the locked openssl crate that
//! an advisory names is called: see "Dependencies" in SECURITY.md, and a test.

use std::cell::Cell;
use std::fmt::Write;
use std::io;
use std::mem;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use openssl::asn1::Asn1Time;
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::ssl::{self, ErrorCode, Ssl, SslVerifyMode};
use openssl::x509::verify::X509CheckFlags;
use openssl::x509::{X509NameRef, X509Ref, X509StoreContextRef};

use log::{debug, warn};

use crate::config::{Host, HostPort, TlsPeer, TlsSpec};
use crate::error::Advised;
use crate::text::escape::{excerpt, Escaped};

/// Records without data that one read handles before it yields: a peer can send any number of session
/// tickets.
pub const ROUNDS: usize = 16;

/// The client's side of a handshake that hasn't begun.
pub struct TlsSetup {
    /// OpenSSL's configured connection.
    pub ssl: Ssl,
    /// Collects what verification finds wrong.
    pub report: VerifyReport,
    /// Whether the peer is a proxy or a destination.
    pub peer: TlsPeer,
    /// Judges how the connection ends.
    pub ending: Ending,
}

impl TlsSetup {
    /// Prepares a connection to the peer at `address`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for an empty host name, which would disable the check of the name; `Other` if
    /// OpenSSL fails, e.g. for want of memory.
    pub fn new(spec: &TlsSpec, address: &HostPort) -> io::Result<TlsSetup> {
        let name = match &address.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.strip_suffix('.').unwrap_or(name).to_string(),
        };
        if name.is_empty() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mode = if spec.is_insecure() {
            SslVerifyMode::NONE
        } else {
            SslVerifyMode::PEER
        };
        let mut ssl = spec.connector().configure()?.into_ssl(&name)?;
        let flags = X509CheckFlags::NO_PARTIAL_WILDCARDS | X509CheckFlags::NEVER_CHECK_SUBJECT;
        ssl.param_mut().set_hostflags(flags);
        let report = VerifyReport {
            found: Arc::default(),
            insecure: spec.is_insecure(),
            peer: spec.peer(),
        };
        let peer = report.peer;
        let found = report.found.clone();
        let goes_on = spec.is_insecure();
        ssl.set_verify_callback(mode, move |is_good, chain| {
            if !is_good {
                let why = why_not(chain, &name, peer);
                let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
                // OpenSSL reports an unknown issuer several times.
                if !found.contains(&why) {
                    found.push(why);
                }
            }
            // Without verification the handshake goes on, so that the warning lists every fault.
            is_good || goes_on
        });
        Ok(TlsSetup {
            ssl,
            report,
            peer,
            ending: Ending {
                spec: spec.clone(),
                address: address.clone(),
                has_failed: Cell::new(false),
            },
        })
    }
}

/// Judges whether a connection that ended without close_notify has ended.
///
/// A proxy's TLS protects the connection to the proxy, not the one behind it, and many proxies never
/// send close_notify: their end counts as much as a plain proxy's FIN. For a `tls://` destination
/// only close_notify distinguishes a whole stream from a truncated one.
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

/// The faults of the peer's certificate, filled in during the handshake.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    found: Arc<Mutex<Vec<Why>>>,
    insecure: bool,
    peer: TlsPeer,
}

impl VerifyReport {
    /// Describes why the handshake failed: `InvalidData` for a certificate or a TLS error,
    /// `UnexpectedEof` if the peer closed, else the connection's own error.
    pub fn explain(&self, error: ssl::Error) -> io::Error {
        match self.take() {
            Some(why) => why.because(io::ErrorKind::InvalidData),
            None if is_end(&error) => Why::advised(format!(
                "it ended the connection within the handshake: does it speak TLS? if not, {}",
                self.peer.terms().otherwise
            ))
            .because(io::ErrorKind::UnexpectedEof),
            None => explain(error, self.peer),
        }
    }

    /// Returns the warning after a successful handshake without verification.
    pub fn warning(&self) -> Option<String> {
        if !self.insecure {
            return None;
        }
        let option = self.peer.terms().insecure;
        Some(match self.take() {
            Some(why) => format!(
                "connected without knowing to whom ({}): {}",
                option, why.text
            ),
            None => format!(
                "connected without asking to whom ({}), though its certificate would do: leave the \
                 option out",
                option
            ),
        })
    }

    /// Joins the faults, if there are any.
    fn take(&self) -> Option<Why> {
        let mut found = self.found.lock().unwrap_or_else(|e| e.into_inner());
        let all = mem::take(&mut *found);
        if all.is_empty() {
            return None;
        }
        let texts: Vec<&str> = all.iter().map(|why| &why.text[..]).collect();
        Some(Why {
            text: texts.join("; "),
            is_advised: all.iter().any(|why| why.is_advised),
        })
    }
}

/// A reason why there is no TLS with the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Why {
    text: String,
    /// Whether the text says what to do.
    is_advised: bool,
}

impl Why {
    fn plain(text: impl Into<String>) -> Why {
        Why {
            text: text.into(),
            is_advised: false,
        }
    }

    fn advised(text: impl Into<String>) -> Why {
        Why {
            text: text.into(),
            is_advised: true,
        }
    }

    fn because(self, kind: io::ErrorKind) -> io::Error {
        if self.is_advised {
            io::Error::new(kind, Advised(self.text))
        } else {
            io::Error::new(kind, self.text)
        }
    }
}

/// The most frequent X509_V_ERR_… numbers of x509_vfy.h.
mod verdicts {
    pub const NOT_YET_VALID: i32 = 9;
    pub const HAS_EXPIRED: i32 = 10;
    pub const SELF_SIGNED: i32 = 18;
    pub const SELF_SIGNED_IN_CHAIN: i32 = 19;
    pub const NO_ISSUER_HERE: i32 = 20;
    pub const NO_ISSUER_AT_ALL: i32 = 21;
    pub const HOST_MISMATCH: i32 = 62;
    pub const ADDRESS_MISMATCH: i32 = 64;
}

/// Describes why a chain of certificates doesn't verify for `name`.
fn why_not(chain: &X509StoreContextRef, name: &str, peer: TlsPeer) -> Why {
    let verdict = chain.error();
    let certificate = match chain.current_cert() {
        Some(certificate) => certificate,
        None => return Why::plain(format!("its certificate: {}", verdict.error_string())),
    };
    let whose = if chain.error_depth() == 0 {
        "its certificate"
    } else {
        "the certificate of its CA"
    };
    match verdict.as_raw() {
        verdicts::NOT_YET_VALID => Why::advised(format!(
            "{} isn't valid yet, {}: is this machine's clock right?",
            whose,
            days_ahead(certificate)
        )),
        verdicts::HAS_EXPIRED => {
            Why::plain(format!("{} has expired, {}", whose, days_ago(certificate)))
        }
        verdicts::SELF_SIGNED => Why::advised(format!(
            "its certificate is self-signed: if it is the right one, give it as {}",
            peer.terms().cacert
        )),
        verdicts::SELF_SIGNED_IN_CHAIN | verdicts::NO_ISSUER_HERE | verdicts::NO_ISSUER_AT_ALL => {
            Why::advised(format!(
                "its certificate is from a CA that isn't known here, {}: {} makes one known",
                called(certificate.issuer_name()),
                peer.terms().cacert
            ))
        }
        verdicts::HOST_MISMATCH | verdicts::ADDRESS_MISMATCH => Why::plain(format!(
            "its certificate is for {}, not {}",
            names(certificate),
            name
        )),
        _ => Why::plain(format!("{}: {}", whose, verdict.error_string())),
    }
}

fn days_ago(certificate: &X509Ref) -> String {
    match Asn1Time::days_from_now(0).and_then(|now| certificate.not_after().diff(&now)) {
        Ok(since) if since.days > 0 => format!("{} days ago", since.days),
        _ => "within the last day".into(),
    }
}

fn days_ahead(certificate: &X509Ref) -> String {
    let now = Asn1Time::days_from_now(0);
    match now.and_then(|now| now.diff(certificate.not_before())) {
        Ok(until) if until.days > 0 => format!("but in {} days", until.days),
        _ => "but within a day".into(),
    }
}

/// Lists the first names and addresses of the subjectAltName.
fn names(certificate: &X509Ref) -> String {
    const MOST: usize = 3;
    let mut names = Vec::new();
    for name in certificate.subject_alt_names().iter().flatten() {
        if let Some(name) = name.dnsname() {
            names.push(name.to_string());
        } else if let Some(ip) = name.ipaddress().and_then(address) {
            names.push(ip.to_string());
        }
    }
    let rest = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let mut text = match names[..] {
        [] => "no host (its subjectAltName names none)".into(),
        _ => shown(&names.join(", ")),
    };
    if rest > 0 {
        let _ = write!(text, " and {} more", rest);
    }
    text
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    use std::convert::TryFrom;

    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    let v6 = <[u8; 16]>::try_from(octets).map(IpAddr::from);
    v4.or(v6).ok()
}

/// Returns the most specific part of a CA's name.
fn called(name: &X509NameRef) -> String {
    let parts = &[
        Nid::COMMONNAME,
        Nid::ORGANIZATIONALUNITNAME,
        Nid::ORGANIZATIONNAME,
    ];
    let mut parts = parts.iter().filter_map(|part| {
        let entry = name.entries_by_nid(*part).next()?;
        Some(shown(&String::from_utf8_lossy(entry.data().as_slice())))
    });
    match parts.next() {
        Some(part) => format!("'{}'", part),
        None => "one without a name".into(),
    }
}

/// Escapes and shortens text of a certificate, which the peer chooses.
fn shown(text: &str) -> String {
    Escaped(excerpt(text).as_bytes()).to_string()
}

/// Describes a TLS error for a log line: `UnexpectedEof` for an end without close_notify,
/// `InvalidData` for other TLS errors. Errors of the connection, `WouldBlock` too, pass unchanged.
pub fn explain(error: ssl::Error, peer: TlsPeer) -> io::Error {
    if is_end(&error) {
        return io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the connection ended without TLS close_notify: something may be missing",
        );
    }
    let error = match error.into_io_error() {
        Ok(e) => return e,
        Err(e) => e,
    };
    let reason = match error.ssl_error().and_then(reason) {
        Some(reason) => reason,
        None => return io::Error::new(io::ErrorKind::Other, error),
    };
    meaning(&reason, peer).because(io::ErrorKind::InvalidData)
}

/// Returns whether the connection ended without close_notify: OpenSSL 1.1.1 reports that without a
/// reason, 3.0 with one.
fn is_end(error: &ssl::Error) -> bool {
    match (error.code(), error.ssl_error()) {
        (ErrorCode::SYSCALL, None) => error.io_error().is_none(),
        (_, Some(stack)) => reason(stack).map_or(false, |r| r.starts_with("unexpected eof")),
        _ => false,
    }
}

/// Returns whether a read or write met a record without data, such as a session ticket; it can be
/// repeated at once.
pub fn is_without_data(error: &ssl::Error) -> bool {
    error.code() == ErrorCode::WANT_READ && error.io_error().is_none()
}

/// Returns whether the peer sent an alert, with the reason why it closes.
pub fn is_alert(error: &ssl::Error) -> bool {
    let reason = error.ssl_error().and_then(reason);
    reason.map_or(false, |reason| reason.contains(ALERT))
}

fn reason(stack: &ErrorStack) -> Option<String> {
    let mut reasons = stack.errors().iter().filter_map(|error| error.reason());
    reasons.next().map(str::to_string)
}

/// Part of every reason that is an alert of the peer.
const ALERT: &str = " alert ";

/// Describes OpenSSL's reason; by its text, since the crate doesn't define the numbers.
fn meaning(reason: &str, peer: TlsPeer) -> Why {
    if let Some(at) = reason.find(ALERT) {
        return objection(&reason[at + ALERT.len()..], peer);
    }
    match reason {
        "wrong version number"
        | "unknown protocol"
        | "packet length too long"
        | "http request"
        | "https proxy request"
        | "record layer failure" => {
            Why::advised(format!("it doesn't speak TLS: {}", peer.terms().otherwise))
        }
        "unsupported protocol" | "version too low" => Why::plain(TOO_OLD),
        _ => Why::plain(format!("TLS: {}", reason)),
    }
}

/// RFC 7301 §3.2; only a proxy is offered a protocol, so a destination doesn't send this alert.
const NO_HTTP_1_1: &str = "it speaks no HTTP/1.1, perhaps HTTP/2 alone, and ptunnel speaks no \
                           other: have its HTTP/1.1 switched on";

const TOO_OLD: &str = "it speaks no version of TLS from 1.2 on";

/// Describes an alert of the peer (RFC 8446 §6.2).
fn objection(alert: &str, peer: TlsPeer) -> Why {
    let cert = peer.terms().cert;
    match alert {
        "protocol version" => Why::plain(TOO_OLD),
        "certificate required" => {
            Why::advised(format!("it asks for a certificate of ours: give {}", cert))
        }
        "handshake failure" => Why::advised(format!(
            "it ended the handshake: it may ask for a certificate of ours ({}), or for other \
             ciphers",
            cert
        )),
        "bad certificate"
        | "unsupported certificate"
        | "certificate revoked"
        | "certificate expired"
        | "certificate unknown"
        | "unknown ca"
        | "access denied" => Why::plain(format!("it doesn't take our certificate: {}", alert)),
        "no application protocol" => Why::advised(NO_HTTP_1_1),
        "unrecognized name" => Why::plain("it doesn't know itself by this name: unrecognized name"),
        _ => Why::plain(format!("it ended TLS: {}", alert)),
    }
}

#[cfg(test)]
mod tests;
