//! A list of destinations on the first line, a destination on the second: whether the one covers
//! the other, beside a second reading of the table in docs/guide.md that shares nothing with the
//! first.

use std::net::IpAddr;

use ptunnel_proto::values::{Host, HostPort, NoProxy, Pattern};

pub fn check(text: &str) {
    let (text, destination) = text.split_once('\n').unwrap_or((text, ""));
    let list = match text.parse::<NoProxy>() {
        Ok(list) => list,
        Err(e) => return crate::shown(&e.to_string()),
    };
    let destination = match destination.parse::<HostPort>() {
        Ok(destination) => destination,
        Err(e) => return crate::shown(&e.to_string()),
    };
    let covered = list.covers(&destination);
    assert!(covered || !list.covers_everything(), "{text:?}");
    assert_eq!(NoProxy::lenient(text), (list.clone(), None));

    let loud = text
        .to_ascii_uppercase()
        .parse::<NoProxy>()
        .expect("as right as before");
    let called = destination.to_string().to_ascii_uppercase();
    assert_eq!(
        loud.covers(&called.parse().expect("as right as before")),
        covered
    );

    let mut one_does = false;
    for entry in text.split(|c: char| c == ',' || c.is_ascii_whitespace()) {
        if !entry.is_empty() {
            let alone = entry
                .parse::<NoProxy>()
                .expect("an entry of a list that was taken");
            let does = alone.covers(&destination);
            match entry.parse::<Pattern>() {
                Ok(pattern) => assert_eq!(pattern.covers(&destination), does, "{entry:?}"),
                Err(_) => assert!(begins_elsewhere(entry), "{entry:?}"),
            }
            assert_eq!(
                does,
                covers(entry, &destination),
                "{entry:?} and {destination}"
            );
            one_does |= does;
        }
    }
    assert_eq!(covered, one_does, "{text:?} and {destination}");
}

/// Whether it is a block that is called by another address than its first.
fn begins_elsewhere(entry: &str) -> bool {
    block(parted(entry).0).is_some_and(|(network, bits)| digits(network)[bits..].contains(&1))
}

fn covers(entry: &str, destination: &HostPort) -> bool {
    let (host, port) = parted(entry);
    if port.is_some_and(|port| port != destination.port) {
        return false;
    }
    let host = host.trim_start_matches('.');
    if host == "*" {
        return true;
    }
    let host = host.strip_prefix("*.").unwrap_or(host);
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = inner.unwrap_or(host);
    match (block(host), &destination.host) {
        (Some((network, bits)), Host::Ip(ip)) => {
            let (network, wanted) = (digits(network), digits(*ip));
            // 32 or 128 of them: one family never covers the other.
            network.len() == wanted.len() && network[..bits] == wanted[..bits]
        }
        (None, Host::Name(name)) => {
            let labels = |name: &str| -> Vec<String> {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                name.split('.').map(str::to_string).collect()
            };
            labels(name).ends_with(&labels(host))
        }
        _ => false,
    }
}

/// An entry's host, as it is written, and its port.
fn parted(entry: &str) -> (&str, Option<u16>) {
    if block(entry).is_some() {
        return (entry, None); // the colons of IPv6
    }
    match entry.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (entry, None),
    }
}

/// An address is a block of one.
fn block(text: &str) -> Option<(IpAddr, usize)> {
    let (network, bits) = match text.split_once('/') {
        Some((network, bits)) => (network, Some(bits.parse().ok()?)),
        None => (text, None),
    };
    let network: IpAddr = network.parse().ok()?;
    let most = if network.is_ipv4() { 32 } else { 128 };
    let bits: usize = bits.unwrap_or(most);
    let is_mapped = network.to_canonical() != network;
    Some((network, if is_mapped { bits - 96 } else { bits }))
}

/// The bits of an address, IPv4 in IPv6's form as IPv4.
fn digits(ip: IpAddr) -> Vec<u8> {
    let octets = match ip.to_canonical() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    octets
        .iter()
        .flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1))
        .collect()
}
