//! TLS of the servers in `src/bin/` and `legacy/`: the system's OpenSSL, set up in one way for all.
//!
//! Also compiled into `legacy/`, so it keeps to edition 2018.

use std::io;

use openssl::ssl::{SslAcceptor, SslFiletype, SslMethod};

use super::serving::Serving;

/// The one cipher of all servers and of the load, so that no two servers use different ones.
pub const CIPHER: &str = "TLS_AES_128_GCM_SHA256";

/// An acceptor with the certificate of the command line.
///
/// # Errors
/// When there is none, or OpenSSL doesn't take it.
pub fn acceptor(serving: &Serving) -> io::Result<SslAcceptor> {
    let missing = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "-c CERTIFICATE -k KEY are needed",
        )
    };
    let [certificate, key] = serving.certificate.as_ref().ok_or_else(missing)?;
    // TLS 1.3 and nothing else.
    let mut builder = SslAcceptor::mozilla_modern_v5(SslMethod::tls_server())?;
    builder.set_ciphersuites(CIPHER)?;
    builder.set_certificate_chain_file(certificate)?;
    builder.set_private_key_file(key, SslFiletype::PEM)?;
    Ok(builder.build())
}
