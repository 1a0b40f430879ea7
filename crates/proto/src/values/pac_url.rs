//! The URL of a PAC file: `http[s]://[user[:password]@]host[:port][/path]`.

use std::fmt;
use std::str::FromStr;

use super::proxy_url::redact;
use super::{wrong, Credentials, HostPort, ParseError, ProxyUrl, Secret};
use crate::text::escape::Escaped;

const EXAMPLE: &str = "http://wpad.example/proxy.pac";

/// The parts of the URL of a PAC file. Displays escaped, with `***` for user info and query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacUrl {
    /// The server's address.
    pub address: HostPort,
    /// Whether the connection to the server uses TLS.
    pub is_secure: bool,
    /// The user info before the `@`, with percent-encoding decoded.
    pub credentials: Option<Credentials>,
    /// The host, and the port if the URL has one, for the field `Host`.
    pub(crate) authority: String,
    /// The path with the query, which can have a secret.
    pub(crate) target: Secret,
    shown: String,
}

impl PacUrl {
    /// Returns whether a text is meant as a URL, not as the path of a file.
    pub fn is_one(text: &str) -> bool {
        text.contains("://")
    }

    /// Returns whether it has user info or a query.
    pub fn has_secret(&self) -> bool {
        self.credentials.is_some() || self.target.reveal().contains('?')
    }

    /// # Errors
    ///
    /// The reason as a clause, without the text.
    fn read(text: &str) -> Result<PacUrl, String> {
        let start = text.find("://").map_or(0, |end| end + 3);
        let scheme = text[..start].to_ascii_lowercase();
        if scheme != "http://" && scheme != "https://" {
            return Err("it must begin with http:// or https://, or be the path of a file".into());
        }
        // As in the URL of a proxy, the last '@' ends the user info.
        let host = text[start..].rfind('@').map_or(start, |at| start + at + 1);
        let is_end = |c: char| matches!(c, '/' | '?' | '#');
        if text[start..host].contains(is_end) {
            return Err("write @ in the path as %40, and / ? # in user info as %2F %3F %23".into());
        }
        let end = text[host..].find(is_end).map_or(text.len(), |at| host + at);
        let (site, path) = text.split_at(end);
        if path.contains('#') || !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(
                "its path must be ASCII without spaces and '#'; percent-encode them".into(),
            );
        }
        let ProxyUrl {
            address,
            login,
            is_secure,
            ..
        } = ProxyUrl::read(site)?;
        let credentials = login.map(|login| {
            let password = login.password.unwrap_or_else(|| Secret::new(""));
            Credentials::new(login.user, password).map_err(|e| e.to_string())
        });
        let credentials = credentials.transpose()?;
        let authority = &text[host..end];
        let user_info = credentials.as_ref().map_or("", |_| "***@");
        let shown = format!(
            "{}{}{}{}",
            scheme,
            user_info,
            authority,
            without_query(path)
        );
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(PacUrl {
            address,
            is_secure,
            credentials,
            authority: authority.into(),
            target: Secret::new(format!("{}{}", slash, path)),
            shown: Escaped(shown.as_bytes()).to_string(),
        })
    }
}

impl FromStr for PacUrl {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<PacUrl, ParseError> {
        let shown = without_query(&redact(text));
        PacUrl::read(text).map_err(|why| wrong("URL", &shown, why, EXAMPLE))
    }
}

impl fmt::Display for PacUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// Returns a text with `***` for its query.
fn without_query(text: &str) -> String {
    match text.find('?') {
        Some(at) => format!("{}?***", &text[..at]),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_a_url() {
        for (text, address, authority, target, shown) in &[
            ("http://a", "a:80", "a", "/", "http://a"),
            ("HTTP://a/B", "a:80", "a", "/B", "http://a/B"),
            (
                "http://[::1]:81/b",
                "[::1]:81",
                "[::1]:81",
                "/b",
                "http://[::1]:81/b",
            ),
            ("http://a/b?c=d", "a:80", "a", "/b?c=d", "http://a/b?***"),
            ("http://a?c", "a:80", "a", "/?c", "http://a?***"),
            ("http://joe:x@a/b", "a:80", "a", "/b", "http://***@a/b"),
        ] {
            let url: PacUrl = text.parse().unwrap();
            assert_eq!(url.address.to_string(), *address);
            assert_eq!(
                (&url.authority[..], url.target.reveal()),
                (*authority, *target)
            );
            assert_eq!(url.to_string(), *shown);
            assert!(!url.is_secure);
        }
        let url: PacUrl = "http://j%40e:p%2Fw@a".parse().unwrap();
        let credentials = url.credentials.unwrap();
        assert_eq!(
            (credentials.user(), credentials.password().reveal()),
            ("j@e", "p/w")
        );
    }

    #[test]
    fn https_means_tls() {
        let url: PacUrl = "https://a/b".parse().unwrap();
        assert!(url.is_secure && url.address.port == 443);
    }

    #[test]
    fn errors_and_debug_show_no_secret() {
        for text in &[
            "ftp://joe:hunter2@a/b",
            "file:///hunter2@b",
            "http://joe:hunter2@/b",
            "http://joe:hun/ter2@a",
            "http://joe:hunter2/b",
            "http://joe:hunter2@a/b c",
            "http://joe:hunter2@a/b#c",
            "http://joe:hunter2@a:0/b",
            "http://a b/c?hunter2",
            "http://joe:%ffhunter2@a/b",
            "http://joe:hunter2%0a@a/b",
        ] {
            let complaint = text.parse::<PacUrl>().unwrap_err().to_string();
            assert!(!complaint.contains("ter2"), "{}", complaint);
            assert!(complaint.contains(EXAMPLE), "{}", complaint);
        }
        let url: PacUrl = "http://joe:hunter2@a/b?hunter2".parse().unwrap();
        assert!(!format!("{:?} {}", url, url).contains("hunter2"));
    }
}
