//! ssh's form of a tunnel.

use std::str::FromStr;

use super::host::{read_port, Host};
use super::{wrong, Bind, HostPort};
use crate::error::Error;

const RIGHT: &str = "8993:imap.example.org:993, of the form [BIND:]PORT:HOST:HOSTPORT";

/// One tunnel: `[BIND:]PORT:HOST:HOSTPORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelSpec {
    /// Where to listen; `None` is the default of `--listen`.
    pub bind: Option<Bind>,
    /// The port to listen on; 0 picks a free one.
    pub port: u16,
    /// What a client of this tunnel is connected to.
    pub destination: HostPort,
}

impl FromStr for TunnelSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<TunnelSpec, Error> {
        read(text).map_err(|why| wrong("tunnel", text, why, RIGHT))
    }
}

fn read(text: &str) -> Result<TunnelSpec, String> {
    let parts = split(text);
    let (bind, rest) = match parts.len() {
        3 => (None, &parts[..]),
        4 => (Some(Bind::read(parts[0])?), &parts[1..]),
        count => return Err(format!("it has {} parts, not 3 or 4", count)),
    };
    Ok(TunnelSpec {
        bind,
        port: read_port(rest[0], true)?,
        destination: HostPort {
            host: Host::read(rest[1])?,
            port: read_port(rest[2], false)?,
        },
    })
}

/// At the colons outside brackets.
fn split(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.split(|c| {
        inside = c == '[' || (inside && c != ']');
        c == ':' && !inside
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> TunnelSpec {
        text.parse().unwrap()
    }

    #[test]
    fn reads_the_forms_of_ssh() {
        let plain = read("8993:imap.example.org:993");
        assert_eq!((plain.bind, plain.port), (None, 8993));
        assert_eq!(plain.destination.to_string(), "imap.example.org:993");

        assert_eq!(read("*:0:a:1").bind, Some(Bind::Any));
        assert_eq!(read(":0:a:1").bind, Some(Bind::Any));
        assert_eq!(read("[::1]:0:[2001:db8::1]:22").bind, "::1".parse().ok());
        assert_eq!(
            read("[::1]:0:[2001:db8::1]:22").destination.to_string(),
            "[2001:db8::1]:22"
        );
    }

    #[test]
    fn complains_of_everything_else() {
        let bad = [
            "",
            "22",
            "a:22",
            "x:a:22",
            "1:a:0",
            "1:a:b",
            "1::22",
            "1:2:3:4:5",
            "::1:1:a:22",
            "1:a:22:",
            "1:[::1:22",
            "70000:a:1",
            "-1:a:1",
        ];
        for text in &bad {
            let complaint = text.parse::<TunnelSpec>().unwrap_err().to_string();
            assert!(complaint.contains(&format!("'{}'", text)), "{}", complaint);
            assert!(
                complaint.contains("8993:imap.example.org:993"),
                "{}",
                complaint
            );
        }
    }
}
