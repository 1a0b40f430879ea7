//! The command line of the relays in `src/bin/` and `legacy/`.
//!
//! Also compiled into `legacy/`, so it keeps to edition 2018 and to std.

use std::net::SocketAddr;

/// A relay's command line: where it listens, where it connects to, and the bytes of each direction's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub listen: SocketAddr,
    pub target: SocketAddr,
    pub buffer: Option<usize>,
}

impl Addresses {
    /// Reads `LISTEN TARGET [BYTES]` from the command line; says how it is used and exits with 2 otherwise.
    pub fn from_args() -> Addresses {
        let mut args = std::env::args();
        let program = args.next().unwrap_or_default();
        let rest: Vec<String> = args.collect();
        match Addresses::parse(&rest) {
            Some(addresses) => addresses,
            None => {
                eprintln!(
                    "usage: {program} LISTEN TARGET [BYTES], as in {program} 127.0.0.1:9000 127.0.0.1:9001"
                );
                std::process::exit(2)
            }
        }
    }

    fn parse(args: &[String]) -> Option<Addresses> {
        let (addresses, buffer) = match args {
            [listen, target] => ([listen, target], None),
            [listen, target, bytes] => ([listen, target], Some(bytes.parse().ok()?)),
            _ => return None,
        };
        Some(Addresses {
            listen: addresses[0].parse().ok()?,
            target: addresses[1].parse().ok()?,
            buffer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_two_addresses_and_a_size() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
            Addresses::parse(&words)
        };
        let two = ["127.0.0.1:1", "127.0.0.1:2"];
        assert_eq!(parse(&two).unwrap().buffer, None);
        let with_size = parse(&[two[0], two[1], "65536"]).unwrap();
        assert_eq!(with_size.buffer, Some(65_536));
        assert!(parse(&["127.0.0.1:1"]).is_none());
        assert!(parse(&["127.0.0.1:1", "127.0.0.1:2", "x"]).is_none());
        assert!(parse(&["127.0.0.1", "127.0.0.1:2"]).is_none());
    }
}
