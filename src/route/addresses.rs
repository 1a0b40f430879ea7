//! In which order a host's addresses are tried.

use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::config::{plain, Family};

/// The addresses of the wanted family, the families taking turns (RFC 8305 §4).
///
/// # Errors
///
/// `NotFound` when none is left, `PermissionDenied` when those that are there are not to be had.
pub fn in_order(found: Vec<SocketAddr>, family: Family) -> io::Result<Vec<SocketAddr>> {
    let wanted = |address: &SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
        Family::Elsewhere => !is_our_own(plain(address.ip())),
    };
    let found_any = !found.is_empty();
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
        let what = match family {
            Family::Any => "no address",
            Family::V4 => "no IPv4 address",
            Family::V6 => "no IPv6 address",
            Family::Elsewhere if found_any => {
                let why = "it is this machine itself, which --serve-allow localhost would allow";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
            }
            Family::Elsewhere => "no address",
        };
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    Ok(ordered)
}

/// A connection to the unspecified address arrives at loopback.
fn is_our_own(ip: IpAddr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_families_take_turns_and_the_resolvers_first_choice_stays_first() {
        let found = addresses(&["[::1]:1", "[::2]:1", "1.0.0.1:1", "1.0.0.2:1", "1.0.0.2:1"]);
        let ordered = in_order(found, Family::Any).unwrap();
        assert_eq!(
            ordered,
            addresses(&["[::1]:1", "1.0.0.1:1", "[::2]:1", "1.0.0.2:1"])
        );
    }

    #[test]
    fn a_family_that_is_asked_for_is_all_there_is() {
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
}
