//! SOCKS5 (RFC 1928), without authentication, or with a username and a password (RFC 1929).
//!
//! Each function decodes a message; it returns the length, too, or `None` if it isn't complete.

use std::convert::TryFrom;
use std::net::IpAddr;

use super::super::atyp;
use super::{destination, named, SocksRejection, CONNECT, LOGIN_VERSION, VERSION};
use crate::auth::{LoginCheck, Verdict};
use crate::values::{Host, HostPort};

/// Decodes `05 NMETHODS METHODS`, which must hold `method` (RFC 1928 §3).
pub(super) fn greeting(bytes: &[u8], method: u8) -> Result<Option<usize>, SocksRejection> {
    match bytes.get(1..).and_then(counted) {
        None => Ok(None),
        Some((methods, _)) if methods.contains(&method) => Ok(Some(2 + methods.len())),
        Some(_) => Err(SocksRejection::Method(method)),
    }
}

/// Decodes `01 ULEN UNAME PLEN PASSWD`, which must pass the `check` (RFC 1929 §2). `None` also means
/// that the check is pending.
pub(super) fn login(bytes: &[u8], check: &dyn LoginCheck) -> Result<Option<usize>, SocksRejection> {
    match bytes.first() {
        Some(version) if *version != LOGIN_VERSION => {
            return Err(SocksRejection::LoginVersion(*version))
        }
        _ => {}
    }
    let named = bytes.get(1..).and_then(counted);
    let (user, password) = match named.map(|(user, rest)| (user, counted(rest))) {
        Some((user, Some((password, _)))) => (user, password),
        _ => return Ok(None),
    };
    match check.check(user, password) {
        Verdict::Accepted => Ok(Some(3 + user.len() + password.len())),
        Verdict::Pending => Ok(None),
        Verdict::Refused(fault) => Err(SocksRejection::Login(fault)),
    }
}

/// Splits the bytes after the first, which is the length of the first part.
fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first()?;
    let count = usize::from(*count);
    if count <= rest.len() {
        Some(rest.split_at(count))
    } else {
        None
    }
}

/// Decodes `05 01 00 ATYP ADDRESS PORT` (RFC 1928 §4).
pub(super) fn request(bytes: &[u8]) -> Result<Option<(HostPort, usize)>, SocksRejection> {
    let (kind, address) = match bytes {
        [version, ..] if *version != VERSION => return Err(SocksRejection::Version(*version)),
        [version, code, ..] if *code != CONNECT => {
            let (version, code) = (*version, *code);
            return Err(SocksRejection::Command { version, code });
        }
        [_, _, _, kind, address @ ..] => (*kind, address),
        _ => return Ok(None),
    };
    let (skipped, length) = match (kind, address.first()) {
        (atyp::IPV4, _) => (0, 4),
        (atyp::IPV6, _) => (0, 16),
        (atyp::NAME, Some(length)) => (1, usize::from(*length)),
        (atyp::NAME, None) => return Ok(None),
        _ => return Err(SocksRejection::AddressType(kind)),
    };
    let end = skipped + length;
    let (address, port) = match (address.get(skipped..end), address.get(end..end + 2)) {
        (Some(address), Some(port)) => (address, u16::from_be_bytes([port[0], port[1]])),
        _ => return Ok(None),
    };
    let destination = destination(VERSION, host(address, kind), port)?;
    Ok(Some((destination, 4 + end + 2)))
}

fn host(address: &[u8], kind: u8) -> Result<Host, String> {
    let v4 = <[u8; 4]>::try_from(address).map(IpAddr::from);
    let v6 = <[u8; 16]>::try_from(address).map(IpAddr::from);
    match (kind, v4, v6) {
        (atyp::IPV4, Ok(ip), _) | (atyp::IPV6, _, Ok(ip)) => Ok(Host::Ip(ip)),
        _ => named(address),
    }
}

#[cfg(test)]
mod tests;
