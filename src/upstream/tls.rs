//! TLS with a proxy or a destination, as far as it doesn't poll: what OpenSSL is told for one
//! connection, and what its errors mean.
//!
//! The name is verified, an address as one, by the subjectAltName alone (RFC 9525 §6.3); a name
//! is also told in the handshake (SNI, RFC 6066 §3). Of the old openssl crate that the lock file
//! holds nothing is called that an advisory names: see "Dependencies" in SECURITY.md, and the test
//! below.

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

/// Records without data that one read handles before other connections get their turn: a peer may
/// send any number of session tickets.
pub const ROUNDS: usize = 16;

/// A connection's side of a handshake that hasn't begun.
pub struct TlsSetup {
    /// What OpenSSL shall do.
    pub ssl: Ssl,
    /// What it is going to find out about the peer.
    pub doubt: VerifyReport,
    /// Who that is.
    pub peer: TlsPeer,
    /// How its end is judged.
    pub ending: Ending,
}

impl TlsSetup {
    /// A session with the peer at `address`, as `spec` has it.
    ///
    /// # Errors
    ///
    /// When OpenSSL has no memory; `InvalidInput` for a host without a name, which it would take
    /// for any.
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
        let doubt = VerifyReport {
            found: Arc::default(),
            insecure: spec.is_insecure(),
            peer: spec.peer(),
        };
        let peer = doubt.peer;
        let found = doubt.found.clone();
        let goes_on = spec.is_insecure();
        ssl.set_verify_callback(mode, move |is_good, chain| {
            if !is_good {
                let why = why_not(chain, &name, peer);
                let mut found = found.lock().unwrap_or_else(|e| e.into_inner());
                // OpenSSL has several words for an issuer that it doesn't know.
                if !found.contains(&why) {
                    found.push(why);
                }
            }
            // To the end, where a fault ends nothing: who takes anybody shall know of each.
            is_good || goes_on
        });
        Ok(TlsSetup {
            ssl,
            doubt,
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
/// A proxy's TLS protects the way to the proxy. How the destination's connection ended behind it
/// nothing protects, and many proxies never send close_notify: such an end is as good as a plain
/// proxy's FIN. A `tls://` destination's own TLS is all that tells a whole stream from a cut one.
#[derive(Debug)]
pub struct Ending {
    spec: TlsSpec,
    address: HostPort,
    has_failed: Cell<bool>,
}

impl Ending {
    /// Returns what a read that failed comes to: `Ok` is the end.
    ///
    /// # Errors
    ///
    /// The error in words, `WouldBlock` as it is.
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

    /// Whether close_notify couldn't be sent because the peer has gone already: as with FIN, that is
    /// no failure of its own, and what is read tells the rest.
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

/// What is wrong with the peer's certificate, once it has been looked at.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    found: Arc<Mutex<Vec<Why>>>,
    insecure: bool,
    peer: TlsPeer,
}

impl VerifyReport {
    /// After a handshake that failed: why.
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

    /// After one that succeeded: what there is to warn of, when anybody would have been taken for
    /// the peer.
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

    /// All of it in one, if there is any.
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

/// Why there is no TLS with the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Why {
    text: String,
    /// Whether it says what to do.
    is_advised: bool,
}

impl Why {
    fn unmap_ipv4(text: impl Into<String>) -> Why {
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

/// The numbers of x509_vfy.h, X509_V_ERR_…, that users meet.
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

/// Why a chain of certificates isn't that of `name`.
fn why_not(chain: &X509StoreContextRef, name: &str, peer: TlsPeer) -> Why {
    let verdict = chain.error();
    let certificate = match chain.current_cert() {
        Some(certificate) => certificate,
        None => return Why::unmap_ipv4(format!("its certificate: {}", verdict.error_string())),
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
            Why::unmap_ipv4(format!("{} has expired, {}", whose, days_ago(certificate)))
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
        verdicts::HOST_MISMATCH | verdicts::ADDRESS_MISMATCH => Why::unmap_ipv4(format!(
            "its certificate is for {}, not {}",
            names(certificate),
            name
        )),
        _ => Why::unmap_ipv4(format!("{}: {}", whose, verdict.error_string())),
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

/// The first names and addresses that it is for.
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

/// The part of a CA's name that tells most.
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

/// Whoever answers may write what it likes in a certificate.
fn shown(text: &str) -> String {
    Escaped(excerpt(text).as_bytes()).to_string()
}

/// What an error means, in words for the one line of a log; what the connection itself met is
/// handed through, `WouldBlock` too.
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

/// The connection is at its end, and TLS wasn't: OpenSSL 1.1.1 says so with no reason at all, 3.0
/// with one.
fn is_end(error: &ssl::Error) -> bool {
    match (error.code(), error.ssl_error()) {
        (ErrorCode::SYSCALL, None) => error.io_error().is_none(),
        (_, Some(stack)) => reason(stack).map_or(false, |r| r.starts_with("unexpected eof")),
        _ => false,
    }
}

/// Whether a read or write met a record without data, such as a session ticket, and can go on.
pub fn is_without_data(error: &ssl::Error) -> bool {
    error.code() == ErrorCode::WANT_READ && error.io_error().is_none()
}

/// Whether it is an alert: the other side has said why it goes.
pub fn is_alert(error: &ssl::Error) -> bool {
    let reason = error.ssl_error().and_then(reason);
    reason.map_or(false, |reason| reason.contains(ALERT))
}

fn reason(stack: &ErrorStack) -> Option<String> {
    let mut reasons = stack.errors().iter().filter_map(|error| error.reason());
    reasons.next().map(str::to_string)
}

/// Stands in every reason that is an alert of the other side.
const ALERT: &str = " alert ";

/// OpenSSL's reasons in an operator's words: texts, since the numbers aren't in its crate.
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
        "unsupported protocol" | "version too low" => Why::unmap_ipv4(TOO_OLD),
        _ => Why::unmap_ipv4(format!("TLS: {}", reason)),
    }
}

/// RFC 7301 §3.2; a destination isn't told a protocol, and so has no reason to say it.
const NO_HTTP_1_1: &str = "it speaks no HTTP/1.1, perhaps HTTP/2 alone, and ptunnel speaks no \
                           other: have its HTTP/1.1 switched on";

const TOO_OLD: &str = "it speaks no version of TLS from 1.2 on";

/// What the other side says when it goes (RFC 8446 §6.2).
fn objection(alert: &str, peer: TlsPeer) -> Why {
    let cert = peer.terms().cert;
    match alert {
        "protocol version" => Why::unmap_ipv4(TOO_OLD),
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
        | "access denied" => Why::unmap_ipv4(format!("it doesn't take our certificate: {}", alert)),
        "no application protocol" => Why::advised(NO_HTTP_1_1),
        "unrecognized name" => {
            Why::unmap_ipv4("it doesn't know itself by this name: unrecognized name")
        }
        _ => Why::unmap_ipv4(format!("it ended TLS: {}", alert)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TlsOptions;

    fn at(host: Host) -> HostPort {
        HostPort { host, port: 443 }
    }

    /// RUSTSEC-2023-0044: with an empty name the old crate read on behind it.
    #[test]
    fn an_empty_name_never_reaches_openssl() {
        let spec = TlsOptions::of(TlsPeer::Proxy).load().unwrap();
        for name in &["", "."] {
            let empty = TlsSetup::new(&spec, &at(Host::Name(name.to_string())));
            let kind = empty.err().map(|e| e.kind());
            assert_eq!(kind, Some(io::ErrorKind::InvalidInput), "{:?}", name);
        }
        assert!(TlsSetup::new(&spec, &at(Host::Name("proxy.example.".into()))).is_ok());
    }

    /// What of openssl 0.10.50, which the lock file holds for rustc 1.48, advisories name, and what
    /// of it is built upon that; the first is reached through `into_ssl` alone, never with an empty
    /// name. SECURITY.md says which is which.
    #[test]
    fn nothing_is_called_that_an_advisory_names() {
        const NAMED: &[&str] = &[
            "set_host(",         // RUSTSEC-2023-0044
            ".objects(",         // RUSTSEC-2023-0072
            "MemBio",            // RUSTSEC-2024-0357, and all that is made with it:
            "to_pem",            //
            "to_text(",          //
            "not_after().to_s",  // Display of a time
            "not_before().to_s", //
            "select_next_proto", // RUSTSEC-2025-0004
            "set_alpn_select",   //
            "Md::fetch",         // RUSTSEC-2025-0022
            "Cipher::fetch",     //
        ];
        let mut folders = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/src").into()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir::<std::path::PathBuf>(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("src/upstream/tls.rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let found = NAMED.iter().find(|name| text.contains(**name));
                    assert_eq!(found, None, "{}", path.display());
                    files += 1;
                }
            }
        }
        let own = include_str!("tls.rs");
        let own = &own[..own.find("mod tests").unwrap()];
        assert_eq!(NAMED.iter().find(|name| own.contains(**name)), None);
        assert!(files > 50, "{} files", files);
    }

    #[test]
    fn names_are_told_in_the_handshake_and_addresses_are_not() {
        let spec = TlsOptions::of(TlsPeer::Proxy).load().unwrap();
        for (host, told) in &[
            (Host::Name("proxy.example.".into()), Some("proxy.example")),
            (Host::Ip([127, 0, 0, 1].into()), None),
            (Host::Ip("::1".parse().unwrap()), None),
        ] {
            let session = TlsSetup::new(&spec, &at(host.clone())).unwrap();
            let name = session.ssl.servername(ssl::NameType::HOST_NAME);
            assert_eq!(name, *told);
        }
    }

    #[test]
    fn reasons_are_told_in_words_that_help() {
        for (reason, told) in &[
            ("wrong version number", "try http://"),
            ("tlsv13 alert certificate required", "give --proxy-cert"),
            ("ssl/tls alert handshake failure", "--proxy-cert"),
            ("tlsv1 alert protocol version", "1.2"),
            ("tlsv1 alert no application protocol", "HTTP/2 alone"),
            ("tlsv1 alert unknown ca", "our certificate: unknown ca"),
            ("bad signature", "TLS: bad signature"),
        ] {
            let text = meaning(reason, TlsPeer::Proxy).text;
            assert!(text.contains(told), "{}: {}", reason, text);
        }
    }

    /// Who reads `--proxy-cert` of a server looks at the wrong one.
    #[test]
    fn a_destination_is_told_of_by_its_own_options() {
        for reason in &[
            "wrong version number",
            "tlsv13 alert certificate required",
            "ssl/tls alert handshake failure",
        ] {
            let text = meaning(reason, TlsPeer::Destination).text;
            let is_told = text.contains("tls://") || text.contains("--cert");
            assert!(is_told && !text.contains("proxy"), "{}", text);
        }
    }
}
