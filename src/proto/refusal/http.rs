//! An HTTP proxy that says no: its status, its reason, what it offers instead.

use std::fmt;
use std::time::Duration;

use super::super::Response;
use super::{squid, Hint, Withheld};
use crate::config::Scheme;
use crate::text::escape::{excerpt, Escaped};

/// A reply that isn't a tunnel, as far as a message needs it.
///
/// Displays as `403 Forbidden (destination not allowed here)`, everything escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRefusal {
    response: Response,
    excerpt: String,
    attempt: Attempt,
}

/// What was made of a proxy's challenge before it was taken for a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proto) enum Attempt {
    /// There are no credentials for this proxy.
    Nameless,
    /// The answer in this scheme was refused.
    Tried(Scheme),
    /// The password isn't sent for so much longer, since the proxy refused it before.
    Withheld(Duration),
    /// Each answer with Digest was called stale.
    Stale,
    /// None of its schemes is among those that may be answered.
    Restricted,
    /// None of them is known, or not of this kind.
    Unable,
    /// It was begun with NTLM, and said nothing that could be answered.
    Unchallenged,
    /// It closes a connection on which there was more to say.
    Closed,
}

impl HttpRefusal {
    /// Keeps a short piece of `body`: as much of it as came with the head, or a part of that.
    pub fn new(response: Response, body: &[u8]) -> HttpRefusal {
        HttpRefusal {
            response,
            excerpt: summary(&String::from_utf8_lossy(body)),
            attempt: Attempt::Nameless,
        }
    }

    /// Says what had been tried.
    pub(in crate::proto) fn after(mut self, attempt: Attempt) -> HttpRefusal {
        self.attempt = attempt;
        self
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.response.status
    }

    /// The authentication schemes that the proxy offers, each once, in its order.
    pub fn schemes(&self) -> Vec<&str> {
        let mut schemes: Vec<&str> = Vec::new();
        for challenge in &self.response.challenges {
            let scheme = challenge.scheme.as_str();
            if !schemes
                .iter()
                .any(|known| known.eq_ignore_ascii_case(scheme))
            {
                schemes.push(scheme);
            }
        }
        schemes
    }

    /// Whether it is about who we are (407), so that other credentials may help.
    pub fn wants_credentials(&self) -> bool {
        self.response.wants_credentials()
    }

    /// Whether it is a web server's way to ask for credentials, which some proxies have, too.
    fn is_401(&self) -> bool {
        self.response.status == 401
    }

    fn is_about_credentials(&self) -> bool {
        self.wants_credentials() || self.is_401()
    }

    /// What to do about it, where that is for our user to say.
    pub fn hint(&self) -> Option<Hint> {
        match self.attempt {
            _ if !self.is_about_credentials() => None,
            Attempt::Tried(_) | Attempt::Withheld(_) => Some(Hint::Check),
            Attempt::Nameless if self.is_answerable() => Some(Hint::Give),
            _ => None,
        }
    }

    /// The scheme to try alone: Basic was refused, and the proxy offers a stronger one as well, which
    /// wasn't tried, since a second wrong answer would count towards a locked account.
    pub(crate) fn other_scheme(&self) -> Option<Scheme> {
        if self.attempt != Attempt::Tried(Scheme::Basic) {
            return None;
        }
        let is_offered = |scheme: &Scheme| {
            let mut challenges = self.response.challenges.iter();
            challenges.any(|challenge| challenge.known() == Some(*scheme))
        };
        let mut stronger = [Scheme::Digest, Scheme::Ntlm].iter().copied();
        stronger.find(is_offered)
    }

    /// Whether one of the schemes is known, if any is named.
    fn is_answerable(&self) -> bool {
        let mut challenges = self.response.challenges.iter();
        challenges.len() == 0 || challenges.any(|challenge| challenge.known().is_some())
    }

    /// Whether the page's title is the status line once more.
    fn repeats_itself(&self) -> bool {
        let reason = words(&self.response.reason);
        let line = format!("{} {}", self.response.status, reason);
        let is_it = |text: &str| text.trim().eq_ignore_ascii_case(self.excerpt.trim());
        is_it(&line) || is_it(&reason)
    }

    /// tinyproxy says so of a destination out of reach, and on its page that it was a web server.
    fn is_of_tinyproxy(&self) -> bool {
        let reason = &self.response.reason[..];
        self.response.status == 500 && reason.eq_ignore_ascii_case(b"Unable to connect")
    }

    /// What the proxy offers, what was tried, and why it went no further.
    fn write_offer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = self.schemes();
        if self.is_401() {
            f.write_str("; that is a web server's status, and some proxies (px, tinyproxy) send it for a wrong password")?;
        } else if schemes.is_empty() {
            f.write_str("; it names no scheme")?;
        } else {
            write!(f, "; it offers {}", schemes.join(", "))?;
        }
        match self.attempt {
            Attempt::Withheld(left) => write!(f, "; {}", Withheld(left)),
            Attempt::Stale => f.write_str(
                "; Digest was tried, and it calls every answer stale: the proxy's log may say why",
            ),
            Attempt::Tried(scheme) => write!(f, "; {} was tried", scheme),
            Attempt::Restricted => f.write_str(": --proxy-auth allows none of these"),
            Attempt::Unchallenged => f.write_str(
                "; NTLM was begun, and it didn't go on: the proxy's log may say why",
            ),
            Attempt::Closed => f.write_str(
                " and closes the connection, which NTLM needs: try another scheme with --proxy-auth",
            ),
            Attempt::Nameless if self.is_answerable() => Ok(()),
            Attempt::Nameless | Attempt::Unable => {
                f.write_str(": only Basic, Digest (MD5, SHA-256) and NTLM are supported")
            }
        }
    }
}

impl fmt::Display for HttpRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.response.status)?;
        if !self.response.reason.is_empty() {
            write!(f, " {}", Escaped(words(&self.response.reason).as_bytes()))?;
        }
        if self.is_about_credentials() {
            return self.write_offer(f);
        }
        if let Some(location) = &self.response.location {
            write!(f, "; it leads to {}", Escaped(words(location).as_bytes()))?;
        }
        if let Some(squid_error) = &self.response.squid_error {
            return write!(f, "; {}", squid::Reason(squid_error));
        }
        if self.is_of_tinyproxy() {
            return f.write_str("; it can't connect to the destination, or resolve its name");
        }
        if !self.excerpt.is_empty() && !self.repeats_itself() {
            write!(f, " ({})", Escaped(self.excerpt.as_bytes()))?;
        }
        Ok(())
    }
}

/// As much of it as is shown.
fn words(text: &[u8]) -> String {
    excerpt(&without_credentials(&String::from_utf8_lossy(text)))
}

/// The first words of a text, or the title of a page.
fn summary(body: &str) -> String {
    let is_page = body.trim_start().starts_with('<');
    let text = if is_page {
        title(body).unwrap_or("")
    } else {
        body
    };
    excerpt(&without_credentials(text))
}

/// A proxy that repeats our request, for us to see what was wrong with it, repeats the password,
/// or what it could be guessed from: the word behind the scheme, and those that a comma joins to it.
fn without_credentials(text: &str) -> String {
    const NAME: &str = "authorization:";
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut shown = words.clone();
    for index in 2..words.len() {
        let is_first = words[index - 2].to_ascii_lowercase().ends_with(NAME);
        if is_first || shown[index - 1] == "***" && words[index - 1].ends_with(',') {
            shown[index] = "***";
        }
    }
    shown.join(" ")
}

fn title(page: &str) -> Option<&str> {
    let lower = page.to_ascii_lowercase(); // as long as the page, byte for byte
    let start = lower.find("<title>")? + "<title>".len();
    let length = lower[start..].find("</title>")?;
    Some(&page[start..start + length])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::auth::Challenge;

    fn refusal(status: u16, reason: &str, schemes: &[&str], body: &str) -> HttpRefusal {
        let values = schemes.iter().map(|scheme| scheme.as_bytes());
        let response = Response {
            status,
            reason: reason.as_bytes().to_vec(),
            location: None,
            squid_error: None,
            challenges: Challenge::read_all(values),
            framing: None,
            next_nonce: None,
        };
        HttpRefusal::new(response, body.as_bytes())
    }

    fn shown(status: u16, reason: &str, schemes: &[&str], body: &str) -> String {
        refusal(status, reason, schemes, body).to_string()
    }

    #[test]
    fn shows_the_proxys_own_reason() {
        assert_eq!(shown(502, "Bad Gateway", &[], ""), "502 Bad Gateway");
        assert_eq!(shown(503, "", &[], "no\r\n  route\n"), "503 (no route)");
        let page = "<!DOCTYPE html>\n<html><head><TITLE>Not\n allowed</TITLE></head>";
        assert_eq!(
            shown(403, "Forbidden", &[], page),
            "403 Forbidden (Not allowed)"
        );
        assert_eq!(shown(403, "Forbidden", &[], "<html>?"), "403 Forbidden");
        let long = shown(500, "x", &[], &"é".repeat(500));
        assert_eq!(long.chars().filter(|c| *c == 'é').count(), 120);
    }

    /// `400 Bad Request (400 Bad Request)`.
    #[test]
    fn a_title_that_repeats_the_status_line_is_left_out() {
        for title in &["400 Bad Request", "Bad request", " 400  BAD\nRequest "] {
            let page = format!("<html><title>{}</title></html>", title);
            let told = shown(400, "Bad Request", &[], &page);
            assert_eq!(told, "400 Bad Request", "{}", title);
        }
        let page = "<title>400 The plain HTTP request was sent to HTTPS port</title>";
        assert!(shown(400, "Bad Request", &[], page).contains("HTTPS port"));
    }

    #[test]
    fn tells_squids_and_tinyproxys_reason_in_place_of_their_page() {
        let told = |squid_error: &str| {
            let page = "<title>ERROR: The requested URL could not be retrieved</title>";
            let mut refusal = refusal(503, "Service Unavailable", &[], page);
            refusal.response.squid_error = Some(squid_error.as_bytes().to_vec());
            let text = refusal.to_string();
            assert!(!text.contains("URL"), "{}", text);
            text
        };
        assert_eq!(
            told("ERR_CONNECT_FAIL 111"),
            "503 Service Unavailable; it can't connect to the destination: Connection refused \
             (squid's ERR_CONNECT_FAIL 111)"
        );
        assert!(told("ERR_DNS_FAIL 0").contains("it can't resolve the destination's name (squid's"));
        assert!(told("ERR_ACCESS_DENIED 0").contains("its rules forbid it (squid's"));
        assert!(told("ERR_NEW\x1b[2J x").ends_with("; squid's ERR_NEW\\x1b[2J x"));
        assert!(told(&"x".repeat(5000)).len() < 300);
        let page = "<title>500 Unable to connect</title>";
        assert_eq!(
            shown(500, "Unable to connect", &[], page),
            "500 Unable to connect; it can't connect to the destination, or resolve its name"
        );
    }

    #[test]
    fn shows_nothing_that_a_terminal_would_obey() {
        let text = shown(403, "a\x1b[31m", &[], "b\x07\x1b]0;c");
        assert_eq!(text, "403 a\\x1b[31m (b\\x07\\x1b]0;c)");
    }

    /// The piece of its body that was shown could hold the credential.
    #[test]
    fn shows_no_credential_that_the_proxy_repeats() {
        let head = "CONNECT a:1 HTTP/1.1\r\nProxy-Authorization: Basic am9lOng=\r\nA: b\r\n";
        let text = shown(403, "proxy-authorization: Basic am9lOng=", &[], head);
        let expected = "403 proxy-authorization: Basic *** \
                        (CONNECT a:1 HTTP/1.1 Proxy-Authorization: Basic *** A: b)";
        assert_eq!(text, expected);
        assert_eq!(
            shown(403, "", &[], "Authorization: Basic"),
            "403 (Authorization: Basic)"
        );
        let digest = "Proxy-Authorization: Digest username=\"joe\", response=\"0f\" A: b,";
        assert_eq!(
            shown(403, "", &[], digest),
            "403 (Proxy-Authorization: Digest *** *** A: b,)"
        );
    }

    /// The address of a network's login page was dropped.
    #[test]
    fn shows_where_it_leads() {
        let mut portal = refusal(302, "Found", &[], "<title>Log in</title>");
        portal.response.location = Some(b"http://portal.example/?a=b\x1b[2J".to_vec());
        assert_eq!(
            portal.to_string(),
            "302 Found; it leads to http://portal.example/?a=b\\x1b[2J (Log in)"
        );
        portal.response.location = Some(vec![b'x'; 5000]);
        assert!(portal.to_string().len() < 300);
    }

    #[test]
    fn says_what_would_help_with_a_407() {
        let nameless = refusal(407, "Auth", &["Negotiate", "basic"], "<html>");
        assert_eq!(nameless.to_string(), "407 Auth; it offers Negotiate, basic");
        assert_eq!(nameless.hint(), Some(Hint::Give));
        let other = shown(407, "Auth", &["Bearer"], "");
        assert_eq!(
            other,
            "407 Auth; it offers Bearer: only Basic, Digest (MD5, SHA-256) and NTLM are supported"
        );
        assert_eq!(shown(407, "", &[], ""), "407; it names no scheme");
        let after = |attempt| {
            let refusal = refusal(407, "", &["NTLM, Basic, ntlm"], "").after(attempt);
            (refusal.to_string(), refusal.hint())
        };
        let (told, hint) = after(Attempt::Tried(Scheme::Ntlm));
        assert_eq!(told, "407; it offers NTLM, Basic; NTLM was tried");
        assert_eq!(hint, Some(Hint::Check));
        let (told, hint) = after(Attempt::Restricted);
        let restricted = "407; it offers NTLM, Basic: --proxy-auth allows none of these";
        assert_eq!((told.as_str(), hint), (restricted, None));
    }
}
