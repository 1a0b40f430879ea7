//! Verification of the peer's certificate: what is wrong with it, collected during the handshake.

use std::convert::TryFrom;
use std::fmt::Write;
use std::io;
use std::mem;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use openssl::asn1::Asn1Time;
use openssl::nid::Nid;
use openssl::ssl::{self, Ssl, SslVerifyMode};
use openssl::x509::{X509NameRef, X509Ref, X509StoreContextRef};

use super::fault::{explain_with, is_end, TlsFault};
use crate::config::TlsSpec;
use ptunnel_proto::sync::lock;
use ptunnel_proto::text::escape::{excerpt, Escaped};
use ptunnel_proto::values::TlsPeer;

/// The faults of the peer's certificate. Clones share them.
#[derive(Clone, Debug)]
pub struct VerifyReport {
    found: Arc<Mutex<Vec<TlsFault>>>,
    insecure: bool,
    peer: TlsPeer,
    /// The advice for a peer without TLS.
    otherwise: String,
}

impl VerifyReport {
    pub(super) fn new(spec: &TlsSpec) -> VerifyReport {
        VerifyReport {
            found: Arc::default(),
            insecure: spec.is_insecure(),
            peer: spec.peer(),
            otherwise: spec.otherwise(),
        }
    }

    /// Collects the faults that OpenSSL finds during the handshake with `name`. Without
    /// verification the handshake continues after a fault, so that the warning lists all of them.
    pub(super) fn collect(&self, ssl: &mut Ssl, name: String) {
        let mode = if self.insecure {
            SslVerifyMode::NONE
        } else {
            SslVerifyMode::PEER
        };
        let report = self.clone();
        ssl.set_verify_callback(mode, move |is_good, chain| {
            if !is_good {
                let fault = fault(chain, &name, report.peer);
                let mut found = lock(&report.found);
                // OpenSSL reports an unknown issuer several times.
                if !found.contains(&fault) {
                    found.push(fault);
                }
            }
            is_good || report.insecure
        });
    }

    /// Describes why the handshake failed: `InvalidData` for a certificate or a TLS error,
    /// `UnexpectedEof` if the peer closed, else the connection's own error.
    pub fn explain(&self, error: ssl::Error) -> io::Error {
        match self.take() {
            Some(fault) => fault.into_error(io::ErrorKind::InvalidData),
            None if is_end(&error) => TlsFault::advised(format!(
                "{} closed the connection; if it doesn't speak TLS on this port, {}",
                self.peer.messages().name,
                self.otherwise
            ))
            .into_error(io::ErrorKind::UnexpectedEof),
            None => explain_with(error, self.peer, &self.otherwise),
        }
    }

    /// Returns the warning after a successful handshake without verification.
    pub fn warning(&self) -> Option<String> {
        if !self.insecure {
            return None;
        }
        let option = self.peer.messages().insecure;
        Some(match self.take() {
            Some(fault) => format!(
                "certificate not verified ({}), and it is not valid: {}",
                option, fault.text
            ),
            None => format!(
                "certificate not verified ({}), although it is valid; remove the option",
                option
            ),
        })
    }

    /// Takes the faults out and joins them; `None` if there are none.
    fn take(&self) -> Option<TlsFault> {
        let all = mem::take(&mut *lock(&self.found));
        let text = all.iter().map(|fault| &fault.text[..]).collect::<Vec<_>>();
        Some(TlsFault {
            text: text.join("; "),
            is_advised: all.iter().any(|fault| fault.is_advised),
        })
        .filter(|_| !all.is_empty())
    }
}

/// The most frequent X509_V_ERR_… numbers of x509_vfy.h.
mod codes {
    pub const NOT_YET_VALID: i32 = 9;
    pub const HAS_EXPIRED: i32 = 10;
    pub const SELF_SIGNED: i32 = 18;
    pub const SELF_SIGNED_IN_CHAIN: i32 = 19;
    pub const NO_ISSUER_HERE: i32 = 20;
    pub const NO_ISSUER_AT_ALL: i32 = 21;
    pub const HOST_MISMATCH: i32 = 62;
    pub const ADDRESS_MISMATCH: i32 = 64;
}

/// Returns why a chain of certificates doesn't verify for `name`.
fn fault(chain: &X509StoreContextRef, name: &str, peer: TlsPeer) -> TlsFault {
    let error = chain.error();
    let certificate = match chain.current_cert() {
        Some(certificate) => certificate,
        None => return TlsFault::plain(format!("no certificate: {}", error.error_string())),
    };
    let whose = if chain.error_depth() == 0 {
        "the certificate"
    } else {
        "the CA's certificate"
    };
    match error.as_raw() {
        codes::NOT_YET_VALID => TlsFault::advised(format!(
            "{} isn't valid yet, but {}; check this machine's clock",
            whose,
            days_ahead(certificate)
        )),
        codes::HAS_EXPIRED => {
            TlsFault::plain(format!("{} expired {}", whose, days_ago(certificate)))
        }
        codes::SELF_SIGNED => TlsFault::advised(format!(
            "the certificate is self-signed; if it is the right one, trust it with {}",
            peer.messages().cacert
        )),
        codes::SELF_SIGNED_IN_CHAIN | codes::NO_ISSUER_HERE | codes::NO_ISSUER_AT_ALL => {
            TlsFault::advised(format!(
                "the certificate is from an unknown CA, {}; trust the CA with {}",
                most_specific(certificate.issuer_name()),
                peer.messages().cacert
            ))
        }
        codes::HOST_MISMATCH | codes::ADDRESS_MISMATCH => TlsFault::plain(format!(
            "the certificate is for {}, not for {}",
            names(certificate),
            name
        )),
        _ => TlsFault::plain(format!("{}: {}", whose, error.error_string())),
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
        Ok(until) if until.days > 0 => format!("in {} days", until.days),
        _ => "within a day".into(),
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
        [] => "no host (no name in its subjectAltName)".into(),
        _ => shown(&names.join(", ")),
    };
    if rest > 0 {
        let _ = write!(text, " and {} more", rest);
    }
    text
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    let v6 = <[u8; 16]>::try_from(octets).map(IpAddr::from);
    v4.or(v6).ok()
}

/// Returns the most specific part of a CA's name.
fn most_specific(name: &X509NameRef) -> String {
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
        None => "which has no name".into(),
    }
}

/// Escapes and shortens text of a certificate, which the peer chooses.
fn shown(text: &str) -> String {
    Escaped(excerpt(text).as_bytes()).to_string()
}
