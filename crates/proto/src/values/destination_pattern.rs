//! Patterns of destinations: NO_PROXY, and the allow list of the embedded proxy.

use std::net::IpAddr;
use std::str::FromStr;

use super::cidr::Cidr;
use super::host::{read_port, split_port, Host};
use super::{wrong, HostPort, ParseError};
use crate::text::escape::Escaped;

const EXAMPLES: &str = "example.org, 10.0.0.0/8 or example.org:443";

/// A set of destinations: `HOST[:PORT]`.
///
/// A name covers itself and its subdomains, with or without a leading dot, whatever the case;
/// an address covers itself, a CIDR block its addresses, `*` everything. IPv6 needs no brackets
/// unless a port follows. Names are compared as names, addresses as addresses; nothing is
/// resolved. `::ffff:10.0.0.1` is the same as `10.0.0.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// A name in lower case, without dots at its ends, and its subdomains.
    Domain(String),
    Cidr(Cidr),
}

/// The destinations that are reached without a proxy, as in `NO_PROXY`.
///
/// A list of [`Pattern`]s, separated by commas or spaces; an empty one covers nothing. As in other
/// programs, any address of a block can represent the block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoProxy(Vec<Pattern>);

impl Pattern {
    const EVERYTHING: Pattern = Pattern {
        hosts: Hosts::All,
        port: None,
    };

    /// Returns whether it covers every destination.
    pub fn covers_everything(&self) -> bool {
        *self == Pattern::EVERYTHING
    }

    /// Returns whether it covers `destination`.
    pub fn covers(&self, destination: &HostPort) -> bool {
        let port = self.port.map_or(true, |port| port == destination.port);
        port && self.hosts.cover(&destination.host)
    }
}

impl Hosts {
    fn cover(&self, host: &Host) -> bool {
        match (self, host) {
            (Hosts::All, _) => true,
            (Hosts::Domain(domain), Host::Name(name)) => {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                match name.strip_suffix(&domain[..]) {
                    Some(front) => front.is_empty() || front.ends_with('.'),
                    None => false,
                }
            }
            (Hosts::Cidr(block), Host::Ip(ip)) => block.covers(*ip),
            _ => false,
        }
    }
}

impl NoProxy {
    /// Returns whether `destination` is reached without a proxy.
    pub fn covers(&self, destination: &HostPort) -> bool {
        self.0.iter().any(|pattern| pattern.covers(destination))
    }

    /// Returns whether every destination is reached without a proxy.
    pub fn covers_everything(&self) -> bool {
        self.0.iter().any(Pattern::covers_everything)
    }

    /// Parses a list that other programs also read, each with its own syntax. Entries in another
    /// syntax are skipped; the second value is a warning that names them.
    pub fn lenient(text: &str) -> (NoProxy, Option<String>) {
        let (mut patterns, mut others) = (Vec::new(), Vec::new());
        for entry in entries(text) {
            match read(entry) {
                Ok(pattern) => patterns.push(pattern),
                Err(_) => others.push(format!("'{}'", Escaped(entry.as_bytes()))),
            }
        }
        let warning = format!(
            "skipping {}; valid entries are e.g. {}",
            others.join(", "),
            EXAMPLES
        );
        (
            NoProxy(patterns),
            Some(warning).filter(|_| !others.is_empty()),
        )
    }
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(|c: char| c == ',' || c.is_ascii_whitespace())
        .filter(|entry| !entry.is_empty())
}

impl FromStr for NoProxy {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<NoProxy, ParseError> {
        entries(text)
            .map(|entry| read(entry).map_err(|why| complain("NO_PROXY entry", entry, why)))
            .collect::<Result<_, _>>()
            .map(NoProxy)
    }
}

impl FromStr for Pattern {
    type Err = ParseError;

    /// Parses a pattern; a block must be written with its first address.
    fn from_str(text: &str) -> Result<Pattern, ParseError> {
        let pattern = read(text).and_then(|pattern| match &pattern.hosts {
            Hosts::Cidr(block) => block.exactly().map(|_| pattern),
            _ => Ok(pattern),
        });
        pattern.map_err(|why| complain("destination", text, why))
    }
}

fn complain(what: &str, text: &str, why: String) -> ParseError {
    wrong(what, text, why, EXAMPLES)
}

fn read(text: &str) -> Result<Pattern, String> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(Pattern {
            hosts: Hosts::Cidr(Cidr::of(ip)),
            port: None,
        });
    }
    if let Some(slash) = text.find('/') {
        let block = Cidr::read(&text[..slash], &text[slash + 1..])?;
        return Ok(Pattern {
            hosts: Hosts::Cidr(block),
            port: None,
        });
    }
    let (host, port) = split_port(text)?;
    let port = if host.len() == text.len() {
        None
    } else {
        Some(read_port(port, false)?)
    };
    let hosts = match host.trim_start_matches('.') {
        "*" => Hosts::All,
        host => match Host::read(host.strip_prefix("*.").unwrap_or(host))? {
            Host::Ip(ip) => Hosts::Cidr(Cidr::of(ip)),
            Host::Name(name) => Hosts::Domain(name.trim_end_matches('.').to_ascii_lowercase()),
        },
    };
    Ok(Pattern { hosts, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(list: &str, destination: &str) -> bool {
        let list: NoProxy = list.parse().unwrap();
        list.covers(&destination.parse().unwrap())
    }

    #[test]
    fn a_name_covers_itself_and_its_subdomains() {
        for list in &[
            "example.com",
            ".example.com",
            "*.example.com",
            "EXAMPLE.com.",
            "a, example.com",
        ] {
            assert!(covers(list, "example.com:1"), "{}", list);
            assert!(covers(list, "www.Example.com:1"), "{}", list);
            assert!(covers(list, "example.com.:1"), "{}", list);
            assert!(!covers(list, "badexample.com:1"), "{}", list);
            assert!(!covers(list, "example.com.evil:1"), "{}", list);
        }
        assert!(!covers("ample.com", "example.com:1"));
    }

    #[test]
    fn addresses_are_compared_as_addresses() {
        assert!(covers("10.0.0.0/8", "10.200.0.1:1"));
        assert!(!covers("10.0.0.0/8", "11.0.0.1:1"));
        assert!(covers("0.0.0.0/0", "1.2.3.4:1"));
        assert!(!covers("0.0.0.0/0", "[::1]:1"));
        assert!(covers("2001:db8::/32", "[2001:db8:ffff::1]:1"));
        assert!(!covers("2001:db8::/32", "[2001:db9::1]:1"));
        assert!(covers("::1", "[0:0::1]:1"));
        assert!(covers("127.0.0.1", "[::ffff:127.0.0.1]:1"));
        assert!(covers("::ffff:127.0.0.1", "127.0.0.1:1"));
        assert!(!covers("10.0.0.1", "10.0.0.10:1"));
    }

    /// Regression: such a block covered nothing, because destinations were compared as IPv4.
    #[test]
    fn an_ipv4_block_can_be_written_as_ipv6() {
        for destination in &["10.200.0.1:1", "[::ffff:10.0.0.1]:1"] {
            assert!(covers("::ffff:10.0.0.0/104", destination));
            assert!(!covers("::ffff:11.0.0.0/104", destination));
            assert!(covers("::ffff:0.0.0.0/96", destination));
        }
        assert!("::ffff:10.0.0.0/95".parse::<NoProxy>().is_err());
    }

    #[test]
    fn a_port_restricts_an_entry() {
        assert!(covers("localhost:8080", "localhost:8080"));
        assert!(!covers("localhost:8080", "localhost:22"));
        assert!(covers("[::1]:22", "[::1]:22"));
        assert!(!covers("*:22", "example.org:23"));
    }

    #[test]
    fn a_star_alone_covers_everything() {
        for (list, all) in &[
            ("*", true),
            ("a,*", true),
            ("*:22", false),
            ("", false),
            ("a", false),
        ] {
            assert_eq!(
                list.parse::<NoProxy>().unwrap().covers_everything(),
                *all,
                "{}",
                list
            );
        }
        assert!(!covers("", "localhost:1"));
        assert!(!covers(" , ,", "localhost:1"));
    }

    /// Regression: an allow list with a typo allowed a whole network instead of one address.
    /// NO_PROXY must accept such a block, as other programs do.
    #[test]
    fn only_no_proxy_accepts_a_block_with_another_address() {
        assert!(covers("10.0.0.1/8", "10.200.0.1:1"));
        let complaint = "10.0.0.1/8".parse::<Pattern>().unwrap_err().to_string();
        for part in &["'10.0.0.1/8'", "write 10.0.0.0/8 or 10.0.0.1"] {
            assert!(complaint.contains(part), "{}", complaint);
        }
        for right in &["10.0.0.0/8", "10.0.0.1", "10.0.0.1/32", "::1", "[::1]:22"] {
            assert!(right.parse::<Pattern>().is_ok(), "{}", right);
        }
    }

    #[test]
    fn zone_ids_are_refused() {
        assert!("::1%example.com".parse::<NoProxy>().is_err());
        assert!("[::1%25lo]:443".parse::<HostPort>().is_err());
    }

    #[test]
    fn refuses_entries_without_a_meaning() {
        for list in &[
            "10.0.0.0/33",
            "10.0.0/8",
            "a/8",
            "a b?",
            "::/129",
            "a:b",
            "a:0",
            "-x",
        ] {
            assert!(list.parse::<NoProxy>().is_err(), "{}", list);
        }
    }
}
