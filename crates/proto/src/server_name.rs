//! The server's name in the first bytes that a client sends it: the SNI of a TLS ClientHello
//! (RFC 8446 §4.1.2, RFC 6066 §3), or the `Host` of an HTTP/1 request (RFC 9110 §7.2).
//!
//! For connections whose client named only an address. It must not change or consume the bytes: they
//! are the server's.

use super::http::head::{is_handshake, HeadEnd};
use super::{ConnectHead, HEAD_LIMIT};
use crate::values::Host;

/// Number of first bytes that are decoded as they arrive: a request begins with its method, and another
/// protocol differs there.
const METHOD: usize = 16;
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

/// The first bytes of a client, as far as they have arrived.
#[derive(Debug, Default)]
pub struct ServerNameReader {
    bytes: Vec<u8>,
    /// Of a request.
    head: HeadEnd,
    /// Of a ClientHello.
    records: Records,
}

impl ServerNameReader {
    /// Adds a piece; returns the name of the server, or `None` if more bytes are needed. It looks at no
    /// more than 16 KiB. An address isn't a name.
    ///
    /// # Errors
    ///
    /// [`NoServerName`] if the bytes hold no name, or are neither TLS nor HTTP/1.
    pub fn extend(&mut self, piece: &[u8]) -> Result<Option<Host>, NoServerName> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(piece);
        // Another protocol must not wait for the end of a line.
        let is_due = self.head.is_due(&self.bytes) || begin < METHOD;
        let name = match self.bytes.first() {
            None => None,
            Some(&HANDSHAKE) => match self.records.hello(&self.bytes)? {
                Some(hello) => Some(sni(&hello)?),
                None => None,
            },
            Some(_) if is_due => host(whole_lines(&self.bytes))?,
            Some(_) => None,
        };
        match name {
            Some(name) => match name.parse() {
                Ok(Host::Name(name)) => Ok(Some(Host::Name(name))),
                Ok(Host::Ip(_)) | Err(_) => Err(NoServerName),
            },
            None if self.bytes.len() < HEAD_LIMIT => Ok(None),
            None => Err(NoServerName),
        }
    }

    /// Returns the bytes that have arrived.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Returns the bytes up to the last line end, at least the method, so that the answer doesn't depend on
/// the pieces in which they arrive.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    &bytes[..end.map_or(0, |end| end + 1).max(bytes.len().min(METHOD))]
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

/// Returns the server name in the body of a ClientHello.
fn sni(hello: &[u8]) -> Result<String, NoServerName> {
    let name = host_name(hello).ok_or(NoServerName)?;
    String::from_utf8(name.to_vec()).map_err(|_| NoServerName)
}

/// The position in the records that hold a ClientHello.
#[derive(Debug, Default)]
struct Records {
    /// The number of bytes that were taken from the records.
    taken: usize,
    /// The rest of the current record.
    left: usize,
    /// The message, joined from the records.
    message: Vec<u8>,
}

impl Records {
    /// Returns the body of a ClientHello, once all of it has arrived. `bytes` begin with those of the
    /// last call.
    fn hello(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, NoServerName> {
        loop {
            let mut rest = Fields(&bytes[self.taken..]);
            if self.left == 0 {
                let (kind_and_version, length) = match (rest.take(3), rest.number(2)) {
                    (Some(start), Some(length)) => (start, length),
                    _ => return Ok(None),
                };
                if !is_handshake(kind_and_version) || length == 0 || length > RECORD_LIMIT {
                    return Err(NoServerName);
                }
                self.left = length;
            }
            let arrived = self.left.min(rest.0.len());
            self.left -= arrived;
            self.message.extend(rest.take(arrived).unwrap_or_default());
            self.taken = bytes.len() - rest.0.len();
            let mut begun = Fields(&self.message);
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
            if self.left > 0 {
                return Ok(None);
            }
        }
    }
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
