//! TLS settings, loaded into OpenSSL from their files.

use std::fmt;
use std::fs;
use std::io;
use std::sync::{Arc, Mutex};

use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::sha::Sha256;
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod, SslOptions};
use openssl::ssl::{SslSessionCacheMode, SslVersion};
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::X509VerifyFlags;
use openssl::x509::X509;

use crate::os::sys;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{
    file_fault, HostPort, ParseError, TlsFile, TlsMessages, TlsOptions, TlsPeer, TlsStart,
};

/// TLS with a proxy, a destination or a client: at least version 1.2, without renegotiation. Cheap to
/// clone. Two are equal if their options and the contents of their files are.
#[derive(Clone)]
pub struct TlsSpec(Arc<Loaded>, TlsStart);

struct Loaded {
    peer: TlsPeer,
    connector: SslConnector,
    sni: Option<String>,
    insecure: bool,
    ignore_unexpected_eof: bool,
    has_key: bool,
    /// SHA-256 of the contents of the files.
    digest: [u8; 32],
    /// Peers for which a FIN without close_notify was reported.
    reported: Mutex<Vec<HostPort>>,
}

/// Limit of `reported`: a PAC file can name any number of proxies.
const REPORTED: usize = 1000;

impl PartialEq for TlsSpec {
    fn eq(&self, other: &TlsSpec) -> bool {
        let said = |it: &Loaded| {
            let eof = it.ignore_unexpected_eof;
            (it.peer, it.insecure, eof, it.has_key, it.digest)
        };
        said(&self.0) == said(&other.0) && self.0.sni == other.0.sni && self.1 == other.1
    }
}

impl Eq for TlsSpec {}

impl TlsSpec {
    /// Loads the files of the options.
    ///
    /// # Errors
    ///
    /// A file that can't be read or has other content; the message shows nothing of a key.
    pub fn load(options: &TlsOptions) -> Result<TlsSpec, ParseError> {
        let mut builder = builder(options.peer)
            .map_err(|e| ParseError::Tls(io::Error::new(io::ErrorKind::Other, e)))?;
        let mut files = Files(Sha256::new());
        let messages = options.peer.messages();
        if let Some(path) = &options.cacert {
            trust_only(&mut builder, path, &mut files, messages)?;
        }
        let key = options.key.as_ref().or(options.cert.as_ref());
        match (&options.cert, key) {
            (Some(cert), Some(key)) => identify(&mut builder, cert, key, &mut files, messages)?,
            (None, Some(key)) => {
                return Err(ParseError::new(format!(
                    "{} '{}' requires {} FILE",
                    messages.key,
                    Escaped(key.as_bytes()),
                    messages.cert
                )))
            }
            (_, None) => {}
        }
        let loaded = Arc::new(Loaded {
            peer: options.peer,
            connector: builder.build(),
            sni: options.sni.clone(),
            insecure: options.insecure,
            ignore_unexpected_eof: options.ignore_unexpected_eof,
            has_key: key.is_some(),
            digest: files.0.finish(),
            reported: Mutex::default(),
        });
        Ok(TlsSpec(loaded, TlsStart::AtOnce))
    }

    /// Returns the kind of peer.
    pub(crate) fn peer(&self) -> TlsPeer {
        self.0.peer
    }

    /// Returns the factory of TLS sessions.
    pub(crate) fn connector(&self) -> &SslConnector {
        &self.0.connector
    }

    /// Returns how TLS starts.
    pub fn start(&self) -> TlsStart {
        self.1
    }

    /// Returns the same settings for TLS that starts in this way.
    pub(in crate::config) fn starting(&self, start: TlsStart) -> TlsSpec {
        TlsSpec(self.0.clone(), start)
    }

    /// Returns the advice for a peer without TLS.
    pub(crate) fn otherwise(&self) -> String {
        match self.0.peer {
            TlsPeer::Proxy | TlsPeer::PacServer => "use http://".to_string(),
            TlsPeer::Destination => format!("remove {}", self.1.scheme()),
            TlsPeer::Client => TlsPeer::HTTPS_IN_CLIENT.to_string(),
        }
    }

    /// Returns the peer's name in TLS, if it isn't the host of its address.
    pub(crate) fn sni(&self) -> Option<&str> {
        self.0.sni.as_deref()
    }

    /// Returns whether certificates aren't verified.
    pub fn is_insecure(&self) -> bool {
        self.0.insecure
    }

    /// Returns whether it contains a private key.
    pub fn has_key(&self) -> bool {
        self.0.has_key
    }

    /// Returns whether a FIN without close_notify is accepted as the end of the data.
    pub fn ignores_unexpected_eof(&self) -> bool {
        matches!(self.0.peer, TlsPeer::Proxy | TlsPeer::Client) || self.0.ignore_unexpected_eof
    }

    /// Returns whether to report a FIN without close_notify of this peer: once for each.
    pub(crate) fn is_to_report(&self, peer: &HostPort) -> bool {
        let mut reported = self.0.reported.lock().unwrap_or_else(|e| e.into_inner());
        let is_new = reported.len() < REPORTED && !reported.contains(peer);
        if is_new {
            reported.push(peer.clone());
        }
        is_new
    }
}

impl fmt::Debug for TlsSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSpec")
            .field("peer", &self.0.peer)
            .field("insecure", &self.0.insecure)
            .field("has_key", &self.0.has_key)
            .finish()
    }
}

/// The ALPN list for proxies: one name with its length in front (RFC 7301 §3.1, §6).
const HTTP_1_1: &[u8] = b"\x08http/1.1";

/// Returns a builder that trusts the CAs in OpenSSL's default paths.
fn builder(peer: TlsPeer) -> Result<SslConnectorBuilder, ErrorStack> {
    let mut builder = SslConnector::builder(SslMethod::tls())?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2))?;
    // Without renegotiation, a write never waits for a read.
    builder.set_options(SslOptions::NO_RENEGOTIATION);
    sys::clear_auto_retry(&mut builder);
    // The protocol of a destination isn't known, and a server that chooses none speaks HTTP/1.1.
    if peer == TlsPeer::Proxy {
        builder.set_alpn_protos(HTTP_1_1)?;
    }
    // Sessions of clients are resumed by tickets; a cache would only take memory.
    if peer == TlsPeer::Client {
        builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    }
    Ok(builder)
}

fn trust_only(
    builder: &mut SslConnectorBuilder,
    path: &str,
    files: &mut Files,
    messages: &TlsMessages,
) -> Result<(), ParseError> {
    let fail = |why: String| complaint(TlsFile::Cas, messages.cacert, path, why);
    let certificates = files.certificates(path).map_err(fail)?;
    let fail = |e: ErrorStack| complaint(TlsFile::Cas, messages.cacert, path, e.to_string());
    let mut store = X509StoreBuilder::new().map_err(fail)?;
    for certificate in certificates {
        store.add_cert(certificate).map_err(fail)?;
    }
    builder.set_cert_store(store.build());
    // A certificate in this file is trusted even if it isn't a root, such as the peer's own
    // certificate.
    let flags = builder
        .verify_param_mut()
        .set_flags(X509VerifyFlags::PARTIAL_CHAIN);
    flags.map_err(fail)
}

fn identify(
    builder: &mut SslConnectorBuilder,
    cert: &str,
    key: &str,
    files: &mut Files,
    messages: &TlsMessages,
) -> Result<(), ParseError> {
    let fail = |why: String| complaint(TlsFile::Certificate, messages.cert, cert, why);
    let mut chain = files.certificates(cert).map_err(fail)?.into_iter();
    let fail = |e: ErrorStack| complaint(TlsFile::Certificate, messages.cert, cert, e.to_string());
    if let Some(own) = chain.next() {
        builder.set_certificate(&own).map_err(fail)?;
    }
    for between in chain {
        builder.add_extra_chain_cert(between).map_err(fail)?;
    }
    let option = if key == cert {
        messages.cert
    } else {
        messages.key
    };
    let private = files
        .private_key(key, messages)
        .map_err(|why| complaint(TlsFile::Key, option, key, why))?;
    let fits = builder
        .set_private_key(&private)
        .and_then(|()| builder.check_private_key());
    fits.map_err(|_| {
        let cert = Escaped(cert.as_bytes());
        let why = format!(
            "the key doesn't match the certificate in '{}'; use the key that it was issued for",
            cert
        );
        complaint(TlsFile::Key, option, key, why)
    })
}

/// Reads files and computes a digest of all of them.
struct Files(Sha256);

impl Files {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let bytes = fs::read(path).map_err(|e| file_fault(&e))?;
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(&bytes);
        Ok(bytes)
    }

    /// Returns the certificates of a PEM file, at least one.
    fn certificates(&mut self, path: &str) -> Result<Vec<X509>, String> {
        let pem = self.read(path)?;
        match X509::stack_from_pem(&pem) {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            _ => Err(
                "the file has no certificate in PEM format; convert one in DER with openssl \
                      x509 -inform der -in FILE -out cert.pem"
                    .into(),
            ),
        }
    }

    fn private_key(&mut self, path: &str, messages: &TlsMessages) -> Result<PKey<Private>, String> {
        let pem = self.read(path)?;
        let mut encrypted = false;
        // Without a callback, OpenSSL prompts on the terminal, which may be the tunnel's client.
        let key = PKey::private_key_from_pem_callback(&pem, |_| {
            encrypted = true;
            Ok(0)
        });
        key.map_err(|_| {
            if encrypted {
                "the key is encrypted; remove its passphrase with openssl pkey -in FILE -out key.pem"
                    .into()
            } else {
                format!(
                    "the file has no private key in PEM format; name the one that has it, e.g. {} \
                     key.pem",
                    messages.key
                )
            }
        })
    }
}

fn complaint(file: TlsFile, option: &str, path: &str, why: String) -> ParseError {
    let path = Escaped(path.as_bytes());
    ParseError::TlsFile(file, format!("{} '{}': {}", option, path, why))
}
