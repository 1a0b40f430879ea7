//! The unit in which clients are counted.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use super::host::unmap_ipv4;

/// The address of a client, as far as one client can't change it: of IPv6 the network of 64 bits.
/// Clients of Unix sockets, which have no address, are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientNetwork(Option<IpAddr>);

impl From<Option<IpAddr>> for ClientNetwork {
    fn from(client: Option<IpAddr>) -> ClientNetwork {
        ClientNetwork(client.map(|ip| match unmap_ipv4(ip) {
            IpAddr::V6(ip) => Ipv6Addr::from(u128::from(ip) >> 64 << 64).into(),
            ip => ip,
        }))
    }
}

impl fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("clients of Unix sockets"),
            Some(IpAddr::V4(ip)) => ip.fmt(f),
            Some(IpAddr::V6(ip)) => write!(f, "{}/64", ip),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_client() {
        let network = |ip: &str| ClientNetwork::from(Some(ip.parse().unwrap()));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:0:0:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.2"), network("192.0.2.1"));
        assert_ne!(network("::"), ClientNetwork::from(None));
        assert_eq!(network("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(network("::ffff:192.0.2.1").to_string(), "192.0.2.1");
    }
}
