//! The target of a request to a proxy: a URL, in absolute form (RFC 9112 §3.2.2).

use super::ForwardError;
use crate::values::HostPort;

/// The port of a URL without one (RFC 9110 §4.2.1).
const DEFAULT_PORT: &str = "80";

/// The parts of a request target in absolute form.
pub(super) struct Url {
    pub(super) destination: HostPort,
    /// The value of `Host`, as in the URL (RFC 9112 §3.2.2).
    pub(super) host: String,
    /// The target in origin form, or in asterisk form (RFC 9112 §3.2.1, §3.2.4).
    pub(super) path: String,
}

impl Url {
    /// Parses the target of a request with this method.
    ///
    /// # Errors
    ///
    /// [`ForwardError`] if it isn't an `http://` URL, or has a user, a fragment or an invalid host.
    pub(super) fn read(method: &str, target: &str) -> Result<Url, ForwardError> {
        if target.starts_with('/') || target == "*" {
            return Err(ForwardError::Origin(target.into()));
        }
        let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let (scheme, rest) = match target.find("://") {
            Some(end) if target[..end].chars().all(is_of_scheme) => {
                (&target[..end], &target[end + "://".len()..])
            }
            _ => return Err(ForwardError::NoUrl(target.into())),
        };
        if scheme.eq_ignore_ascii_case("https") {
            return Err(ForwardError::Tls);
        }
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(ForwardError::Scheme(scheme.into()));
        }
        let end = rest.find(|c| matches!(c, '/' | '?' | '#'));
        let (authority, path) = rest.split_at(end.unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(ForwardError::User);
        }
        if path.contains('#') {
            return Err(ForwardError::Fragment);
        }
        let (host, port) = split_port(authority);
        let (host_field, port) = match port {
            "" => (host, DEFAULT_PORT),
            port => (authority, port),
        };
        let destination = format!("{}:{}", host, port).parse::<HostPort>();
        let destination = destination.map_err(|e| ForwardError::Destination(e.to_string()))?;
        Ok(Url {
            destination,
            host: host_field.into(),
            path: match path {
                // RFC 9112 §3.2.4
                "" if method == "OPTIONS" => "*".into(),
                path if path.starts_with('/') => path.into(),
                path => format!("/{}", path),
            },
        })
    }
}

/// Splits an authority into host and port; the port may be missing or empty (RFC 3986 §3.2.3).
fn split_port(authority: &str) -> (&str, &str) {
    let bracket = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[bracket..].find(':') {
        Some(at) => {
            let (host, port) = authority.split_at(bracket + at);
            (host, &port[1..])
        }
        None => (authority, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_a_url() {
        for (method, target, destination, host, path) in &[
            ("GET", "http://a", "a:80", "a", "/"),
            ("GET", "http://a?b", "a:80", "a", "/?b"),
            ("GET", "http://a:/b", "a:80", "a", "/b"),
            ("GET", "http://a:080/", "a:80", "a:080", "/"),
            (
                "GET",
                "hTTp://[2001:DB8::1]/",
                "[2001:db8::1]:80",
                "[2001:DB8::1]",
                "/",
            ),
            ("PUT", "http://[::1]:81/x", "[::1]:81", "[::1]:81", "/x"),
            ("GET", "http://a/@b:c//d://e", "a:80", "a", "/@b:c//d://e"),
            ("OPTIONS", "http://a:8", "a:8", "a:8", "*"),
            ("OPTIONS", "http://a/", "a:80", "a", "/"),
            ("OPTIONS", "http://a?b", "a:80", "a", "/?b"),
        ] {
            let url = Url::read(method, target).unwrap();
            assert_eq!(url.destination.to_string(), *destination, "{}", target);
            assert_eq!((&url.host[..], &url.path[..]), (*host, *path), "{}", target);
        }
    }

    #[test]
    fn refuses_other_targets_with_a_reason() {
        for (target, words) in &[
            ("/", "not a web server; set it as http_proxy"),
            ("/a?secret", "not /a"),
            ("*", "not *"),
            ("https://a/", "with CONNECT"),
            ("HTTPS://a/", "with CONNECT"),
            ("ftp://joe:secret@a/", "not ftp://"),
            ("a", "not a"),
            ("a:80", "not a:80"),
            ("joe:secret@a:80", "not ***@a:80"),
            ("http:/a/", "not http:/a/"),
            ("http:a", "not http:a"),
            ("x?http://a/", "not x"),
            ("http://joe:secret@a/", "a username"),
            ("http://secret@a/", "a username"),
            ("http://@a/", "a username"),
            ("http://b\\@a/", "a username"),
            ("http://a/#secret", "'#'"),
            ("http://a#", "'#'"),
            ("http://", "the host is missing"),
            ("http:///b", "the host is missing"),
            ("http://:80/", "the host is missing"),
            ("http://a:0/", "port 0"),
            ("http://a:65536/", "'a:65536'"),
            ("http://a:+80/", "'a:+80'"),
            ("http://a:b/", "'a:b'"),
            ("http://::1/", "in brackets"),
            ("http://[::1]x/", "follow the bracket"),
            ("http://[a]/", "IPv6"),
            ("http://a%2eb/", "'%'"),
            ("http://a,b/", "','"),
        ] {
            let text = match Url::read("GET", target) {
                Ok(url) => panic!("{}: {}", target, url.destination),
                Err(fault) => fault.to_string(),
            };
            assert!(text.contains(words), "{}: {}", target, text);
            assert!(!text.contains("secret"), "{}: {}", target, text);
        }
    }
}
