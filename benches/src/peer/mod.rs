//! What the peers in `src/bin/` share: the command lines of relays and of servers, a little HTTP, and the pipes that splice(2) needs.
//!
//! Everything that a peer is measured for stays in its own file.

pub mod counting;
pub mod hello;
pub mod http;
pub mod pipes;
pub mod serving;
pub mod tls;
pub mod work;

use std::net::SocketAddr;

/// Where a relay listens and where it connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    pub listen: SocketAddr,
    pub target: SocketAddr,
}

impl Addresses {
    /// Reads `LISTEN TARGET` from the command line; says how it is used and exits with 2 otherwise.
    pub fn from_args() -> Addresses {
        let mut args = std::env::args();
        let program = args.next().unwrap_or_default();
        let rest: Vec<String> = args.collect();
        match Addresses::parse(&rest) {
            Some(addresses) => addresses,
            None => {
                eprintln!(
                    "usage: {program} LISTEN TARGET, as in {program} 127.0.0.1:9000 127.0.0.1:9001"
                );
                std::process::exit(2)
            }
        }
    }

    fn parse(args: &[String]) -> Option<Addresses> {
        match args {
            [listen, target] => Some(Addresses {
                listen: listen.parse().ok()?,
                target: target.parse().ok()?,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_two_addresses_and_nothing_else() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
            Addresses::parse(&words)
        };
        assert!(parse(&["127.0.0.1:1", "127.0.0.1:2"]).is_some());
        assert!(parse(&["127.0.0.1:1"]).is_none());
        assert!(parse(&["127.0.0.1:1", "127.0.0.1:2", "x"]).is_none());
        assert!(parse(&["127.0.0.1", "127.0.0.1:2"]).is_none());
    }
}
