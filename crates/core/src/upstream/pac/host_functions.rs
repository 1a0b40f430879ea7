//! The parts of the functions of `prelude.js` that JavaScript can't do.

use std::net::{IpAddr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::os::resolver::look_up;
use crate::os::source_address::source_address;
use ptunnel_proto::values::CidrList;

/// Returns the addresses of a host, separated by `;`; empty if it has none. Blocks.
pub(super) fn addresses(host: &str) -> String {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return ip.to_string();
    }
    let found = look_up(host, 0).unwrap_or_default();
    listed(found.iter().map(SocketAddr::ip))
}

/// Returns this machine's addresses, separated by `;`: those from which it would reach any other
/// network.
pub(super) fn own() -> String {
    // From the blocks for documentation (RFC 5737, RFC 3849), which no machine has.
    let v4 = IpAddr::from([192, 0, 2, 1]);
    let v6 = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]);
    let found = [v4, v6];
    let found = found
        .iter()
        .filter_map(|ip| source_address((*ip, 9).into()).ok()?);
    listed(found)
}

/// Returns whether an address is in a block such as `2001:db8::/32`; not if either is malformed.
pub(super) fn within(address: &str, block: &str) -> bool {
    match (address.parse(), block.parse()) {
        (Ok(ip), Ok(CidrList(blocks))) => blocks.iter().all(|block| block.covers(ip)),
        _ => false,
    }
}

/// Sorts a list of addresses, IPv6 first; returns an empty one if one isn't an address.
pub(super) fn sorted(list: &str) -> String {
    let parsed: Result<Vec<IpAddr>, _> = list.split(';').map(|text| text.trim().parse()).collect();
    let mut found = parsed.unwrap_or_default();
    found.sort_by_key(|ip| (ip.is_ipv4(), *ip));
    listed(found.into_iter())
}

/// Returns Unix time in milliseconds.
pub(super) fn clock() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as f64
}

fn listed(addresses: impl Iterator<Item = IpAddr>) -> String {
    let all: Vec<String> = addresses.map(|ip| ip.to_string()).collect();
    all.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_sort_within_their_family() {
        let list = "10.2.0.9; 2001:db8::2;10.10.0.1;2001:db8::1";
        assert_eq!(sorted(list), "2001:db8::1;2001:db8::2;10.2.0.9;10.10.0.1");
        assert_eq!(sorted("10.2.0.9;x"), "");
    }

    #[test]
    fn blocks_work_for_both_families() {
        assert!(within("10.1.2.3", "10.0.0.0/8") && !within("11.1.2.3", "10.0.0.0/8"));
        assert!(within("2001:db8::1", "2001:db8::/32") && !within("2001:db9::1", "2001:db8::/32"));
        assert!(!within("x", "10.0.0.0/8") && !within("10.0.0.1", "x"));
    }

    #[test]
    fn an_address_resolves_to_itself() {
        assert_eq!(addresses("10.1.2.3"), "10.1.2.3");
        assert_eq!(addresses("2001:DB8::1"), "2001:db8::1");
    }
}
