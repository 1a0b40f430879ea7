//! What FindProxyForURL said: `PROXY a:3128; SOCKS b:1080; DIRECT`.

use std::fmt;

use crate::config::{Protocol, ProxyUrl};
use crate::escape::{excerpt, Escaped};

/// No answer names more ways, and none is longer.
const MOST: usize = 64;
const LONGEST: usize = 8 * 1024;

/// The proxies in the order in which they shall be tried, and when the destination itself shall be.
///
/// Displays as it might have been said, without what was passed over: equal ones are the same text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Without credentials, which a file can't give.
    pub proxies: Vec<ProxyUrl>,
    /// After so many of them the destination itself is tried.
    pub direct_after: Option<usize>,
    /// What can't be used, and why.
    pub passed_over: Vec<String>,
}

impl Verdict {
    /// Reads an answer.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with its text: an address that is none, or nothing that can be tried.
    pub fn read(text: &str) -> Result<Verdict, String> {
        let wrong = |why: &str| {
            let text = Escaped(text.as_bytes()).to_string();
            Err(format!("it said '{}': {}", excerpt(&text), why))
        };
        if text.len() > LONGEST {
            return wrong("that is too long");
        }
        let mut verdict = Verdict::default();
        for (place, element) in text.split(';').map(str::trim).enumerate() {
            if place == MOST {
                return wrong("these are too many");
            }
            if element.is_empty() {
                continue;
            }
            match Element::read(element) {
                Ok(Element::Proxy(url)) => verdict.proxies.push(url),
                Ok(Element::Direct) => {
                    // Once it has failed, it does so again.
                    let count = verdict.proxies.len();
                    verdict.direct_after.get_or_insert(count);
                }
                Ok(Element::Other(why)) => {
                    let shown = Escaped(element.as_bytes()).to_string();
                    verdict
                        .passed_over
                        .push(format!("'{}': {}", excerpt(&shown), why));
                }
                Err(why) => return wrong(&why),
            }
        }
        if verdict.proxies.is_empty() && verdict.direct_after.is_none() {
            return wrong("a right answer is PROXY proxy.example:3128; DIRECT");
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
            "HTTPS" => "https",
            // Browsers have it resolve the names.
            "SOCKS" | "SOCKS5" => "socks5h",
            "SOCKS4" => return Ok(Element::Other("SOCKS version 4 isn't spoken here")),
            _ => return Ok(Element::Other("that kind of proxy isn't known here")),
        };
        let address = match (address, rest) {
            (Some(address), None) if !address.contains('@') => address,
            _ => return Err(format!("behind {} stands HOST:PORT", kind)),
        };
        let url = format!("{}://{}", scheme, address).parse();
        url.map(Element::Proxy).map_err(|e| e.to_string())
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
                    Protocol::Http if proxy.is_secure => "HTTPS",
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

    fn read(text: &str) -> String {
        match Verdict::read(text) {
            Ok(verdict) => verdict.to_string(),
            Err(why) => panic!("{}: {}", text, why),
        }
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
            ("PROXY\ta:1", "PROXY a:1"),
            ("PROXY a", "PROXY a:80"),
            ("SOCKS [::1]", "SOCKS5 [::1]:1080"),
            ("PROXY [2001:db8::1]:3128", "PROXY [2001:db8::1]:3128"),
        ] {
            assert_eq!(read(text), *shown);
            assert!(Verdict::read(text).unwrap().passed_over.is_empty());
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn reads_a_proxy_that_wants_tls() {
        let verdict = Verdict::read("HTTPS a:1; PROXY b:2").unwrap();
        assert!(verdict.proxies[0].is_secure && !verdict.proxies[1].is_secure);
        assert_eq!(verdict.to_string(), "HTTPS a:1; PROXY b:2");
    }

    #[test]
    fn passes_over_what_it_does_not_speak() {
        let verdict = Verdict::read("SOCKS4 a:1; QUIC b:2; PROXY c:3").unwrap();
        assert_eq!(verdict.to_string(), "PROXY c:3");
        assert_eq!(verdict.passed_over.len(), 2);
        assert!(verdict.passed_over[0].starts_with("'SOCKS4 a:1': SOCKS version 4"));
        assert!(verdict.passed_over[1].starts_with("'QUIC b:2': that kind"));
    }

    #[test]
    fn rubbish_is_told_with_its_text() {
        for text in &[
            "",
            ";;",
            "SOCKS4 a:1",
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
            let why = Verdict::read(text).unwrap_err();
            let shown = Escaped(text.as_bytes()).to_string();
            assert!(
                why.starts_with(&format!("it said '{}': ", shown)),
                "{}",
                why
            );
        }
    }

    #[test]
    fn an_answer_without_end_is_refused() {
        let many = "PROXY a:1;".repeat(MOST + 1);
        assert!(Verdict::read(&many).unwrap_err().ends_with("too many"));
        let long = " ".repeat(LONGEST + 1);
        assert!(Verdict::read(&long).unwrap_err().len() < 300);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = Verdict::read(&text);
        }

        /// What is shown, and looked for among those named before, is the verdict itself.
        #[test]
        fn what_it_displays_reads_as_the_same(
            elements in prop::collection::vec(
                "(DIRECT|PROXY [a-z]{1,3}:[1-9]|SOCKS5? [a-z]{1,3}(:[1-9])?|SOCKS4 a:1|[A-Z]{3} b)",
                1..6,
            )
        ) {
            if let Ok(verdict) = Verdict::read(&elements.join(";")) {
                let again = Verdict::read(&verdict.to_string()).unwrap();
                prop_assert_eq!(again.proxies, verdict.proxies);
                prop_assert_eq!(again.direct_after, verdict.direct_after);
            }
        }
    }
}
