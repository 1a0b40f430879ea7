//! The server's name in the first bytes that a client sends it: the SNI of a TLS ClientHello
//! (RFC 8446 §4.1.2, RFC 6066 §3), or the `Host` of an HTTP/1 request (RFC 9110 §7.2).
//!
//! For connections whose client named only an address. It must not change or consume the bytes: they
//! are the server's.

use super::http::head::is_handshake;
use super::{ConnectHead, HEAD_LIMIT};
use crate::config::Host;

/// Content type of a record of the handshake (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;
/// Type of the handshake message ClientHello (RFC 8446 §4).
const CLIENT_HELLO: usize = 1;
/// Maximum length of a record without encryption (RFC 8446 §5.1).
const RECORD_LIMIT: usize = 1 << 14;
/// Type of the extension server_name (RFC 8446 §4.2).
const SERVER_NAME: usize = 0;
/// Type of a DNS name in it (RFC 6066 §3).
const HOST_NAME: usize = 0;

/// The bytes hold no name, whatever follows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoServerName;

/// Returns the name of the server that a client's first bytes hold, or `None` if more bytes are
/// needed. It looks at no more than 16 KiB. An address isn't a name.
///
/// # Errors
///
/// [`NoServerName`] if the bytes hold no name, or are neither TLS nor HTTP/1.
pub fn server_name(bytes: &[u8]) -> Result<Option<Host>, NoServerName> {
    let name = match bytes.first() {
        None => None,
        Some(&HANDSHAKE) => sni(bytes)?,
        Some(_) => host(bytes)?,
    };
    match name {
        Some(name) => match name.parse() {
            Ok(Host::Name(name)) => Ok(Some(Host::Name(name))),
            Ok(Host::Ip(_)) | Err(_) => Err(NoServerName),
        },
        None if bytes.len() < HEAD_LIMIT => Ok(None),
        None => Err(NoServerName),
    }
}

/// Returns the `Host` of a request, without its port, once its head is complete.
///
/// Only a request to a server has a path as its target (RFC 9112 §3.2.1, §3.2.4). A client that sends
/// another one speaks to a proxy, whose name isn't in `Host`.
fn host(bytes: &[u8]) -> Result<Option<String>, NoServerName> {
    let decoded = ConnectHead::decode(bytes, HEAD_LIMIT).map_err(|_| NoServerName)?;
    let head = match decoded {
        Some((head, _)) => head,
        None => return Ok(None),
    };
    let is_for_server = head.target.starts_with('/') || head.target == "*";
    let host = head.host.filter(|_| is_for_server).ok_or(NoServerName)?;
    let name = host.rsplitn(2, ':').last().unwrap_or_default();
    Ok(Some(name.to_string()))
}

/// Returns the server name of a ClientHello, once that is complete.
fn sni(bytes: &[u8]) -> Result<Option<String>, NoServerName> {
    let hello = match client_hello(bytes)? {
        Some(hello) => hello,
        None => return Ok(None),
    };
    let name = host_name(&hello).ok_or(NoServerName)?;
    let name = String::from_utf8(name.to_vec()).map_err(|_| NoServerName)?;
    Ok(Some(name))
}

/// Returns the body of a ClientHello, joined from its records, once all of it has arrived.
fn client_hello(bytes: &[u8]) -> Result<Option<Vec<u8>>, NoServerName> {
    let mut message = Vec::new();
    let mut records = Fields(bytes);
    while let Some(kind_and_version) = records.take(3) {
        let length = match records.number(2) {
            Some(length) => length,
            None => return Ok(None),
        };
        if !is_handshake(kind_and_version) || length == 0 || length > RECORD_LIMIT {
            return Err(NoServerName);
        }
        let arrived = length.min(records.0.len());
        message.extend_from_slice(records.take(arrived).unwrap_or_default());
        let mut begun = Fields(&message);
        if begun.number(1).map_or(false, |kind| kind != CLIENT_HELLO) {
            return Err(NoServerName);
        }
        if let Some(length) = begun.number(3) {
            if length > HEAD_LIMIT {
                return Err(NoServerName);
            }
            if let Some(hello) = begun.take(length) {
                return Ok(Some(hello.to_vec()));
            }
        }
    }
    Ok(None)
}

/// Returns the name in the body of a ClientHello.
fn host_name(hello: &[u8]) -> Option<&[u8]> {
    const VERSION_AND_RANDOM: usize = 2 + 32;
    let mut hello = Fields(hello);
    hello.take(VERSION_AND_RANDOM)?;
    hello.vector(1)?; // session ID
    hello.vector(2)?; // cipher suites
    hello.vector(1)?; // compression methods
    let mut extensions = Fields(hello.vector(2)?);
    loop {
        let kind = extensions.number(2)?;
        let extension = extensions.vector(2)?;
        if kind == SERVER_NAME {
            let mut names = Fields(Fields(extension).vector(2)?);
            loop {
                let kind = names.number(1)?;
                let name = names.vector(2)?;
                if kind == HOST_NAME {
                    return Some(name);
                }
            }
        }
    }
}

/// The fields of TLS's presentation language (RFC 8446 §3). Each method takes one from the front, or
/// returns `None` if the bytes end before it does.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.0.get(..length)?;
        self.0 = &self.0[length..];
        Some(taken)
    }

    /// Takes a number of `length` bytes.
    fn number(&mut self, length: usize) -> Option<usize> {
        let bytes = self.take(length)?;
        Some(
            bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
        )
    }

    /// Takes a vector whose length is a number of `length` bytes.
    fn vector(&mut self, length: usize) -> Option<&'a [u8]> {
        let length = self.number(length)?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests;
