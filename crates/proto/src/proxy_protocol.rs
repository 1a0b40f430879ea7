//! The PROXY protocol of HAProxy, versions 1 and 2: a header in front of a connection's bytes that
//! names the client and the address that it connected to.
//!
//! A header is read without a byte of what follows: [`decode`] returns how many bytes are surely
//! missing, so that the socket still holds all that the client has sent.

use std::convert::TryInto;
use std::error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str;

use crate::text::escape::Escaped;
use crate::values::{unmap_ipv4, ProxyProtocol};

/// Maximum length of a header of version 1, with its CRLF (proxy-protocol.txt §2.1).
const V1_LIMIT: usize = 107;

/// The length of the shortest header of version 1, `PROXY UNKNOWN` and CRLF.
const V1_LEAST: usize = 15;

/// Maximum length of a header of version 2, with its extensions, which ptunnel skips.
const V2_LIMIT: usize = 4096;

/// The length of a header of version 2 without addresses.
const V2_LEAST: usize = 16;

const V1_START: &[u8] = b"PROXY ";
const V2_START: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// A client, and the address that it connected to. Both are of the same IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddresses {
    /// The client's address.
    pub client: SocketAddr,
    /// The address that it connected to.
    pub listener: SocketAddr,
}

impl ClientAddresses {
    /// Returns the addresses of a connection. Those of an IPv4 client of an IPv6 socket are IPv4.
    pub fn new(client: SocketAddr, listener: SocketAddr) -> ClientAddresses {
        let unmapped = |address: SocketAddr| -> SocketAddr {
            (unmap_ipv4(address.ip()), address.port()).into()
        };
        ClientAddresses {
            client: unmapped(client),
            listener: unmapped(listener),
        }
    }
}

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The beginning of a header, of which at least so many bytes are missing.
    Missing(usize),
    /// A header of so many bytes; `None` for a connection of the balancer itself, or one whose
    /// addresses it doesn't know.
    Whole(Option<ClientAddresses>, usize),
}

/// Decodes the header that `bytes` begin with.
///
/// # Errors
///
/// The first bytes can't be a header, or it is too long.
pub fn decode(bytes: &[u8]) -> Result<Decoded, BadHeader> {
    if begin_alike(bytes, V1_START) && bytes.first() == Some(&V1_START[0]) {
        decode_v1(bytes)
    } else if begin_alike(bytes, V2_START) {
        match bytes.len() {
            0 => Ok(Decoded::Missing(V1_LEAST)), // of either version
            _ => decode_v2(bytes),
        }
    } else {
        Err(BadHeader::Absent(bytes[..bytes.len().min(16)].to_vec()))
    }
}

/// Returns whether one of them begins with the other.
fn begin_alike(bytes: &[u8], start: &[u8]) -> bool {
    bytes.iter().zip(start).all(|(one, other)| one == other)
}

fn decode_v1(bytes: &[u8]) -> Result<Decoded, BadHeader> {
    let within = &bytes[..bytes.len().min(V1_LIMIT)];
    let end = within.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
    match end.map(|end| (end, &within[end..])) {
        Some((end, [b'\r', b'\n', ..])) => {
            let addresses = parse_line(&within[..end]).ok_or_else(|| wrong_line(within))?;
            Ok(Decoded::Whole(addresses, end + 2))
        }
        Some((end, [b'\r'])) if end + 1 < V1_LIMIT => Ok(Decoded::Missing(1)),
        None if within.len() + 2 <= V1_LIMIT => {
            // Each space that is missing has a word behind it.
            let spaces = within.iter().filter(|byte| **byte == b' ').count();
            let missing = match within.get(..V1_START.len() + 1) {
                Some([.., b'T']) => 2 * 5usize.saturating_sub(spaces) + 2,
                _ => 2,
            };
            let least = V1_LEAST.saturating_sub(within.len());
            Ok(Decoded::Missing(least.max(missing)))
        }
        Some(_) => Err(wrong_line(within)),
        None => Err(BadHeader::TooLong(V1_LIMIT)),
    }
}

fn wrong_line(bytes: &[u8]) -> BadHeader {
    BadHeader::Line(bytes.to_vec())
}

/// Parses the line of version 1 without its end; `None` if it is wrong.
fn parse_line(line: &[u8]) -> Option<Option<ClientAddresses>> {
    let words: Vec<&str> = str::from_utf8(line).ok()?.split(' ').collect();
    let (is_v4, client, listener, client_port, listener_port) = match words[..] {
        ["PROXY", "UNKNOWN", ..] => return Some(None),
        ["PROXY", "TCP4", a, b, c, d] => (true, a, b, c, d),
        ["PROXY", "TCP6", a, b, c, d] => (false, a, b, c, d),
        _ => return None,
    };
    let address = |ip: &str, port: &str| -> Option<SocketAddr> {
        let ip = ip.parse::<IpAddr>().ok().filter(|ip| ip.is_ipv4() == is_v4);
        // `u16` would also take "+80".
        let is_number = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        Some((ip?, port.parse().ok().filter(|_| is_number)?).into())
    };
    Some(Some(ClientAddresses::new(
        address(client, client_port)?,
        address(listener, listener_port)?,
    )))
}

fn decode_v2(bytes: &[u8]) -> Result<Decoded, BadHeader> {
    let (command, family, length) = match bytes.get(V2_START.len()..V2_LEAST) {
        Some(&[command, family, high, low]) => (command, family, u16::from_be_bytes([high, low])),
        _ => {
            // What can't become valid is refused at once.
            return match bytes.get(V2_START.len()) {
                Some(command) if !matches!(command, 0x20 | 0x21) => {
                    Err(BadHeader::Command(*command))
                }
                _ => Ok(Decoded::Missing(V2_LEAST - bytes.len())),
            };
        }
    };
    let (end, length) = (V2_LEAST + usize::from(length), usize::from(length));
    let has_client = match command {
        0x20 => false,
        0x21 => true,
        _ => return Err(BadHeader::Command(command)),
    };
    let size = match family {
        _ if !has_client => 0,
        0x11 => 4,
        0x21 => 16,
        // Without an address, or of another kind than a connection over TCP.
        0x00..=0x02 | 0x10 | 0x12 | 0x20 | 0x22 | 0x30..=0x32 => 0,
        _ => return Err(BadHeader::Family(family)),
    };
    if size > 0 && length < 2 * size + 4 {
        return Err(BadHeader::TooShort(length));
    }
    if end > V2_LIMIT {
        return Err(BadHeader::TooLong(V2_LIMIT));
    }
    let block = match bytes.get(V2_LEAST..end) {
        None => return Ok(Decoded::Missing(end - bytes.len())),
        Some(block) => block,
    };
    if size == 0 {
        return Ok(Decoded::Whole(None, end));
    }
    let port = |at: usize| u16::from_be_bytes([block[at], block[at + 1]]);
    let client = (ip(&block[..size]), port(2 * size)).into();
    let listener = (ip(&block[size..2 * size]), port(2 * size + 2)).into();
    let addresses = ClientAddresses::new(client, listener);
    Ok(Decoded::Whole(Some(addresses), end))
}

/// Returns the address of 4 or 16 octets.
fn ip(octets: &[u8]) -> IpAddr {
    let v4: Result<[u8; 4], _> = octets.try_into();
    match v4 {
        Ok(octets) => octets.into(),
        Err(_) => {
            let octets: [u8; 16] = octets.try_into().expect("4 or 16 octets");
            octets.into()
        }
    }
}

/// Encodes the header of a connection for this client; `None` for one without an address.
pub fn encode(version: ProxyProtocol, client: Option<&ClientAddresses>) -> Vec<u8> {
    let client = client.map(same_family);
    match version {
        ProxyProtocol::V1 => match client {
            None => b"PROXY UNKNOWN\r\n".to_vec(),
            Some((client, listener)) => format!(
                "PROXY {} {} {} {} {}\r\n",
                if client.is_ipv4() { "TCP4" } else { "TCP6" },
                client.ip(),
                listener.ip(),
                client.port(),
                listener.port()
            )
            .into_bytes(),
        },
        ProxyProtocol::V2 => encode_v2(client),
    }
}

fn encode_v2(client: Option<(SocketAddr, SocketAddr)>) -> Vec<u8> {
    let mut block = Vec::new();
    let (command, family) = match client {
        None => (0x20, 0x00),
        Some((client, listener)) => {
            for address in &[client, listener] {
                match address.ip() {
                    IpAddr::V4(ip) => block.extend_from_slice(&ip.octets()),
                    IpAddr::V6(ip) => block.extend_from_slice(&ip.octets()),
                }
            }
            block.extend_from_slice(&client.port().to_be_bytes());
            block.extend_from_slice(&listener.port().to_be_bytes());
            (0x21, if client.is_ipv4() { 0x11 } else { 0x21 })
        }
    };
    let mut header = V2_START.to_vec();
    header.extend_from_slice(&[command, family, 0, block.len() as u8]);
    header.extend(block);
    header
}

/// Returns both addresses as IPv6 if only one of them is IPv4.
fn same_family(addresses: &ClientAddresses) -> (SocketAddr, SocketAddr) {
    let ClientAddresses { client, listener } = *addresses;
    if client.is_ipv4() == listener.is_ipv4() {
        return (client, listener);
    }
    let mapped = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => (ip.to_ipv6_mapped(), address.port()).into(),
        IpAddr::V6(_) => address,
    };
    (mapped(client), mapped(listener))
}

/// Why the first bytes of a connection aren't a valid header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadHeader {
    /// They aren't a header; these are the first of them.
    Absent(Vec<u8>),
    /// The line of version 1 is wrong.
    Line(Vec<u8>),
    /// Another command than LOCAL and PROXY, or another version than 2.
    Command(u8),
    /// A family or transport that isn't assigned.
    Family(u8),
    /// The block of this length has no room for the addresses.
    TooShort(usize),
    /// The header has more bytes than this limit.
    TooLong(usize),
}

impl fmt::Display for BadHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadHeader::Absent(bytes) => write!(f, "it begins with '{}'", Escaped(bytes)),
            BadHeader::Line(bytes) => write!(f, "its line is '{}'", Escaped(bytes)),
            BadHeader::Command(byte) => write!(f, "its version and command are 0x{:02x}", byte),
            BadHeader::Family(byte) => write!(f, "its address family is 0x{:02x}", byte),
            BadHeader::TooShort(length) => {
                write!(f, "its {} bytes have no room for the addresses", length)
            }
            BadHeader::TooLong(limit) => write!(f, "it exceeds {} bytes", limit),
        }
    }
}

impl error::Error for BadHeader {}

#[cfg(test)]
mod tests;
