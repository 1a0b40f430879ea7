//! The URL of a proxy: `host:port` or `SCHEME://[user[:password]@]host[:port]`.

use std::str::FromStr;

use percent_encoding::percent_decode_str;

use super::host::{read_port, split_port, Host};
use super::{wrong, HostPort, Login, ParseError, Secret};

const EXAMPLE: &str = "proxy.example:3128 or http://user@proxy.example:3128";

/// The protocol between ptunnel and a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP with the method CONNECT (RFC 9110 §9.3.6).
    Http,
    /// SOCKS version 5 (RFC 1928).
    Socks5(DnsMode),
    /// SOCKS version 4, or 4A where the proxy resolves names.
    Socks4(DnsMode),
}

impl Protocol {
    /// Returns whether ptunnel resolves the names of destinations.
    pub fn resolves_here(self) -> bool {
        matches!(
            self,
            Protocol::Socks5(DnsMode::Local) | Protocol::Socks4(DnsMode::Local)
        )
    }

    /// Returns whether the protocol has passwords. Each has users.
    pub fn has_password(self) -> bool {
        !matches!(self, Protocol::Socks4(_))
    }
}

/// The side that resolves the names of destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsMode {
    /// ptunnel, which sends the proxy an address.
    Local,
    /// The proxy.
    Remote,
}

/// The parts of a proxy's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyUrl {
    /// The protocol, from the scheme.
    pub protocol: Protocol,
    /// The proxy's address.
    pub address: HostPort,
    /// The user info before the `@`, with percent-encoding decoded.
    pub login: Option<Login>,
    /// Whether the connection to the proxy uses TLS.
    pub is_secure: bool,
}

impl FromStr for ProxyUrl {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<ProxyUrl, ParseError> {
        ProxyUrl::read(text)
            .map_err(|why| wrong("proxy", &redact(text), reason(text, why), EXAMPLE))
    }
}

/// Returns a better reason than `why` when only the slashes of the scheme are missing.
fn reason(text: &str, why: String) -> String {
    let is_valid_with = |scheme_end: &str| {
        let repaired = text.replacen(scheme_end, "://", 1);
        repaired != text && ProxyUrl::read(&repaired).is_ok()
    };
    if !text.contains("://") && (is_valid_with(":/") || is_valid_with(":")) {
        "'//' is missing after the scheme".into()
    } else {
        why
    }
}

impl ProxyUrl {
    /// Parses the text of an option or a variable.
    ///
    /// # Errors
    ///
    /// The reason as a clause, without the text; the caller adds that.
    pub fn read(text: &str) -> Result<ProxyUrl, String> {
        let (scheme, rest) = match text.find("://") {
            Some(end) => (Some(text[..end].to_ascii_lowercase()), &text[end + 3..]),
            None => (None, text),
        };
        let (protocol, is_secure, usual_port) = match scheme.as_deref() {
            None => (Protocol::Http, false, None),
            Some("http") => (Protocol::Http, false, Some(80)),
            Some("https") => (Protocol::Http, true, Some(443)),
            // As in curl.
            Some("socks5") => (Protocol::Socks5(DnsMode::Local), false, Some(1080)),
            Some("socks5h") => (Protocol::Socks5(DnsMode::Remote), false, Some(1080)),
            Some("socks4") => (Protocol::Socks4(DnsMode::Local), false, Some(1080)),
            Some("socks4a") => (Protocol::Socks4(DnsMode::Remote), false, Some(1080)),
            Some(_) => return Err(
                "only HTTP and SOCKS proxies are supported; write http://, https://, socks5h:// \
                 or socks4a://"
                    .into(),
            ),
        };
        // The last '@', as a password may contain one that should be %40.
        let (user_info, rest) = match rest.rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        // RFC 3986 §3.2: an authority ends at the first of these; parsers differ about such a URL.
        if user_info.map_or(false, |info| info.contains(&['/', '?', '#'][..])) {
            return Err("write / ? # in user info as %2F %3F %23".into());
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(&['/', '?', '#'][..]) {
            return Err("a proxy can't have a path".into());
        }
        let (host, port) = split_port(authority)?;
        let address = HostPort {
            host: Host::read(host)?,
            port: match usual_port {
                Some(usual) if authority == host => usual,
                _ => read_port(port, false)?,
            },
        };
        let login = user_info.map(read_login).transpose()?;
        let has_password = |login: &Login| login.password.is_some();
        if !protocol.has_password() && login.as_ref().map_or(false, has_password) {
            return Err("SOCKS4 has no password, only a username; remove the password".into());
        }
        Ok(ProxyUrl {
            protocol,
            address,
            login,
            is_secure,
        })
    }
}

fn read_login(user_info: &str) -> Result<Login, String> {
    let mut parts = user_info.splitn(2, ':');
    let user = decode(parts.next().unwrap_or_default())?;
    let password = parts.next().map(decode).transpose()?.map(Secret::new);
    Ok(Login { user, password })
}

fn decode(text: &str) -> Result<String, String> {
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err("the username or the password isn't UTF-8".into()),
    }
}

/// Returns the text for messages, with `***` for parts that may be secret.
pub(super) fn redact(text: &str) -> String {
    match text.rfind('@') {
        Some(at) => {
            let scheme = text.find("://").filter(|end| *end < at);
            let start = scheme.map_or(0, |end| end + 3);
            format!("{}***{}", &text[..start], &text[at..])
        }
        None => {
            let start = text.find("://").map_or(0, |end| end + 3);
            match text[start..].find(':').map(|colon| start + colon) {
                Some(colon) if may_be_user_info(&text[start..colon], &text[colon + 1..]) => {
                    format!("{}:***", &text[..colon])
                }
                _ => text.to_string(),
            }
        }
    }
}

/// Returns whether a text without `@` looks like `USER:PASSWORD` with the host missing, rather than
/// like a host with a mistyped port.
fn may_be_user_info(name: &str, rest: &str) -> bool {
    let is_numeric = |b: u8| b.is_ascii_hexdigit() || b"[]/%".contains(&b);
    !name.contains('.') && !rest.contains(':') && !rest.bytes().all(is_numeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ProxyUrl {
        text.parse().unwrap()
    }

    #[test]
    fn reads_both_forms() {
        let addresses = [
            ("proxy.example:3128", "proxy.example:3128"),
            ("http://proxy.example", "proxy.example:80"),
            ("HTTP://proxy.example:8080/", "proxy.example:8080"),
            ("http://[::1]:8080", "[::1]:8080"),
            ("http://[::1]", "[::1]:80"),
            ("joe:x@10.0.0.1:3128", "10.0.0.1:3128"),
        ];
        for (text, address) in &addresses {
            assert_eq!(read(text).address.to_string(), *address);
            assert!(!read(text).is_secure);
        }
    }

    #[test]
    fn https_selects_tls_and_port_443() {
        for (text, address) in &[
            ("https://proxy.example", "proxy.example:443"),
            ("HTTPS://joe:x@proxy.example:80/", "proxy.example:80"),
            ("https://[::1]", "[::1]:443"),
        ] {
            assert!(read(text).is_secure);
            assert_eq!(read(text).address.to_string(), *address);
        }
    }

    #[test]
    fn a_scheme_without_slashes_is_reported() {
        for text in &["http:10.0.0.1:1", "socks5h:[::1]:1", "http:proxy.example"] {
            let complaint = text.parse::<ProxyUrl>().unwrap_err().to_string();
            assert!(complaint.contains("'//' is missing"), "{}", complaint);
        }
        // `http` can be a host name.
        assert_eq!(read("http:3128").address.to_string(), "http:3128");
        let complaint = "a:b:1".parse::<ProxyUrl>().unwrap_err().to_string();
        assert!(complaint.contains("IPv6 addresses"), "{}", complaint);
    }

    #[test]
    fn the_socks_scheme_selects_version_and_dns_mode() {
        let (five, four): (fn(_) -> _, fn(_) -> _) = (Protocol::Socks5, Protocol::Socks4);
        for (text, protocol) in &[
            ("socks5://h", five(DnsMode::Local)),
            ("SOCKS5H://joe:x@h", five(DnsMode::Remote)),
            ("socks5h://[::1]:9050/", five(DnsMode::Remote)),
            ("socks4://h", four(DnsMode::Local)),
            ("Socks4A://joe@h", four(DnsMode::Remote)),
            ("socks4a://[::1]:9/", four(DnsMode::Remote)),
        ] {
            assert_eq!(read(text).protocol, *protocol);
        }
    }

    /// curl accepts one and ignores it.
    #[test]
    fn socks4_has_no_password() {
        for url in &["socks4://joe:hunter2@h", "socks4a://joe:@h", "socks4://:@h"] {
            let complaint = url.parse::<ProxyUrl>().unwrap_err().to_string();
            assert!(
                complaint.contains("no password") && !complaint.contains("hunter2"),
                "{}",
                complaint
            );
        }
    }

    #[test]
    fn percent_encoding_is_decoded_in_user_info_only() {
        let login = read("http://j%40e:p%3Aa%2F%25s:s@proxy.example")
            .login
            .unwrap();
        assert_eq!(login.user, "j@e");
        assert_eq!(login.password.unwrap().reveal(), "p:a/%s:s");
        assert_eq!(
            read("http://joe@proxy.example").login.unwrap().password,
            None
        );
        assert!("http://pro%78y.example".parse::<ProxyUrl>().is_err());
    }

    #[test]
    fn errors_never_show_user_info() {
        let bad = [
            "http://joe:hunter2@",
            "ftp://joe:hunter2@h",
            "joe:hunter2@host",
            "http://joe:hunter2@h/p",
            "http://joe:hunter2@@h:0",
            "http://%ff:hunter2@h",
            "hunter2@://h",
            "http://joe:hunter2",
            "joe:hunter2",
            "https://joe:hunter2@h:",
            "http:/joe:hunter2@h:1",
            "http//joe:hunter2@h:1",
            "http://joe:hun/ter2@h",
        ];
        for text in &bad {
            let complaint = text.parse::<ProxyUrl>().unwrap_err().to_string();
            assert!(!complaint.contains("hunter2"), "{}", complaint);
            assert!(complaint.contains("proxy.example:3128"), "{}", complaint);
        }
    }

    #[test]
    fn reports_missing_parts_and_other_schemes() {
        let complaint = |text: &str| text.parse::<ProxyUrl>().unwrap_err().to_string();
        assert!(complaint("proxy.example").contains("the port is missing"));
        assert!(complaint("http://proxy.example:").contains("the port is missing"));
        assert!(complaint("").contains("the host is missing"));
        for other in &["socks", "socks4h", "socks5a", "ftp"] {
            let text = complaint(&format!("{}://proxy.example", other));
            assert!(text.contains("only HTTP and SOCKS proxies"), "{}", text);
        }
        assert!(complaint("http://proxy.example/x").contains("have a path"));
    }
}
