//! Tunnels and addresses to listen on, in the forms of ssh.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use super::destination_url::{redact, split_tls};
use super::host::{read_port, refuse_scheme, Host};
use super::{wrong, Bind, DestinationUrl, HostPort, ParseError, PortSpec};
use crate::text::escape::Escaped;

/// Maximum length of a Unix socket's path in bytes (unix(7): 108 with the final NUL).
const PATH_LIMIT: usize = 107;

/// A tunnel as text: `[BIND:]PORT:HOST:HOSTPORT`; `PATH:HOST:HOSTPORT`, with a `/` in the path; or
/// `fd:NAME:HOST:HOSTPORT` for an inherited socket. `tls://` before `HOST` means TLS to the
/// destination, `starttls-imap://` and the like TLS after STARTTLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelUrl {
    /// The address to listen on.
    pub listen: ListenSpec,
    /// The destination of the clients.
    pub destination: DestinationUrl,
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenSpec {
    /// A TCP port.
    Port(PortSpec),
    /// The path of a Unix socket.
    Path(PathBuf),
    /// The name or number of inherited sockets.
    Inherited(String),
}

impl FromStr for ListenSpec {
    type Err = ParseError;

    /// Reads `[BIND:]PORT`, a path, or `fd:NAME`.
    fn from_str(text: &str) -> Result<ListenSpec, ParseError> {
        let listen = match text.strip_prefix("fd:") {
            _ if read(text).is_ok() => Err("it is a tunnel; use -L".into()),
            Some(name) => read_name(name),
            None if text.contains('/') => read_path(text),
            None => match PortSpec::read(text) {
                Ok(spec) => Ok(ListenSpec::Port(spec)),
                Err(why) => Err(or_path(text, why)),
            },
        };
        listen.map_err(|why| wrong("address to listen on", text, why, "1080"))
    }
}

impl FromStr for TunnelUrl {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<TunnelUrl, ParseError> {
        read(text).map_err(|why| wrong("tunnel", &redact(text), why, example(text)))
    }
}

/// Returns an example in the form that is nearest to `text`.
fn example(text: &str) -> &'static str {
    if text.starts_with("fd:") {
        "fd:imap:imap.example.org:993"
    } else if text.contains("://") {
        "1143:tls://imap.example.org:993"
    } else if text.contains('/') {
        "/run/user/1000/imap:imap.example.org:993"
    } else {
        "8993:imap.example.org:993, of the form [BIND:]PORT:HOST:HOSTPORT"
    }
}

fn read(text: &str) -> Result<TunnelUrl, String> {
    let (before, tls, rest) = split_tls(text)?;
    let (way_in, host, port) = match (before.strip_suffix(':'), &split(rest)?[..]) {
        (None, _) if tls.is_some() => {
            let why = "the scheme must be between the listening address and the destination";
            return Err(why.into());
        }
        (Some(before), [host, port]) => (split(before)?, *host, *port),
        (Some(_), [_]) => return Err("the port is missing".into()),
        (None, [way_in @ .., host, port]) if !way_in.is_empty() => (way_in.to_vec(), *host, *port),
        (None, [_, _]) => return Err("it has 2 parts, not 3 or 4".into()),
        (None, [_]) => return Err("it has one part, not 3 or 4".into()),
        _ => return Err("write IPv6 addresses in brackets".into()),
    };
    let listen = match way_in[..] {
        [path] if path.contains('/') => read_path(path)?,
        [listen] => read_port_spec(None, listen).map_err(|why| or_path(listen, why))?,
        ["fd", name] => read_name(name)?,
        [bind, listen] => {
            let bind = Bind::read(bind)?;
            read_port_spec(Some(bind), listen)?
        }
        _ => return Err("it has more than 4 parts; write IPv6 addresses in brackets".into()),
    };
    let address = HostPort {
        host: Host::read(host)?,
        port: read_port(port, false)?,
    };
    Ok(TunnelUrl {
        listen,
        destination: DestinationUrl { address, tls },
    })
}

fn read_port_spec(bind: Option<Bind>, port: &str) -> Result<ListenSpec, String> {
    let port = read_port(port, true)?;
    Ok(ListenSpec::Port(PortSpec { bind, port }))
}

fn read_name(name: &str) -> Result<ListenSpec, String> {
    if name.is_empty() {
        Err("the name or the number of a socket must follow fd:".into())
    } else if name.chars().any(|c| c.is_control() || c == ':') {
        Err("the name of a socket can't contain ':' or control characters".into())
    } else {
        Ok(ListenSpec::Inherited(name.into()))
    }
}

/// Returns `why` the text is no port, and how to write it as a path if it looks like a file name.
fn or_path(text: &str, why: String) -> String {
    let is_name_of_file = text.contains('.') && !text.contains(':');
    if is_name_of_file && text.parse::<Ipv4Addr>().is_err() {
        format!(
            "{}; a path must contain a '/': write ./{}",
            why,
            Escaped(text.as_bytes())
        )
    } else {
        why
    }
}

fn read_path(path: &str) -> Result<ListenSpec, String> {
    refuse_scheme(path)?;
    if path.len() > PATH_LIMIT {
        Err(format!(
            "a socket's path can have at most {} bytes",
            PATH_LIMIT
        ))
    } else if path.chars().any(char::is_control) {
        Err("a socket's path can't contain control characters".into())
    } else {
        Ok(ListenSpec::Path(path.into()))
    }
}

/// Splits at the colons outside brackets. Fails if a bracket isn't closed.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let mut inside = false;
    let parts = text.split(|c| {
        inside = c == '[' || (inside && c != ']');
        c == ':' && !inside
    });
    let parts = parts.collect();
    if inside {
        Err("a '[' has no ']' after it".into())
    } else {
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::TlsStart;
    use super::*;

    fn read(text: &str) -> TunnelUrl {
        text.parse().unwrap()
    }

    #[test]
    fn reads_the_forms_of_ssh() {
        let port = |bind, port| ListenSpec::Port(PortSpec { bind, port });
        let plain = read("8993:imap.example.org:993");
        assert_eq!(plain.listen, port(None, 8993));
        assert_eq!(plain.destination.to_string(), "imap.example.org:993");

        assert_eq!(read("*:0:a:1").listen, port(Some(Bind::Any), 0));
        assert_eq!(read(":0:a:1").listen, port(Some(Bind::Any), 0));
        let v6 = read("[::1]:0:[2001:db8::1]:22");
        assert_eq!(v6.listen, port("::1".parse().ok(), 0));
        assert_eq!(
            read("[::1]:0:[2001:db8::1]:22").destination.to_string(),
            "[2001:db8::1]:22"
        );
    }

    #[test]
    fn a_slash_makes_a_path() {
        for path in &["/run/imap.sock", "./a b", "x/1"] {
            let tunnel = read(&format!("{}:[::1]:993", path));
            assert_eq!(tunnel.listen, ListenSpec::Path(path.into()));
            assert_eq!(tunnel.destination.to_string(), "[::1]:993");
        }
        let longest = "/".repeat(PATH_LIMIT);
        read(&format!("{}:a:1", longest));
        let complaint = |text: &str| text.parse::<TunnelUrl>().unwrap_err().to_string();
        assert!(complaint(&format!("{}/:a:1", longest)).contains("107 bytes"));
        assert!(complaint("/a\n:a:1").contains("control characters"));
        assert!(complaint("/a:b").contains("2 parts"));
        assert!(complaint("/a:1:b:2").contains("'/'"));
    }

    #[test]
    fn tls_precedes_the_destination_in_each_form() {
        for front in &[
            "1143",
            "127.0.0.1:1143",
            "[::1]:1143",
            ":0",
            "/run/s",
            "fd:imap",
        ] {
            for destination in &["mail.example:993", "[2001:db8::1]:993"] {
                let secure = read(&format!("{}:tls://{}", front, destination));
                let plain = read(&format!("{}:{}", front, destination));
                assert_eq!(secure.destination.tls, Some(TlsStart::AtOnce));
                assert_eq!(plain.destination.tls, None);
                assert_eq!(secure.listen, plain.listen);
                assert_eq!(secure.destination.address, plain.destination.address);
            }
        }
        let complaint = |text: &str| text.parse::<TunnelUrl>().unwrap_err().to_string();
        for (text, expected) in &[
            (
                "tls://1143:mail.example:993",
                "between the listening address",
            ),
            ("tls://mail.example:993", "between the listening address"),
            ("127.0.0.1:tls://1143:mail.example:993", "in brackets"),
            ("1143:tls://mail.example", "the port is missing"),
            ("1143:tls://::1:993", "in brackets"),
            ("1143:tls://[::1:993", "a '[' has no ']'"),
            // Without tls:// it was a different tunnel (found by fuzzing).
            ("fd:a[:tls://[2001:db8::1]:99", "a '[' has no ']'"),
            ("1143:tls://tls://a:1", "tls:// isn't allowed here"),
            (
                "1143:https://a:1",
                "https:// isn't allowed here; for TLS with a destination, write tls://",
            ),
            ("1:2:3:tls://a:1", "more than 4 parts"),
            ("/run/tls://a:1", "/run/tls:// isn't allowed"),
        ] {
            let complaint = complaint(text);
            assert!(complaint.contains(expected), "{}", complaint);
            assert!(complaint.contains(&format!("'{}'", text)), "{}", complaint);
        }
        let with_user = complaint("1143:tls://joe:secret@a:1");
        assert!(with_user.contains("can't have a user"), "{}", with_user);
        assert!(with_user.contains("'1143:tls://***@a:1'"), "{}", with_user);
        let dynamic = "1080:tls://a:1".parse::<ListenSpec>().unwrap_err();
        assert!(dynamic.to_string().contains("it is a tunnel"));
        assert!("tls://127.0.0.1:1080".parse::<ListenSpec>().is_err());
    }

    #[test]
    fn an_inherited_socket_has_a_name_or_a_number() {
        let inherited = |name: &str| ListenSpec::Inherited(name.into());
        assert_eq!(read("fd:3:a:1").listen, inherited("3"));
        assert_eq!(read("fd:imap tls:[::1]:993").listen, inherited("imap tls"));
        let alone = |text: &str| text.parse::<ListenSpec>();
        assert_eq!(alone("fd:socks").unwrap(), inherited("socks"));
        assert_eq!(alone("/run/s").unwrap(), ListenSpec::Path("/run/s".into()));
        let port = PortSpec {
            bind: None,
            port: 1080,
        };
        assert_eq!(alone("1080").unwrap(), ListenSpec::Port(port));
        for text in &["fd:", "fd:a:b", "fd:\n", "fd", "x"] {
            let complaint = alone(text).unwrap_err().to_string();
            assert!(complaint.contains("address to listen on"), "{}", complaint);
        }
        assert!("fd::a:1".parse::<TunnelUrl>().is_err());
    }

    #[test]
    fn an_error_fits_the_form_that_is_nearest() {
        let tunnel = |text: &str| text.parse::<TunnelUrl>().unwrap_err().to_string();
        let address = |text: &str| text.parse::<ListenSpec>().unwrap_err().to_string();
        for (complaint, expected) in &[
            (tunnel("h"), "it has one part, not 3 or 4"),
            (tunnel("::1:8022:h:1"), "write IPv6 addresses in brackets"),
            (
                tunnel("8993:imap.example:imaps"),
                "a port must be a number up to 65535, not the name of a service",
            ),
            (address("x"), "e.g. 1080"),
            (address("u.sock"), "write ./u.sock; e.g."),
            (tunnel("u.sock:D:1"), "write ./u.sock; e.g."),
            (tunnel("10.0.0.1:a:22"), "a number up to 65535; e.g."),
            (tunnel("http://a:22"), "http:// isn't allowed here"),
            (tunnel("1:http://a:22"), ": http:// isn't allowed here"),
            (address("http://127.0.0.1:1080"), "http:// isn't allowed"),
            (address("1080:h:1"), "it is a tunnel; use -L"),
            (address("/s:h:1"), "it is a tunnel; use -L"),
            (address("fd:s:h:1"), "it is a tunnel; use -L"),
        ] {
            assert!(complaint.contains(expected), "{}", complaint);
        }
    }

    #[test]
    fn refuses_everything_else() {
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
            let complaint = text.parse::<TunnelUrl>().unwrap_err().to_string();
            assert!(complaint.contains(&format!("'{}'", text)), "{}", complaint);
            assert!(
                complaint.contains("8993:imap.example.org:993"),
                "{}",
                complaint
            );
        }
    }
}
