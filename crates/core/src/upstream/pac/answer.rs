//! Answers of FindProxyForURL: `PROXY a:3128; SOCKS b:1080; DIRECT`.

use std::fmt;

use super::shown;
use crate::config::{ProxyDefaults, ProxySpec};
use ptunnel_proto::values::{Protocol, ProxyUrl};

/// Maximum number of elements of an answer.
const MAX_ELEMENTS: usize = 64;

/// Maximum length of an answer, in bytes.
const MAX_LENGTH: usize = 8 * 1024;

/// The proxies of an answer in their order, and the position of DIRECT among them.
///
/// Displays as an answer, without the skipped elements: equal verdicts display alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Each proxy once: after a failure it would fail again.
    pub proxies: Vec<ProxySpec>,
    /// The destination itself is tried after this many proxies.
    pub direct_after: Option<usize>,
    /// Warnings: the elements that were skipped, and why.
    pub notes: Vec<String>,
}

impl Verdict {
    /// Parses an answer as browsers do: unknown elements are skipped, and an answer without any known
    /// one means DIRECT. `defaults` completes the proxies.
    ///
    /// # Errors
    ///
    /// A message with the answer: it is too long, or names only proxies that a browser would use and
    /// ptunnel can't.
    pub(super) fn read(text: &str, defaults: &ProxyDefaults) -> Result<Verdict, String> {
        let wrong = |why: &str| Err(format!("it returned '{}': {}", shown(text), why));
        if text.len() > MAX_LENGTH {
            return wrong("the answer is too long");
        }
        let mut verdict = Verdict::default();
        let mut unusable = None;
        for (index, element) in text.split(';').map(str::trim).enumerate() {
            if index == MAX_ELEMENTS {
                return wrong("the answer has too many entries");
            }
            // The text before an '@' can be a password with a ';' that ended the element.
            let name = shown(if text.contains('@') { text } else { element });
            let why = match Element::read(element) {
                Ok(Element::Nothing) => continue,
                Ok(Element::Direct) => {
                    let count = verdict.proxies.len();
                    verdict.direct_after.get_or_insert(count);
                    continue;
                }
                Ok(Element::Proxy(url)) => match defaults.complete(url) {
                    Ok(proxy) if verdict.proxies.contains(&proxy) => continue,
                    Ok(proxy) => {
                        verdict.proxies.push(proxy);
                        continue;
                    }
                    Err(e) => unusable.get_or_insert(e.to_string()).clone(),
                },
                Err(Flaw::Unsupported(why)) => unusable.get_or_insert(why).clone(),
                Err(Flaw::Unknown(why)) => why,
            };
            verdict.notes.push(format!("skipping '{}': {}", name, why));
        }
        if !verdict.proxies.is_empty() || verdict.direct_after.is_some() {
            return Ok(verdict);
        }
        if let Some(why) = unusable {
            return wrong(&why);
        }
        let name = shown(text);
        let note = format!(
            "no proxy in the answer '{}'; connecting directly, as browsers do",
            name
        );
        verdict.notes.push(note);
        verdict.direct_after = Some(0);
        Ok(verdict)
    }
}

/// One part of an answer.
enum Element {
    Proxy(ProxyUrl),
    Direct,
    Nothing,
}

/// Why a part of an answer isn't used.
enum Flaw {
    /// Browsers skip it too.
    Unknown(String),
    /// Only this build can't use it.
    Unsupported(String),
}

impl Element {
    fn read(text: &str) -> Result<Element, Flaw> {
        let unknown = |why: String| Err(Flaw::Unknown(why));
        let mut words = text.split_whitespace();
        let kind = match words.next() {
            Some(kind) => kind.to_ascii_uppercase(),
            None => return Ok(Element::Nothing),
        };
        let (address, rest) = (words.next(), words.next());
        let scheme = match &kind[..] {
            "DIRECT" if address.is_none() => return Ok(Element::Direct),
            "DIRECT" => return unknown("DIRECT takes no address".into()),
            "PROXY" | "HTTP" => "http",
            "HTTPS" => "https",
            // As in browsers: with SOCKS5 the proxy resolves names.
            "SOCKS" | "SOCKS5" => "socks5h",
            "SOCKS4" => "socks4",
            _ => return unknown("unknown kind of proxy".into()),
        };
        let address = match (address, rest) {
            (Some(address), None) if address.contains("://") => {
                let why = format!("{} takes HOST:PORT, without a scheme", kind);
                return unknown(why);
            }
            (Some(address), None) if !address.contains('@') => address,
            _ => return unknown(format!("{} takes HOST:PORT", kind)),
        };
        if cfg!(not(feature = "tls")) && scheme == "https" {
            return Err(Flaw::Unsupported("ptunnel was built without TLS".into()));
        }
        let url = ProxyUrl::read(&format!("{}://{}", scheme, address));
        url.map(Element::Proxy).map_err(Flaw::Unknown)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for index in 0..=self.proxies.len() {
            if self.direct_after == Some(index) {
                write!(f, "{}DIRECT", separator)?;
                separator = "; ";
            }
            if let Some(proxy) = self.proxies.get(index) {
                let kind = match proxy.protocol {
                    Protocol::Socks5(_) => "SOCKS5",
                    Protocol::Socks4(_) => "SOCKS4",
                    Protocol::Http if proxy.tls.is_some() => "HTTPS",
                    Protocol::Http => "PROXY",
                };
                write!(f, "{}{} {}", separator, kind, proxy.address)?;
                separator = "; ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ptunnel_proto::values::{DnsMode, Netrc};
    #[cfg(feature = "tls")]
    use ptunnel_proto::values::{TlsOptions, TlsPeer};

    fn attempt(text: &str) -> Result<Verdict, String> {
        Verdict::read(text, &ProxyDefaults::default())
    }

    #[track_caller]
    fn read(text: &str) -> Verdict {
        attempt(text).unwrap_or_else(|why| panic!("{}: {}", text, why))
    }

    #[test]
    fn reads_each_kind_in_its_order() {
        for (text, shown) in &[
            ("DIRECT", "DIRECT"),
            (" direct ; ", "DIRECT"),
            ("PROXY a.example:3128", "PROXY a.example:3128"),
            (
                "PROXY a:1;PROXY b:2 ;DIRECT",
                "PROXY a:1; PROXY b:2; DIRECT",
            ),
            (
                "http a:1; SOCKS b:2; socks5 c:3",
                "PROXY a:1; SOCKS5 b:2; SOCKS5 c:3",
            ),
            ("DIRECT; PROXY a:1; DIRECT", "DIRECT; PROXY a:1"),
            (
                "PROXY a:1; SOCKS a:1; HTTP a:1; PROXY b:2; PROXY a:1",
                "PROXY a:1; SOCKS5 a:1; PROXY b:2",
            ),
            ("PROXY\ta:1", "PROXY a:1"),
            ("PROXY a", "PROXY a:80"),
            ("SOCKS [::1]", "SOCKS5 [::1]:1080"),
            ("SOCKS4 a:1; socks4 b", "SOCKS4 a:1; SOCKS4 b:1080"),
            ("PROXY [2001:db8::1]:3128", "PROXY [2001:db8::1]:3128"),
        ] {
            let verdict = read(text);
            assert_eq!(verdict.to_string(), *shown);
            assert!(verdict.notes.is_empty());
        }
    }

    /// As in browsers: a SOCKS5 proxy resolves names, and a SOCKS4 proxy doesn't.
    #[test]
    fn the_version_of_socks_decides_which_side_resolves_names() {
        let verdict = read("SOCKS a; SOCKS5 b; SOCKS4 c");
        let protocols = verdict.proxies.iter().map(|proxy| proxy.protocol);
        let protocols: Vec<Protocol> = protocols.collect();
        let newer = Protocol::Socks5(DnsMode::Remote);
        assert_eq!(protocols, [newer, newer, Protocol::Socks4(DnsMode::Local)]);
    }

    #[cfg(feature = "tls")]
    #[test]
    fn reads_a_proxy_with_tls() {
        let defaults = ProxyDefaults {
            tls: crate::config::TlsSpec::load(&TlsOptions::of(TlsPeer::Proxy)).ok(),
            ..ProxyDefaults::default()
        };
        let verdict = Verdict::read("HTTPS a:1; PROXY b:2", &defaults).unwrap();
        assert!(verdict.proxies[0].tls.is_some() && verdict.proxies[1].tls.is_none());
        assert_eq!(verdict.to_string(), "HTTPS a:1; PROXY b:2");
    }

    /// Regression: in a build without TLS the whole answer failed.
    #[test]
    fn a_proxy_with_tls_is_skipped_in_a_build_without_tls() {
        let verdict = read("HTTPS a:443; PROXY b:3128");
        assert_eq!(verdict.to_string(), "PROXY b:3128");
        let why = match cfg!(feature = "tls") {
            true => "TLS isn't set up for it",
            false => "ptunnel was built without TLS",
        };
        assert!(verdict.notes[0].ends_with(why), "{:?}", verdict.notes);
        assert!(attempt("HTTPS a:443").unwrap_err().contains(why));
    }

    /// Regression: one password that is too long for SOCKS5 made the whole answer fail.
    #[test]
    fn a_proxy_whose_credentials_are_too_long_is_skipped() {
        let netrc = format!("machine a login joe password {}", "x".repeat(256));
        let defaults = ProxyDefaults {
            netrc: Netrc::read(&netrc).unwrap(),
            ..ProxyDefaults::default()
        };
        let verdict = Verdict::read("SOCKS a:1; PROXY b:2; DIRECT; PROXY c:3", &defaults).unwrap();
        assert_eq!(verdict.to_string(), "PROXY b:2; DIRECT; PROXY c:3");
        let note = &verdict.notes[0];
        assert!(note.starts_with("skipping 'SOCKS a:1': the username and the password"));
        let why = Verdict::read("SOCKS a:1", &defaults).unwrap_err();
        assert!(why.starts_with("it returned 'SOCKS a:1': the username and the password"));
    }

    /// As in Chromium and Firefox. Regression: ptunnel skipped only unknown kinds of proxies.
    #[test]
    fn unknown_elements_are_skipped_with_a_reason() {
        for (text, why) in &[
            ("SOCKS6 a:1", "unknown kind of proxy"),
            ("nonsense", "unknown kind of proxy"),
            ("PROXY", "PROXY takes HOST:PORT"),
            ("PROXY a:1 b:2", "PROXY takes HOST:PORT"),
            ("SOCKS4", "SOCKS4 takes HOST:PORT"),
            ("DIRECT a:1", "DIRECT takes no address"),
            (
                "PROXY http://h:1",
                "PROXY takes HOST:PORT, without a scheme",
            ),
            ("PROXY h:0", "port 0 can't be connected to"),
            (
                "PROXY b:x",
                "a port must be a number up to 65535, not the name of a service",
            ),
            ("PROXY a\u{202e}:1", ""),
        ] {
            let verdict = read(&format!("{}; PROXY c:3", text));
            assert_eq!(verdict.to_string(), "PROXY c:3");
            let note = format!("skipping '{}': {}", shown(text), why);
            assert!(verdict.notes[0].starts_with(&note), "{:?}", verdict.notes);
            assert_eq!(verdict.notes.len(), 1);
        }
    }

    /// As in Chromium and Firefox. Regression: the client's tunnel failed.
    #[test]
    fn an_answer_without_a_known_element_means_direct() {
        for text in &["", " ;; ", "nonsense", "PROXY", "PROXY b:x; QUIC c:1"] {
            let verdict = read(text);
            assert_eq!(verdict.to_string(), "DIRECT");
            let note = format!("no proxy in the answer '{}'; connecting", shown(text));
            let last = verdict.notes.last().unwrap();
            assert!(last.starts_with(&note), "{}", last);
        }
    }

    #[test]
    fn possible_passwords_are_not_shown() {
        for text in &[
            "PROXY joe:hunter2@a:1; DIRECT",
            "PROXY joe:hun;hunter2@a:1; PROXY b:1",
            "SOCKS9 joe:hunter2@a:1; DIRECT",
            "PROXY http://joe:hunter2@a:1",
            "PROXY http://joe:hunter2@a:1; PROXY http://b@c:1",
            "joe:hunter2 joe@a:1",
        ] {
            for note in read(text).notes {
                assert!(note.contains("'***@") && !note.contains("hun"), "{}", note);
            }
        }
    }

    #[test]
    fn an_answer_over_the_limit_is_refused() {
        let many = "PROXY a:1;".repeat(MAX_ELEMENTS + 1);
        assert!(attempt(&many).unwrap_err().ends_with("too many entries"));
        let long = " ".repeat(MAX_LENGTH + 1);
        assert!(attempt(&long).unwrap_err().len() < 300);
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in "\\PC{0,80}") {
            let _ = attempt(&text);
        }

        /// The displayed text is the key of a known verdict, so it must contain the whole verdict.
        #[test]
        fn a_displayed_verdict_parses_to_itself(
            elements in prop::collection::vec(
                "(DIRECT|PROXY [a-z]{1,3}:[1-9]|SOCKS[45]? [a-z]{1,3}(:[1-9])?|[A-Z]{3} b)",
                1..6,
            )
        ) {
            if let Ok(verdict) = attempt(&elements.join(";")) {
                let again = read(&verdict.to_string());
                prop_assert_eq!(again.proxies, verdict.proxies);
                prop_assert_eq!(again.direct_after, verdict.direct_after);
            }
        }
    }
}
