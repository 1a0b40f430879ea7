//! The options about TLS.

use std::fs;

use super::file_permissions;
use super::options::Options;
use ptunnel_core::config::TlsSpec;
use ptunnel_core::error::Error;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{Host, ParseError, TlsFile, TlsOptions, TlsPeer};

const IGNORE_EOF: &str = "ignore-unexpected-eof";

/// Returns the TLS settings for a kind of peer; `None`, with warnings about unused options, if no
/// peer needs TLS.
pub(super) fn tls(
    options: &Options,
    peer: TlsPeer,
    is_needed: bool,
    warnings: &mut Vec<String>,
) -> Result<Option<TlsSpec>, Error> {
    let (names, why): (&[&str], _) = match peer {
        TlsPeer::Proxy | TlsPeer::PacServer => (
            &[
                "proxy-cacert",
                "proxy-cert",
                "proxy-key",
                "proxy-insecure",
                "proxy-sni",
            ],
            "no https:// proxy is given",
        ),
        TlsPeer::Destination | TlsPeer::Client => (
            &["cacert", "cert", "key", "insecure", "sni", IGNORE_EOF],
            "no tls:// destination is given",
        ),
    };
    let given = |index: usize| options.value_of(names[index]).map(str::to_string);
    // The certificate and the name are for the proxies alone.
    let is_known = peer != TlsPeer::PacServer;
    let tls_options = TlsOptions {
        peer,
        cacert: given(0),
        cert: given(1).filter(|_| is_known),
        key: given(2).filter(|_| is_known),
        insecure: options.is_present(names[3]),
        sni: options
            .one_with(names[4], server_name)?
            .filter(|_| is_known),
        ignore_unexpected_eof: peer == TlsPeer::Destination && options.is_present(IGNORE_EOF),
    };
    if !is_needed {
        warnings.extend(options.unused(names, why));
        return Ok(None);
    }
    let spec = TlsSpec::load(&tls_options).map_err(|e| blame(options, &names[..3], e))?;
    warnings.extend(
        tls_options
            .key
            .or(tls_options.cert)
            .and_then(|path| exposed(&path)),
    );
    Ok(Some(spec))
}

/// Parses a name that TLS can send: an address isn't one (RFC 6066 §3).
fn server_name(text: &str) -> Result<String, ParseError> {
    match text.parse::<Host>()? {
        Host::Name(name) => Ok(name.to_string()),
        Host::Ip(ip) => Err(ParseError::new(format!(
            "invalid name '{}': TLS sends names, not addresses; e.g. www.example.org",
            ip
        ))),
    }
}

/// Returns the TLS of the listeners; `is_needed` says whether one can have it.
pub(super) fn listen_tls(
    options: &Options,
    is_needed: bool,
    warnings: &mut Vec<String>,
) -> Result<Option<TlsSpec>, Error> {
    let cert = match options.value_of("listen-cert") {
        Some(cert) => cert.to_string(),
        None => return Ok(None),
    };
    if !is_needed {
        let why = "--listen-cert is for -D and --serve-proxy; other listeners carry the bytes of \
                   their clients as they are: for TLS with the clients of a tunnel, put stunnel in \
                   front of it";
        return Err(options.blame("listen-cert", Error::usage(why)));
    }
    let tls_options = TlsOptions {
        cert: Some(cert.clone()),
        key: options.value_of("listen-key").map(str::to_string),
        ..TlsOptions::of(TlsPeer::Client)
    };
    let names = ["", "listen-cert", "listen-key"];
    let spec = TlsSpec::load(&tls_options).map_err(|e| blame(options, &names, e))?;
    warnings.extend(exposed(&tls_options.key.unwrap_or(cert)));
    Ok(Some(spec))
}

/// Returns the error with the position of the option that names its file.
fn blame(options: &Options, names: &[&str], e: ParseError) -> Error {
    let name = match e {
        ParseError::TlsFile(TlsFile::Cas, _) => names[0],
        ParseError::TlsFile(TlsFile::Key, _) if options.is_present(names[2]) => names[2],
        // The certificate's file has the key, too.
        ParseError::TlsFile(..) => names[1],
        // An error that no file has: the only option has its position.
        _ => {
            let mut given = names.iter().filter(|name| options.is_present(name));
            match (given.next(), given.next()) {
                (Some(name), None) => name,
                _ => return options.whole(e.into()),
            }
        }
    };
    options.blame(name, e)
}

/// Returns a warning about a key that other users can read.
fn exposed(path: &str) -> Option<String> {
    let remedy = file_permissions::remedy(path, &fs::metadata(path).ok()?)?;
    Some(format!(
        "other users can read the key in '{}'; run {}",
        Escaped(path.as_bytes()),
        remedy
    ))
}
