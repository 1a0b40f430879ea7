//! The order in which the addresses of a host are tried.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::config::{Family, Version};
use crate::error::Advised;
use crate::os::source_address::source_address;
use ptunnel_proto::values::unmap_ipv4;

/// Returns the addresses of the wanted family without duplicates, the IP versions alternating
/// (RFC 8305 §4).
///
/// # Errors
///
/// `NotFound` if there is none; `PermissionDenied` if a listener of this process is at all of them or,
/// with [`Family::exclude_local`], if all are local; and any error of the socket that finds out whether
/// an address is this machine's.
pub(super) fn in_order(found: Vec<SocketAddr>, family: Family) -> io::Result<Vec<SocketAddr>> {
    in_order_with(found, family, is_assigned_here)
}

/// `is_here` returns whether an interface of this machine has the address.
fn in_order_with(
    mut found: Vec<SocketAddr>,
    family: Family,
    is_here: impl Fn(IpAddr) -> io::Result<bool>,
) -> io::Result<Vec<SocketAddr>> {
    if family.exclude_local {
        let why = "blocked: this machine or its link; use --serve-allow to allow it \
                   (--serve-proxy only)";
        found = without(found, why, |ip| {
            let carried = carried(ip).into_iter().map(IpAddr::V4);
            let mut is_local = false;
            for ip in carried.chain(Some(ip)) {
                is_local = is_local || is_near(ip) || is_here(ip)?;
            }
            Ok(is_local)
        })?;
    }
    let own = found.first().map(|address| family.own.at(address.port()));
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        let why = "loop: ptunnel itself listens there; change the proxy or the destination";
        found = without(found, why, |ip| leads_to(ip, &own, &is_here))?;
    }
    let wanted = |address: &SocketAddr| match family.version {
        Version::Any => true,
        Version::V4 => address.is_ipv4(),
        Version::V6 => address.is_ipv6(),
    };
    let mut ordered: Vec<SocketAddr> = Vec::with_capacity(found.len());
    let (mut first, mut second): (Vec<_>, Vec<_>) = match found.first() {
        Some(leader) => {
            let leads = leader.is_ipv6();
            found
                .into_iter()
                .filter(wanted)
                .partition(|a| a.is_ipv6() == leads)
        }
        None => (Vec::new(), Vec::new()),
    };
    first.reverse();
    second.reverse();
    while !first.is_empty() || !second.is_empty() {
        for queue in &mut [&mut first, &mut second] {
            if let Some(address) = queue.pop() {
                // The resolver repeats an address for each socket type it knows.
                if !ordered.contains(&address) {
                    ordered.push(address);
                }
            }
        }
    }
    if ordered.is_empty() {
        let what = match family.version {
            Version::Any => "no address",
            Version::V4 => "no IPv4 address",
            Version::V6 => "no IPv6 address",
        };
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    Ok(ordered)
}

/// Returns the addresses without those that are excluded.
///
/// # Errors
///
/// `PermissionDenied` with the reason `why` if all are; an error of `is_excluded`.
fn without(
    found: Vec<SocketAddr>,
    why: &'static str,
    is_excluded: impl Fn(IpAddr) -> io::Result<bool>,
) -> io::Result<Vec<SocketAddr>> {
    let mut others = Vec::with_capacity(found.len());
    for address in &found {
        if !is_excluded(unmap_ipv4(address.ip()))? {
            others.push(*address);
        }
    }
    if others.is_empty() && !found.is_empty() {
        let why = Advised(why.into());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(others)
}

/// Returns whether a connection to `ip` reaches a listener that is bound to one of these addresses, all
/// at its port.
fn leads_to(
    ip: IpAddr,
    listening: &[IpAddr],
    is_here: impl Fn(IpAddr) -> io::Result<bool>,
) -> io::Result<bool> {
    let ip = match ip {
        IpAddr::V4(v4) if v4.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(v6) if v6.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    for bound in listening {
        // The unspecified IPv6 address accepts IPv4, too.
        let is_any = bound.is_unspecified() && (bound.is_ipv6() || ip.is_ipv4());
        if unmap_ipv4(*bound) == ip || is_any && (ip.is_loopback() || is_here(ip)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether an address is loopback, unspecified (which connects to loopback), link-local or a
/// cloud's metadata service, which hands out secrets.
fn is_near(ip: IpAddr) -> bool {
    let is_link_local = match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    };
    is_link_local || ip.is_loopback() || ip.is_unspecified() || METADATA.contains(&ip)
}

/// Metadata services of clouds that aren't link-local.
const METADATA: &[IpAddr] = &[
    // Alibaba Cloud
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    // Azure
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    // Oracle Cloud
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    // AWS
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    // Google Cloud
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Returns the IPv4 addresses that an IPv6 address can represent at a translator or a tunnel
/// endpoint. Their position depends on the length of the translator's prefix (RFC 6052 §2.2): for
/// the prefix that allows any length, each position counts.
fn carried(ip: IpAddr) -> Vec<Ipv4Addr> {
    let v6 = match ip {
        IpAddr::V6(v6) => v6,
        IpAddr::V4(_) => return Vec::new(),
    };
    let o = v6.octets();
    let at_end = Ipv4Addr::new(o[12], o[13], o[14], o[15]);
    match v6.segments() {
        // NAT64 (RFC 6052 §2.1)
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => vec![at_end],
        // local NAT64 (RFC 8215), with prefixes of 48, 56, 64 and 96 bits
        [0x64, 0xff9b, 1, ..] => {
            let places = vec![
                Ipv4Addr::new(o[6], o[7], o[9], o[10]),
                Ipv4Addr::new(o[7], o[9], o[10], o[11]),
                Ipv4Addr::new(o[9], o[10], o[11], o[12]),
                at_end,
            ];
            // Zeros are no address, unless there is nothing else.
            let is_empty = |ip: &Ipv4Addr| ip.is_unspecified();
            if places.iter().all(is_empty) {
                return places;
            }
            places.into_iter().filter(|ip| !is_empty(ip)).collect()
        }
        // 6to4 (RFC 3056 §2)
        [0x2002, ..] => vec![Ipv4Addr::new(o[2], o[3], o[4], o[5])],
        // IPv4-compatible (RFC 4291 §2.5.5.1)
        [0, 0, 0, 0, 0, 0, _, _] => vec![at_end],
        _ => Vec::new(),
    }
}

/// Returns whether this machine has the address: connections to its own address come from the same
/// one. (Binding to it would succeed for every address where `ip_nonlocal_bind` is set.)
fn is_assigned_here(ip: IpAddr) -> io::Result<bool> {
    // Any port but 0, to which no socket connects.
    Ok(source_address((ip, 9).into())? == Some(ip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::own_sockets::{OwnListener, OwnSockets};

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_alternate_after_the_resolvers_first_address() {
        let found = addresses(&["[::1]:1", "[::2]:1", "1.0.0.1:1", "1.0.0.2:1", "1.0.0.2:1"]);
        let ordered = in_order(found, Family::ANY).unwrap();
        assert_eq!(
            ordered,
            addresses(&["[::1]:1", "1.0.0.1:1", "[::2]:1", "1.0.0.2:1"])
        );
    }

    #[test]
    fn exclude_local_leaves_out_this_machine_and_its_link() {
        let elsewhere = |texts: &[&str]| {
            let is_here = |ip| Ok(ip == IpAddr::from([192, 0, 2, 7]));
            in_order_with(addresses(texts), Family::ANY.elsewhere(), is_here)
        };
        for text in &[
            "127.9.9.9:1",
            "0.0.0.0:1",
            "192.0.2.7:1",
            "[::ffff:192.0.2.7]:1",
            "169.254.169.254:1",
            "[::ffff:169.254.169.254]:1",
            "[::1]:1",
            "[::]:1",
            "[fe80::1]:1",
            "[febf::1]:1",
            "100.100.100.200:1",
            "168.63.129.16:1",
            "192.0.0.192:1",
            "[fd00:ec2::254]:1",
            "[fd20:ce::254]:1",
            "[64:ff9b::169.254.169.254]:1",
            "[64:ff9b::7f00:1]:1",
            "[64:ff9b::192.0.2.7]:1",
            "[64:ff9b::100.100.100.200]:1",
            "[64:ff9b:1:7f00:0:100::]:1",
            "[64:ff9b:1:7f:0:1::]:1",
            "[64:ff9b:1::a9:fea9:fe00:0]:1",
            "[64:ff9b:1::a9fe:a9fe]:1",
            "[64:ff9b:1::]:1",
            "[2002:7f00:1::]:1",
            "[2002:a9fe:a9fe::1]:1",
            "[2002:c000:207:1::9]:1",
            "[::127.0.0.1]:1",
            "[::192.0.2.7]:1",
        ] {
            let refused = elsewhere(&[text]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{}", text);
            let others = elsewhere(&["192.0.2.8:1", text]).unwrap();
            assert_eq!(others, addresses(&["192.0.2.8:1"]));
        }
        for text in &[
            "100.100.100.201:1",
            "[fd00:ec2::253]:1",
            "[64:ff9b::192.0.2.8]:1",
            "[64:ff9b:1::c000:208]:1",
            "[2002:c000:208::1]:1",
        ] {
            assert_eq!(elsewhere(&[text]).unwrap(), addresses(&[text]), "{}", text);
        }
        let none = elsewhere(&[]).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_connection_leads_to_a_listener_of_this_process() {
        let found = |listener: &str, texts: &[&str]| {
            let own = OwnSockets::new();
            let address = listener.parse().unwrap();
            let is_tunnel = false;
            own.set(vec![OwnListener { address, is_tunnel }], false);
            let family = Family { own, ..Family::ANY };
            let is_here = |ip| Ok(ip == IpAddr::from([192, 0, 2, 7]));
            in_order_with(addresses(texts), family, is_here)
        };
        for (listener, text) in &[
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("127.0.0.1:1", "[::ffff:127.0.0.1]:1"),
            ("127.0.0.1:1", "0.0.0.0:1"),
            ("[::1]:1", "[::]:1"),
            ("192.0.2.7:1", "192.0.2.7:1"),
            ("0.0.0.0:1", "127.9.9.9:1"),
            ("0.0.0.0:1", "192.0.2.7:1"),
            ("[::]:1", "192.0.2.7:1"),
            ("[::]:1", "[::1]:1"),
        ] {
            let refused = found(listener, &[text]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{}", text);
            let others = found(listener, &["192.0.2.8:1", text]).unwrap();
            assert_eq!(others, addresses(&["192.0.2.8:1"]));
        }
        for (listener, text) in &[
            ("127.0.0.1:1", "127.0.0.1:2"),
            ("127.0.0.1:1", "127.0.0.2:1"),
            ("127.0.0.1:1", "192.0.2.7:1"),
            ("0.0.0.0:1", "192.0.2.8:1"),
            ("0.0.0.0:1", "[::1]:1"),
        ] {
            assert_eq!(found(listener, &[text]).unwrap(), addresses(&[text]));
        }
    }

    /// Guessing would open this machine to the client.
    #[test]
    fn an_undetermined_address_is_an_error() {
        let short = |_| Err(io::Error::from_raw_os_error(libc::EMFILE));
        let found = addresses(&["192.0.2.8:1"]);
        let failed = in_order_with(found, Family::ANY.elsewhere(), short).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(libc::EMFILE));
    }

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn this_machine_knows_its_own_addresses() {
        assert!(is_assigned_here([127, 0, 0, 1].into()).unwrap());
        assert!(!is_assigned_here([203, 0, 113, 1].into()).unwrap());
    }

    #[test]
    fn only_the_requested_family_is_returned() {
        let found = addresses(&["[::1]:1", "1.0.0.1:1"]);
        assert_eq!(
            in_order(found.clone(), Family::V4).unwrap(),
            addresses(&["1.0.0.1:1"])
        );
        assert_eq!(
            in_order(found, Family::V6).unwrap(),
            addresses(&["[::1]:1"])
        );
        let none = in_order(addresses(&["1.0.0.1:1"]), Family::V6).unwrap_err();
        assert_eq!(none.to_string(), "no IPv6 address");
    }

    #[test]
    fn exclude_local_works_with_a_requested_family() {
        let found = addresses(&["192.0.2.7:1", "192.0.2.8:1", "[2001:db8::8]:1"]);
        let is_here = |ip| Ok(ip == IpAddr::from([192, 0, 2, 7]));
        let others = in_order_with(found, Family::V4.elsewhere(), is_here);
        assert_eq!(others.unwrap(), addresses(&["192.0.2.8:1"]));
    }
}
