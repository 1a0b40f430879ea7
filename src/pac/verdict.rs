//! What FindProxyForURL said: `PROXY a:3128; SOCKS b:1080; DIRECT`.

use std::fmt;

use super::{shown, Outfit};
use crate::config::{Protocol, ProxySpec, ProxyUrl};

/// No answer names more ways, and none is longer.
const MOST: usize = 64;
const LONGEST: usize = 8 * 1024;

/// The proxies in the order in which they shall be tried, and when the destination itself shall be.
///
/// Displays as it might have been said, without what was passed over: equal ones are the same text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Each once: what has failed does so again.
    pub proxies: Vec<ProxySpec>,
    /// After so many of them the destination itself is tried.
    pub direct_after: Option<usize>,
    /// What can't be used, and why.
    pub passed_over: Vec<String>,
}

impl Verdict {
    /// Reads an answer; the outfit is what its proxies are spoken to with.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with its text: an address that is none, or nothing that can be tried.
    pub(super) fn read(text: &str, outfit: &Outfit) -> Result<Verdict, String> {
        let wrong = |why: &str| Err(format!("it said '{}': {}", shown(text), why));
        if text.len() > LONGEST {
            return wrong("that is too long");
        }
        let is_alone = |element: &str| {
            let is_between = |c: char| c == ';' || c.is_whitespace();
            element == text.trim_matches(is_between)
        };
        let mut verdict = Verdict::default();
        let mut flaw = "a right answer is PROXY proxy.example:3128; DIRECT".to_string();
        for (place, element) in text.split(';').map(str::trim).enumerate() {
            if place == MOST {
                return wrong("these are too many");
            }
            if element.is_empty() {
                continue;
            }
            let usable = match Element::read(element) {
                Ok(Element::Proxy(url)) => outfit.complete(url).map_err(|e| e.to_string()),
                Ok(Element::Direct) => {
                    let count = verdict.proxies.len();
                    verdict.direct_after.get_or_insert(count);
                    continue;
                }
                Ok(Element::Other(why)) => Err(why.into()),
                // What stands before an '@' may be a password, with the ';' in it that parted this.
                Err(why) if is_alone(element) || text.contains('@') => return wrong(&why),
                Err(why) => return wrong(&format!("'{}': {}", shown(element), why)),
            };
            match usable {
                Ok(proxy) if verdict.proxies.contains(&proxy) => {}
                Ok(proxy) => verdict.proxies.push(proxy),
                Err(why) => {
                    let told = format!("'{}': {}", shown(element), why);
                    verdict.passed_over.push(told);
                    flaw = why;
                }
            }
        }
        if verdict.proxies.is_empty() && verdict.direct_after.is_none() {
            return wrong(&flaw);
        }
        Ok(verdict)
    }
}

enum Element {
    Proxy(ProxyUrl),
    Direct,
    /// Nothing for us, and why.
    Other(&'static str),
}

impl Element {
    fn read(text: &str) -> Result<Element, String> {
        let mut words = text.split_whitespace();
        let kind = words.next().unwrap_or_default().to_ascii_uppercase();
        let (address, rest) = (words.next(), words.next());
        let scheme = match &kind[..] {
            "DIRECT" if address.is_none() => return Ok(Element::Direct),
            "DIRECT" => return Err("DIRECT takes no address".into()),
            "PROXY" | "HTTP" => "http",
            "HTTPS" if cfg!(not(feature = "tls")) => {
                return Ok(Element::Other("there is no TLS in this build"))
            }
            "HTTPS" => "https",
            // Browsers have it resolve the names, and do so themselves for an older one.
            "SOCKS" | "SOCKS5" => "socks5h",
            "SOCKS4" => "socks4",
            _ => return Ok(Element::Other("that kind of proxy isn't known here")),
        };
        let address = match (address, rest) {
            (Some(address), None) if address.contains("://") => {
                return Err(format!(
                    "behind {} stands HOST:PORT, without a scheme",
                    kind
                ))
            }
            (Some(address), None) if !address.contains('@') => address,
            _ => return Err(format!("behind {} stands HOST:PORT", kind)),
        };
        ProxyUrl::read(&format!("{}://{}", scheme, address)).map(Element::Proxy)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parted = "";
        for place in 0..=self.proxies.len() {
            if self.direct_after == Some(place) {
                write!(f, "{}DIRECT", parted)?;
                parted = "; ";
            }
            if let Some(proxy) = self.proxies.get(place) {
                let kind = match proxy.protocol {
                    Protocol::Socks5(_) => "SOCKS5",
                    Protocol::Socks4(_) => "SOCKS4",
                    Protocol::Http if proxy.tls.is_some() => "HTTPS",
                    Protocol::Http => "PROXY",
                };
                write!(f, "{}{} {}", parted, kind, proxy.address)?;
                parted = "; ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::{Names, Netrc};
    #[cfg(feature = "tls")]
    use crate::config::{TlsOptions, TlsPeer};

    fn attempt(text: &str) -> Result<Verdict, String> {
        Verdict::read(text, &Outfit::default())
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
            assert!(verdict.passed_over.is_empty());
        }
    }

    /// As browsers take it: who speaks the newer version resolves names, and the older one doesn't.
    #[test]
    fn the_version_of_socks_says_who_resolves_names() {
        let verdict = read("SOCKS a; SOCKS5 b; SOCKS4 c");
        let protocols = verdict.proxies.iter().map(|proxy| proxy.protocol);
        let protocols: Vec<Protocol> = protocols.collect();
        let newer = Protocol::Socks5(Names::There);
        assert_eq!(protocols, [newer, newer, Protocol::Socks4(Names::Here)]);
    }

    #[cfg(feature = "tls")]
    #[test]
    fn reads_a_proxy_that_wants_tls() {
        let outfit = Outfit {
            tls: TlsOptions::of(TlsPeer::Proxy).load().ok(),
            ..Outfit::default()
        };
        let verdict = Verdict::read("HTTPS a:1; PROXY b:2", &outfit).unwrap();
        assert!(verdict.proxies[0].tls.is_some() && verdict.proxies[1].tls.is_none());
        assert_eq!(verdict.to_string(), "HTTPS a:1; PROXY b:2");
    }

    /// In a build without it the whole answer failed.
    #[test]
    fn a_proxy_that_wants_tls_is_passed_over_where_there_is_none() {
        let verdict = read("HTTPS a:443; PROXY b:3128");
        assert_eq!(verdict.to_string(), "PROXY b:3128");
        assert!(verdict.passed_over[0].contains("there is no TLS"));
    }

    /// One password too long for SOCKS5 spoilt the whole answer.
    #[test]
    fn a_proxy_that_has_no_room_for_its_credentials_is_passed_over() {
        let netrc = format!("machine a login joe password {}", "x".repeat(256));
        let outfit = Outfit {
            netrc: Netrc::read(&netrc).unwrap(),
            ..Outfit::default()
        };
        let verdict = Verdict::read("SOCKS a:1; PROXY b:2; DIRECT; PROXY c:3", &outfit).unwrap();
        assert_eq!(verdict.to_string(), "PROXY b:2; DIRECT; PROXY c:3");
        assert!(verdict.passed_over[0].starts_with("'SOCKS a:1': SOCKS5 has room for 255"));
        let why = Verdict::read("SOCKS a:1", &outfit).unwrap_err();
        assert!(why.starts_with("it said 'SOCKS a:1': SOCKS5 has room for 255"));
    }

    #[test]
    fn passes_over_what_it_does_not_speak() {
        let verdict = read("SOCKS6 a:1; QUIC b:2; PROXY c:3");
        assert_eq!(verdict.to_string(), "PROXY c:3");
        assert_eq!(verdict.passed_over.len(), 2);
        assert!(verdict.passed_over[0].starts_with("'SOCKS6 a:1': that kind"));
        assert!(verdict.passed_over[1].starts_with("'QUIC b:2': that kind"));
    }

    #[test]
    fn rubbish_is_told_with_its_text() {
        for text in &[
            "",
            ";;",
            "SOCKS6 a:1",
            "SOCKS4",
            "nonsense",
            "PROXY",
            "PROXY a:0",
            "PROXY a:1 b:2",
            "PROXY joe:x@a:1",
            "PROXY http://a:1",
            "DIRECT a:1",
            "PROXY a:1; PROXY b:x",
            "PROXY a\u{202e}:1",
        ] {
            let why = attempt(text).unwrap_err();
            assert!(
                why.starts_with(&format!("it said '{}': ", shown(text))),
                "{}",
                why
            );
        }
    }

    /// `'http://http://h:1'` had been found wrong, which the file doesn't say.
    #[test]
    fn what_is_wrong_with_a_proxy_is_told_once_and_of_which() {
        for (text, told) in &[
            (
                "PROXY http://h:1",
                "it said 'PROXY http://h:1': behind PROXY stands HOST:PORT, without a scheme",
            ),
            (
                " SOCKS5 socks5://h:1;",
                "it said 'SOCKS5 socks5://h:1;': behind SOCKS5 stands HOST:PORT, without a scheme",
            ),
            (
                "PROXY h:0",
                "it said 'PROXY h:0': port 0 can't be connected to",
            ),
            (
                "PROXY a:1; PROXY b:x; DIRECT",
                "it said 'PROXY a:1; PROXY b:x; DIRECT': 'PROXY b:x': a port is a number from 1 to \
                 65535; names of services aren't looked up",
            ),
            (
                "PROXY joe:hun;ter2@h:1",
                "it said '***@h:1': a port is a number from 1 to 65535; names of services aren't \
                 looked up",
            ),
            ("PROXY h:1/", ""),
        ] {
            let why = attempt(text).err().unwrap_or_default();
            assert_eq!(why, *told);
        }
    }

    #[test]
    fn what_may_be_a_password_is_not_shown() {
        for text in &[
            "PROXY joe:hunter2@a:1; DIRECT",
            "PROXY joe:hun;hunter2@a:1; PROXY b:1",
            "PROXY http://joe:hunter2@a:1",
            "PROXY http://joe:hunter2@a:1; PROXY http://b@c:1",
            "joe:hunter2 joe@a:1",
        ] {
            let why = attempt(text).unwrap_err();
            assert!(why.starts_with("it said '***@"), "{}", why);
            assert!(!why.contains("hun"), "{}", why);
        }
        let verdict = read("SOCKS9 joe:hunter2@a:1; DIRECT");
        assert!(verdict.passed_over[0].starts_with("'***@a:1': "));
    }

    #[test]
    fn an_answer_without_end_is_refused() {
        let many = "PROXY a:1;".repeat(MOST + 1);
        assert!(attempt(&many).unwrap_err().ends_with("too many"));
        let long = " ".repeat(LONGEST + 1);
        assert!(attempt(&long).unwrap_err().len() < 300);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = attempt(&text);
        }

        /// What is shown, and looked for among those named before, is the verdict itself.
        #[test]
        fn what_it_displays_reads_as_the_same(
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
