//! Digest (RFC 7616), with MD5 and SHA-256, also without `qop` (RFC 2069).

use std::fmt::Write;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use md5::Md5;
use percent_encoding::{utf8_percent_encode, NON_ALPHANUMERIC};
use sha2::{Digest, Sha256};

use super::{random, Challenge};
use crate::values::{Credentials, Scheme, Secret};

/// The parameters of a challenge that ptunnel can answer.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    hash: Hash,
    /// `-sess`: the password is hashed with the first nonce, once.
    is_session: bool,
    /// The proxy named the algorithm, so the answer must name it too.
    is_named: bool,
    /// Without `qop` an answer has neither a count nor a `cnonce` (RFC 2069).
    has_qop: bool,
    /// `userhash`
    hides_user: bool,
    is_utf8: bool,
    /// The nonce of the last answer had expired; its digest was right.
    pub(super) is_stale: bool,
}

/// The hash algorithm; the stronger is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hash {
    Md5,
    Sha256,
}

impl Hash {
    fn name(self) -> &'static str {
        match self {
            Hash::Md5 => "MD5",
            Hash::Sha256 => "SHA-256",
        }
    }

    fn of(self, text: &str) -> String {
        match self {
            Hash::Md5 => hex(&Md5::digest(text)),
            Hash::Sha256 => hex(&Sha256::digest(text)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{:02x}", byte);
        text
    })
}

impl Offer {
    /// Returns the nonce of the next answer.
    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    /// Returns the strongest challenge that can be answered; of equals, the proxy's first.
    pub(super) fn strongest(challenges: &[Challenge]) -> Option<Offer> {
        // `max_by_key` returns the last of equals.
        let offers = challenges.iter().rev().filter_map(Offer::read);
        offers.max_by_key(|offer| offer.hash)
    }

    fn read(challenge: &Challenge) -> Option<Offer> {
        let named = challenge.parameter("algorithm");
        let algorithm = named.unwrap_or("MD5").to_ascii_uppercase();
        let is_session = algorithm.ends_with("-SESS");
        let hash = match algorithm.trim_end_matches("-SESS") {
            "MD5" => Hash::Md5,
            "SHA-256" => Hash::Sha256,
            _ => return None,
        };
        let is_yes = |name| {
            let value = challenge.parameter(name).unwrap_or_default();
            value.eq_ignore_ascii_case("true")
        };
        let qop = challenge.parameter("qop");
        let has_auth = |list: &str| {
            list.split(',')
                .any(|one| one.trim().eq_ignore_ascii_case("auth"))
        };
        if !challenge.is(Scheme::Digest) || !qop.map_or(true, has_auth) {
            return None;
        }
        let charset = challenge.parameter("charset").unwrap_or_default();
        Some(Offer {
            realm: challenge.parameter("realm")?.to_string(),
            nonce: challenge.parameter("nonce")?.to_string(),
            opaque: challenge.parameter("opaque").map(str::to_string),
            hash,
            is_session,
            is_named: named.is_some(),
            has_qop: qop.is_some(),
            hides_user: is_yes("userhash"),
            is_utf8: charset.eq_ignore_ascii_case("utf-8"),
            is_stale: is_yes("stale"),
        })
    }
}

/// The state of answers with successive nonces; each answer counts a use of its nonce.
#[derive(Clone, Debug)]
pub(super) struct Session {
    offer: Offer,
    /// The parameter with the username.
    user: String,
    /// H(A1) (RFC 7616 §3.4.2), which can replace the password.
    key: Secret,
    cnonce: String,
    count: u32,
}

impl Session {
    /// Prepares answers to `offer`, with a nonce that was used `uses` times before; `None` if the
    /// operating system has no randomness.
    pub(super) fn new(offer: Offer, credentials: &Credentials, uses: u32) -> Option<Session> {
        let mut seed = [0; 24];
        random(&mut seed)?;
        let mut session = Session::with(offer, credentials, STANDARD.encode(seed));
        session.count = uses;
        Some(session)
    }

    fn with(offer: Offer, credentials: &Credentials, cnonce: String) -> Session {
        let (hash, user) = (offer.hash, credentials.user());
        let password = credentials.password().reveal();
        let mut key = hash.of(&format!("{}:{}:{}", user, offer.realm, password));
        if offer.is_session {
            key = hash.of(&format!("{}:{}:{}", key, offer.nonce, cnonce));
        }
        let user = if offer.hides_user {
            let hidden = hash.of(&format!("{}:{}", user, offer.realm));
            format!("username=\"{}\", userhash=true", hidden)
        } else if offer.is_utf8 && !user.is_ascii() {
            // RFC 8187, which RFC 7616 §3.4 requires for what a quoted string can't hold.
            let encoded = utf8_percent_encode(user, NON_ALPHANUMERIC);
            format!("username*=UTF-8''{}", encoded)
        } else {
            format!("username={}", quoted(user))
        };
        Session {
            offer,
            user,
            key: Secret::new(key),
            cnonce,
            count: 0,
        }
    }

    /// Returns the nonce of the next answer.
    pub(super) fn nonce(&self) -> &str {
        &self.offer.nonce
    }

    /// Returns how often the nonce was used.
    pub(super) fn uses(&self) -> u32 {
        self.count
    }

    /// Changes the nonce. The key of a `-sess` algorithm stays (RFC 7616 §3.4.2).
    pub(super) fn renew(&mut self, nonce: String) {
        self.offer.nonce = nonce;
        self.count = 0;
    }

    /// Returns the value of `Proxy-Authorization` for one request (RFC 7616 §3.4).
    pub(super) fn answer(&mut self, method: &str, uri: &str) -> Secret {
        self.count = self.count.wrapping_add(1);
        let (offer, hash) = (&self.offer, self.offer.hash);
        let request = hash.of(&format!("{}:{}", method, uri));
        let uses = format!("{:08x}", self.count);
        let mixed = if offer.has_qop {
            format!(
                "{}:{}:{}:{}:auth:{}",
                self.key.reveal(),
                offer.nonce,
                uses,
                self.cnonce,
                request
            )
        } else {
            format!("{}:{}:{}", self.key.reveal(), offer.nonce, request)
        };
        let mut value = format!(
            "Digest {}, realm={}, nonce={}, uri={}, response=\"{}\"",
            self.user,
            quoted(&offer.realm),
            quoted(&offer.nonce),
            quoted(uri),
            hash.of(&mixed)
        );
        if offer.is_named {
            let session = if offer.is_session { "-sess" } else { "" };
            value += &format!(", algorithm={}{}", hash.name(), session);
        }
        if let Some(opaque) = &offer.opaque {
            value += &format!(", opaque={}", quoted(opaque));
        }
        if offer.has_qop {
            value += &format!(", qop=auth, nc={}", uses);
        }
        if offer.has_qop || offer.is_session {
            value += &format!(", cnonce={}", quoted(&self.cnonce));
        }
        Secret::new(value)
    }
}

/// Returns a quoted string (RFC 9110 §5.6.4). The text has no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenges(value: &str) -> Vec<Challenge> {
        Challenge::read_all(std::iter::once(value.as_bytes()))
    }

    fn offer(value: &str) -> Offer {
        Offer::strongest(&challenges(value)).unwrap()
    }

    /// RFC 7616 §3.9.1.
    const MUFASA: &str = "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", \
        nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
        opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";

    fn mufasa(algorithm: &str) -> Session {
        let credentials = Credentials::new("Mufasa", Secret::new("Circle of Life")).unwrap();
        let offer = offer(&format!("Digest {}, {}", algorithm, MUFASA));
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ".to_string();
        Session::with(offer, &credentials, cnonce)
    }

    fn parameter(value: &Secret, name: &str) -> Option<String> {
        let text = value.reveal().strip_prefix("Digest ").unwrap();
        super::super::parameter(text.as_bytes(), name)
    }

    #[test]
    fn answers_as_the_rfc_does() {
        for (algorithm, response) in &[
            ("algorithm=MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            (
                "algorithm=SHA-256",
                "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            ),
        ] {
            let value = mufasa(algorithm).answer("GET", "/dir/index.html");
            assert_eq!(parameter(&value, "response").as_deref(), Some(*response));
            let named = format!(", {}, opaque=", algorithm);
            assert!(value.reveal().contains(&named), "{}", value.reveal());
        }
    }

    /// The values were made with Python's hashlib from RFC 7616 §3.4.
    #[test]
    fn a_session_hashes_the_password_with_the_first_nonce() {
        let mut session = mufasa("algorithm=SHA-256-sess");
        let first = session.answer("CONNECT", "example.org:22");
        let expected = "79f47f4570e1839eb61e34bcd0fe2632624edbb3f884a39e9118dafab35f5f59";
        assert_eq!(parameter(&first, "response").as_deref(), Some(expected));
        session.renew("another".to_string());
        let second = session.answer("CONNECT", "example.org:22");
        let expected = "294b4133e4fd1c3670a56caf8723198a4b1b574d4ef2540347855b6f835d1227";
        assert_eq!(parameter(&second, "response").as_deref(), Some(expected));
        assert!(second.reveal().contains("algorithm=SHA-256-sess"));
    }

    #[test]
    fn counts_the_uses_of_a_nonce() {
        let mut session = mufasa("algorithm=MD5");
        let uses = |value: Secret| parameter(&value, "nc").unwrap();
        assert_eq!(uses(session.answer("CONNECT", "a:1")), "00000001");
        assert_eq!(uses(session.answer("CONNECT", "a:1")), "00000002");
        session.renew("another".to_string());
        assert_eq!(uses(session.answer("CONNECT", "a:1")), "00000001");
    }

    /// RFC 2069, which older proxies follow.
    #[test]
    fn without_qop_there_is_no_count() {
        let credentials = Credentials::new("joe", Secret::new("hunter2")).unwrap();
        let offer = offer("Digest realm=\"r\", nonce=\"n\"");
        let value = Session::new(offer, &credentials, 0)
            .unwrap()
            .answer("CONNECT", "a:1");
        assert_eq!(
            value.reveal(),
            "Digest username=\"joe\", realm=\"r\", nonce=\"n\", uri=\"a:1\", \
             response=\"5084e941f0f4d52f1909d992f59b0b1e\""
        );
    }

    #[test]
    fn names_the_user_as_the_proxy_requires() {
        let named = |user: &str, more: &str| {
            let credentials = Credentials::new(user, Secret::new("x")).unwrap();
            let offer = offer(&format!("Digest realm=\"r\", nonce=\"n\"{}", more));
            let mut session = Session::new(offer, &credentials, 0).unwrap();
            let value = session.answer("CONNECT", "a:1");
            value.reveal().split(", realm").next().unwrap().to_string()
        };
        assert_eq!(
            named("NORTH\\j\"oe", ""),
            "Digest username=\"NORTH\\\\j\\\"oe\""
        );
        assert_eq!(named("jö", ""), "Digest username=\"jö\"");
        assert_eq!(
            named("jö", ", charset=UTF-8"),
            "Digest username*=UTF-8''j%C3%B6"
        );
        assert_eq!(
            named("joe", ", userhash=true"),
            "Digest username=\"24ad6156cc5d70cadcffffc34a1c5600\", userhash=true"
        );
    }

    #[test]
    fn chooses_the_strongest_supported_challenge() {
        let strongest = |value: &str| {
            let offer = Offer::strongest(&challenges(value))?;
            Some((offer.nonce, offer.hash))
        };
        assert_eq!(
            strongest(
                "Digest realm=r, nonce=1, Digest realm=r, nonce=2, algorithm=sha-256, \
                 Digest realm=r, nonce=3, algorithm=SHA-256, \
                 Digest realm=r, nonce=4, algorithm=SHA-512-256"
            ),
            Some(("2".to_string(), Hash::Sha256))
        );
        for bad in &[
            "Digest nonce=1",
            "Digest realm=r",
            "Digest realm=r, nonce=1, qop=auth-int",
            "Digest realm=r, nonce=1, algorithm=x",
            "Basic realm=r, nonce=1",
        ] {
            assert_eq!(strongest(bad), None, "{}", bad);
        }
        assert!(offer("Digest realm=r, nonce=1, stale=TRUE").is_stale);
    }

    #[test]
    fn debug_text_holds_no_key() {
        let session = mufasa("algorithm=MD5");
        let shown = format!("{:?}", session);
        assert!(!shown.contains(session.key.reveal()), "{}", shown);
    }
}
