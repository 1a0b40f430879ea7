//! Blocks of IP addresses (CIDR, RFC 4632).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::host::unmap_ipv4;
use super::{wrong, ParseError};

/// The addresses that share their leading bits: `10.0.0.0/8`, `2001:db8::/32`, or `10.0.0.1`, a
/// block of one address.
///
/// An IPv4 address equals its IPv4-mapped form, `::ffff:10.0.0.1`, in the block and in the address
/// that is compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    network: IpAddr,
    bits: u32,
}

impl Cidr {
    /// Returns a block of one address.
    pub(super) fn of(ip: IpAddr) -> Cidr {
        let network = unmap_ipv4(ip);
        let bits = if network.is_ipv4() { 32 } else { 128 };
        Cidr { network, bits }
    }

    /// Returns whether it contains every address of its IP version.
    pub fn is_everything(&self) -> bool {
        self.bits == 0
    }

    /// Reads the parts before and after the `/`.
    ///
    /// # Errors
    ///
    /// The reason, as a clause.
    pub(super) fn read(network: &str, bits: &str) -> Result<Cidr, String> {
        let ip = network
            .parse::<IpAddr>()
            .map_err(|_| "an IP address must precede the '/'")?;
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let bits = match bits.parse() {
            Ok(bits) if bits <= most => bits,
            _ => return Err(format!("a number up to {} must follow the '/'", most)),
        };
        let network = unmap_ipv4(ip);
        match bits {
            _ if network == ip => Ok(Cidr { network, bits }),
            // The first 96 bits mark an IPv4-mapped address.
            96..=128 => Ok(Cidr {
                network,
                bits: bits - 96,
            }),
            _ => Err("a number from 96 must follow the '/' of an IPv4-mapped address".into()),
        }
    }

    /// Returns the block if no host bit is set. With a host bit, the user may mean a single
    /// address.
    ///
    /// # Errors
    ///
    /// A clause that gives both corrections.
    pub(super) fn exactly(self) -> Result<Cidr, String> {
        let (ip, bits, first) = (self.network, self.bits, self.first());
        if ip == first {
            return Ok(self);
        }
        Err(format!(
            "the block begins at {}: write {}/{} or {}",
            first, first, bits, ip
        ))
    }

    /// Returns the first address of the block.
    fn first(&self) -> IpAddr {
        let others = u128::MAX.checked_shr(self.bits).unwrap_or(0);
        let first = number(self.network) & !others;
        match self.network {
            IpAddr::V4(_) => Ipv4Addr::from((first >> 96) as u32).into(),
            IpAddr::V6(_) => Ipv6Addr::from(first).into(),
        }
    }

    /// Returns whether `ip` is in the block.
    pub fn covers(&self, ip: IpAddr) -> bool {
        let ip = unmap_ipv4(ip);
        let differing = number(self.network) ^ number(ip);
        self.network.is_ipv4() == ip.is_ipv4() && differing.leading_zeros() >= self.bits
    }
}

/// Returns the address's bits as the first ones of a number.
fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)) << 96,
        IpAddr::V6(ip) => ip.into(),
    }
}

/// Blocks separated by commas: a value of `--allow-from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CidrList(pub Vec<Cidr>);

impl FromStr for CidrList {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<CidrList, ParseError> {
        text.split(',')
            .map(|entry| {
                let entry = entry.trim();
                let example = "10.0.0.0/8,2001:db8::/32";
                read(entry).map_err(|why| wrong("address or block", entry, why, example))
            })
            .collect::<Result<_, ParseError>>()
            .map(CidrList)
    }
}

fn read(text: &str) -> Result<Cidr, String> {
    match text.find('/') {
        Some(slash) => Cidr::read(&text[..slash], &text[slash + 1..])?.exactly(),
        None => match text.parse() {
            Ok(ip) => Ok(Cidr::of(ip)),
            Err(_) => Err("it must be an IP address, or a block in CIDR notation".into()),
        },
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_covers_the_addresses_of_each_block() {
        let CidrList(blocks) = "10.0.0.0/8, ::1,192.0.2.7".parse().unwrap();
        let covers = |ip: &str| blocks.iter().any(|block| block.covers(ip.parse().unwrap()));
        for ip in &["10.1.2.3", "::ffff:10.1.2.3", "::1", "192.0.2.7"] {
            assert!(covers(ip), "{}", ip);
        }
        for ip in &["11.0.0.1", "::ffff:11.0.0.1", "::2", "192.0.2.6"] {
            assert!(!covers(ip), "{}", ip);
        }
    }

    #[test]
    fn a_block_of_zero_bits_covers_one_family() {
        let CidrList(blocks) = "0.0.0.0/0,::/0".parse().unwrap();
        let (v4, v6) = ([203, 0, 113, 1].into(), "2001:db8::1".parse().unwrap());
        assert!(blocks[0].covers(v4) && !blocks[0].covers(v6));
        assert!(blocks[1].covers(v6) && !blocks[1].covers(v4));
    }

    /// Regression: an address with the length of its network admitted the whole network.
    #[test]
    fn a_block_with_host_bits_is_refused() {
        for (list, expected) in &[
            ("10.0.0.1/8", "write 10.0.0.0/8 or 10.0.0.1;"),
            ("::1,10.1.2.3/31", "write 10.1.2.2/31 or 10.1.2.3;"),
            ("10.0.0.1/0", "write 0.0.0.0/0 or 10.0.0.1;"),
            ("::ffff:10.0.0.1/104", "write 10.0.0.0/8 or 10.0.0.1;"),
            ("2001:db8::1/32", "write 2001:db8::/32 or 2001:db8::1;"),
        ] {
            let complaint = list.parse::<CidrList>().unwrap_err().to_string();
            assert!(complaint.contains(expected), "{}", complaint);
        }
        for list in &["10.0.0.1/32", "::1/128", "0.0.0.0/0", "::/0", "10.2.0.0/15"] {
            assert!(list.parse::<CidrList>().is_ok(), "{}", list);
        }
    }

    #[test]
    fn refuses_text_that_is_no_address() {
        for list in &[
            "",
            ",",
            "10.0.0.0/8,",
            "10.0.0.0/33",
            "10.0.0/8",
            "::ffff:10.0.0.0/95",
            "example.org",
            "[::1]",
            "10.0.0.1:80",
            "*",
        ] {
            let complaint = list.parse::<CidrList>().unwrap_err().to_string();
            let mut entries = list.split(',').map(|entry| format!("'{}'", entry));
            assert!(
                entries.any(|entry| complaint.contains(&entry)),
                "{}",
                complaint
            );
        }
    }
}
