//! `host:port` and `SCHEME://[user[:password]@]host[:port]`.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;

use super::host::{read_port, split_port, Host};
use super::{
    wrong, Credentials, HostPort, Login, ParseError, Secret, TlsOptions, TlsPeer, TlsSpec,
};

const RIGHT: &str = "proxy.example:3128 or http://user@proxy.example:3128";

/// What a proxy is asked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP, with the method CONNECT.
    Http,
    /// SOCKS version 5 (RFC 1928).
    Socks5(DnsMode),
    /// SOCKS version 4; where the proxy resolves names, it is version 4A.
    Socks4(DnsMode),
}

impl Protocol {
    /// Whether the names of destinations are resolved here.
    pub fn resolves_here(self) -> bool {
        matches!(
            self,
            Protocol::Socks5(DnsMode::Local) | Protocol::Socks4(DnsMode::Local)
        )
    }

    /// Whether a password can be said in it; a user can in each.
    pub fn has_password(self) -> bool {
        !matches!(self, Protocol::Socks4(_))
    }
}

/// Who resolves the names of destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnsMode {
    /// We do: the proxy is asked for an address.
    Local,
    /// The proxy does.
    Remote,
}

/// A proxy: where it is and who we are to it.
///
/// Displays as `host:port`, with the scheme in front where that isn't `http://`, and never with
/// the credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySpec {
    /// What it is asked in.
    pub protocol: Protocol,
    /// Where the proxy listens.
    pub address: HostPort,
    /// Who we are to this proxy, and to no other one.
    pub credentials: Option<Credentials>,
    /// How it is spoken to, when that isn't in the clear.
    pub tls: Option<TlsSpec>,
}

/// A proxy as it is written, before a missing password was found elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyUrl {
    /// What it is asked in.
    pub protocol: Protocol,
    /// Where the proxy listens.
    pub address: HostPort,
    /// The user info before the `@`, its percent-encoding undone.
    pub login: Option<Login>,
    /// Whether it is spoken to in TLS.
    pub is_secure: bool,
}

impl From<HostPort> for ProxySpec {
    /// An HTTP proxy that asks nobody's name.
    fn from(address: HostPort) -> ProxySpec {
        ProxySpec {
            protocol: Protocol::Http,
            address,
            credentials: None,
            tls: None,
        }
    }
}

impl FromStr for ProxySpec {
    type Err = ParseError;

    /// A user without a password has an empty one; TLS trusts what the system trusts.
    fn from_str(text: &str) -> Result<ProxySpec, ParseError> {
        let url: ProxyUrl = text.parse()?;
        let credentials = match &url.login {
            Some(Login { user, password }) => {
                let password = password.clone().unwrap_or_else(|| Secret::new(""));
                Some(Credentials::new(user, password)?)
            }
            None => None,
        };
        let tls = if url.is_secure {
            Some(TlsOptions::of(TlsPeer::Proxy).load()?)
        } else {
            None
        };
        url.with(credentials, tls)
    }
}

impl ProxyUrl {
    /// The proxy, with the credentials and the TLS that were found for it.
    ///
    /// # Errors
    ///
    /// When its protocol has no room for them.
    pub fn with(
        self,
        credentials: Option<Credentials>,
        tls: Option<TlsSpec>,
    ) -> Result<ProxySpec, ParseError> {
        let fit = credentials
            .as_ref()
            .map_or(true, Credentials::fit_in_socks5);
        if matches!(self.protocol, Protocol::Socks5(_)) && !fit {
            return Err(ParseError::new(format!(
                "SOCKS5 has room for 255 bytes of a user and of a password; those for {} have more",
                self.address
            )));
        }
        Ok(ProxySpec {
            protocol: self.protocol,
            address: self.address,
            credentials,
            tls,
        })
    }
}

impl FromStr for ProxyUrl {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<ProxyUrl, ParseError> {
        ProxyUrl::read(text)
            .map_err(|why| wrong("proxy", &redact(text), diagnosed(text, why), RIGHT))
    }
}

/// What is wrong with a text, when it is `why` as it stands.
fn diagnosed(text: &str, why: String) -> String {
    let is_right_with = |scheme_end: &str| {
        let repaired = text.replacen(scheme_end, "://", 1);
        repaired != text && ProxyUrl::read(&repaired).is_ok()
    };
    if !text.contains("://") && (is_right_with(":/") || is_right_with(":")) {
        "'//' is missing behind its scheme".into()
    } else {
        why
    }
}

impl ProxyUrl {
    /// Reads what an option or a variable may hold.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as a clause: callers show where they have it from.
    pub(crate) fn read(text: &str) -> Result<ProxyUrl, String> {
        let (scheme, rest) = match text.find("://") {
            Some(end) => (Some(text[..end].to_ascii_lowercase()), &text[end + 3..]),
            None => (None, text),
        };
        let (protocol, is_secure, usual_port) = match scheme.as_deref() {
            None => (Protocol::Http, false, None),
            Some("http") => (Protocol::Http, false, Some(80)),
            #[cfg(feature = "tls")]
            Some("https") => (Protocol::Http, true, Some(443)),
            #[cfg(not(feature = "tls"))]
            Some("https") => return Err(super::tls::MISSING.into()),
            // Which of them is which, curl decided.
            Some("socks5") => (Protocol::Socks5(DnsMode::Local), false, Some(1080)),
            Some("socks5h") => (Protocol::Socks5(DnsMode::Remote), false, Some(1080)),
            Some("socks4") => (Protocol::Socks4(DnsMode::Local), false, Some(1080)),
            Some("socks4a") => (Protocol::Socks4(DnsMode::Remote), false, Some(1080)),
            Some(_) => return Err(
                "only HTTP and SOCKS proxies are supported, write http://, https://, socks5h:// \
                 or socks4a://"
                    .into(),
            ),
        };
        // The last '@': one in a password that should have been %40 does no harm.
        let (user_info, rest) = match rest.rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        // RFC 3986 §3.2: an authority ends at the first of these, so that two readers would differ.
        if user_info.map_or(false, |info| info.contains(&['/', '?', '#'][..])) {
            return Err("write / ? # in user info as %2F %3F %23".into());
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(&['/', '?', '#'][..]) {
            return Err("a proxy has no path".into());
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
            return Err("SOCKS4 has no password, it is told the user alone: leave it out".into());
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
        Err(_) => Err("its user info isn't UTF-8".into()),
    }
}

/// The text without what may be a secret: this is for messages.
fn redact(text: &str) -> String {
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

/// Whether the host was forgotten, rather than the port mistyped: then it isn't a port that
/// stands behind the colon.
fn may_be_user_info(name: &str, rest: &str) -> bool {
    let is_numeric = |b: u8| b.is_ascii_hexdigit() || b"[]/%".contains(&b);
    !name.contains('.') && !rest.contains(':') && !rest.bytes().all(is_numeric)
}

impl fmt::Display for ProxySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.protocol {
            Protocol::Http if self.tls.is_some() => "https://",
            Protocol::Http => "",
            Protocol::Socks5(DnsMode::Local) => "socks5://",
            Protocol::Socks5(DnsMode::Remote) => "socks5h://",
            Protocol::Socks4(DnsMode::Local) => "socks4://",
            Protocol::Socks4(DnsMode::Remote) => "socks4a://",
        })?;
        self.address.fmt(f)
    }
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

    #[cfg(feature = "tls")]
    #[test]
    fn https_is_tls_with_a_port_of_its_own() {
        for (text, address) in &[
            ("https://proxy.example", "https://proxy.example:443"),
            (
                "HTTPS://joe:x@proxy.example:80/",
                "https://proxy.example:80",
            ),
            ("https://[::1]", "https://[::1]:443"),
        ] {
            assert!(read(text).is_secure);
            let spec: ProxySpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), *address);
        }
    }

    #[test]
    fn a_scheme_without_its_slashes_is_known() {
        for text in &["http:10.0.0.1:1", "socks5h:[::1]:1", "http:proxy.example"] {
            let complaint = text.parse::<ProxyUrl>().unwrap_err().to_string();
            assert!(complaint.contains("'//' is missing"), "{}", complaint);
        }
        // A host may be called so.
        assert_eq!(read("http:3128").address.to_string(), "http:3128");
        let complaint = "a:b:1".parse::<ProxyUrl>().unwrap_err().to_string();
        assert!(complaint.contains("IPv6 addresses"), "{}", complaint);
    }

    #[test]
    fn socks_says_its_version_and_who_resolves_names() {
        let (five, four): (fn(_) -> _, fn(_) -> _) = (Protocol::Socks5, Protocol::Socks4);
        for (text, protocol, shown) in &[
            ("socks5://h", five(DnsMode::Local), "socks5://h:1080"),
            (
                "SOCKS5H://joe:x@h",
                five(DnsMode::Remote),
                "socks5h://h:1080",
            ),
            (
                "socks5h://[::1]:9050/",
                five(DnsMode::Remote),
                "socks5h://[::1]:9050",
            ),
            ("socks4://h", four(DnsMode::Local), "socks4://h:1080"),
            ("Socks4A://joe@h", four(DnsMode::Remote), "socks4a://h:1080"),
            (
                "socks4a://[::1]:9/",
                four(DnsMode::Remote),
                "socks4a://[::1]:9",
            ),
        ] {
            assert_eq!(read(text).protocol, *protocol);
            let spec: ProxySpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), *shown);
        }
    }

    /// curl reads it, and leaves it out in silence.
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
        let named: ProxySpec = "socks4a://j%40e@h".parse().unwrap();
        assert_eq!(named.credentials.unwrap().user(), "j@e");
        let long = format!("socks4://{}@h", "x".repeat(256));
        assert!(long.parse::<ProxySpec>().is_ok());
        assert!("socks4://j%00e@h".parse::<ProxySpec>().is_err());
    }

    #[test]
    fn socks5_has_room_for_255_bytes() {
        let spec = |scheme: &str, count| {
            let url = format!("{}://joe:{}@h", scheme, "x".repeat(count));
            url.parse::<ProxySpec>().map_err(|e| e.to_string())
        };
        assert!(spec("socks5h", 255).is_ok());
        let complaint = spec("socks5h", 256).unwrap_err();
        assert!(
            complaint.contains("255") && !complaint.contains("xx"),
            "{}",
            complaint
        );
        assert!(spec("http", 256).is_ok());
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn https_is_refused_in_a_build_without_tls() {
        let complaint = "https://h".parse::<ProxyUrl>().unwrap_err().to_string();
        assert!(complaint.contains("built without TLS"), "{}", complaint);
    }

    #[test]
    fn undoes_percent_encoding_in_user_info_only() {
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
    fn complaints_never_show_user_info() {
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
    fn complains_of_what_it_can_not_do() {
        let complaint = |text: &str| text.parse::<ProxyUrl>().unwrap_err().to_string();
        assert!(complaint("proxy.example").contains("the port is missing"));
        assert!(complaint("http://proxy.example:").contains("the port is missing"));
        assert!(complaint("").contains("the host is missing"));
        for other in &["socks", "socks4h", "socks5a", "ftp"] {
            let told = complaint(&format!("{}://proxy.example", other));
            assert!(told.contains("only HTTP and SOCKS proxies"), "{}", told);
        }
        assert!(complaint("http://proxy.example/x").contains("no path"));
    }
}
