//! Refusals by an HTTP proxy: its status, its reason, the schemes that it offers.

use std::fmt;
use std::time::Duration;

use super::super::http::body::Body;
use super::super::{Response, Secrets};
use super::{squid, Hint, Withheld};
use crate::config::Scheme;
use crate::text::escape::{excerpt, Escaped};

/// A final response other than 2xx to CONNECT.
///
/// Displays as `403 Forbidden (destination not allowed here)`. Text from the proxy is escaped and
/// shortened, and holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRefusal {
    response: Response,
    excerpt: String,
    failure: AuthFailure,
}

/// Why ptunnel didn't answer a proxy's challenge, or not again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::proto) enum AuthFailure {
    /// There are no credentials for the proxy, or the refusal isn't about them.
    NoCredentials,
    /// The reply isn't complete: the challenges of a 407 may be missing.
    Incomplete,
    /// The command that prints the password failed.
    NoPassword,
    /// The proxy refused the answer in this scheme.
    Refused(Scheme),
    /// The password is withheld for this time, because the proxy refused it before.
    Withheld(Duration),
    /// The proxy called each Digest answer stale.
    Stale,
    /// The user allows none of the schemes that the proxy offers.
    NotAllowed,
    /// ptunnel supports none of the schemes, or not their parameters.
    Unsupported,
    /// The proxy replied to NTLM's first message without a valid challenge.
    NtlmStopped,
    /// The proxy closes the connection, on which NTLM would have to continue.
    Closed,
    /// There is no security context for Negotiate, in the library's words.
    NoContext(String),
    /// The proxy accepted the credentials for other destinations. For this one they are withheld for
    /// this time, if any.
    Destination(Option<Duration>),
    /// Another tunnel finds out whether the proxy still accepts the credentials for others.
    Undecided,
}

impl HttpRefusal {
    /// Keeps an excerpt of `body`; the bytes that came with the head are enough. Hides `secrets`,
    /// which the proxy can have repeated.
    pub fn new(mut response: Response, body: &[u8], secrets: &Secrets) -> HttpRefusal {
        let hide = |text: &[u8]| secrets.hide(text, false);
        response.reason = hide(&response.reason);
        response.location = response.location.as_deref().map(hide);
        response.squid_error = response.squid_error.as_deref().map(hide);
        for challenge in &mut response.challenges {
            if challenge.known().is_none() {
                challenge.scheme = lossy(&hide(challenge.scheme.as_bytes()));
            }
        }
        let (content, is_whole) = content(&response, body);
        HttpRefusal {
            response,
            excerpt: summary(&lossy(&secrets.hide(&content, !is_whole))),
            failure: AuthFailure::NoCredentials,
        }
    }

    /// Adds why the challenge wasn't answered.
    pub(in crate::proto) fn after(mut self, failure: AuthFailure) -> HttpRefusal {
        self.failure = failure;
        self
    }

    /// Returns the status code.
    pub fn status(&self) -> u16 {
        self.response.status
    }

    /// Returns the authentication schemes that the proxy offers, each once, in its order.
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

    /// Returns whether it is about credentials (407), so that other credentials may help. A 407
    /// without a challenge isn't (RFC 9110 §15.5.8).
    pub fn wants_credentials(&self) -> bool {
        let has_challenge = !self.response.challenges.is_empty();
        self.response.wants_credentials() && has_challenge && !self.is_of_destination()
    }

    /// Returns whether the status is a web server's for missing credentials, which some proxies send
    /// as well.
    fn is_401(&self) -> bool {
        self.response.status == 401 && !self.is_of_destination()
    }

    /// Returns whether the proxy accepted the credentials for other destinations.
    fn is_of_destination(&self) -> bool {
        matches!(self.failure, AuthFailure::Destination(_))
    }

    fn is_about_credentials(&self) -> bool {
        self.wants_credentials() || self.is_401()
    }

    /// Returns what the user can do about it, if it is about credentials.
    pub fn hint(&self) -> Option<Hint> {
        match self.failure {
            _ if !self.is_about_credentials() => None,
            AuthFailure::Refused(Scheme::Negotiate) => None,
            AuthFailure::Refused(_) | AuthFailure::Withheld(_) => Some(Hint::Check),
            AuthFailure::NoCredentials if self.is_answerable() => Some(Hint::Give),
            _ => None,
        }
    }

    /// Returns a scheme to allow alone: the proxy refused Basic and offers a stronger one as well,
    /// which wasn't tried because a second wrong answer would count towards a locked account.
    pub(crate) fn other_scheme(&self) -> Option<Scheme> {
        if self.failure != AuthFailure::Refused(Scheme::Basic) {
            return None;
        }
        let is_offered = |scheme: &Scheme| {
            let mut challenges = self.response.challenges.iter();
            challenges.any(|challenge| challenge.known() == Some(*scheme))
        };
        let mut stronger = [Scheme::Digest, Scheme::Ntlm].iter().copied();
        stronger.find(is_offered)
    }

    /// Returns whether ptunnel supports one of the schemes, or the proxy names none.
    fn is_answerable(&self) -> bool {
        let mut challenges = self.response.challenges.iter();
        challenges.len() == 0 || challenges.any(|challenge| challenge.has_password())
    }

    /// Returns whether Negotiate alone can help, which ptunnel begins only if it is named.
    fn needs_ticket(&self) -> bool {
        let mut challenges = self.response.challenges.iter();
        !self.is_answerable() && challenges.any(|c| c.known() == Some(Scheme::Negotiate))
    }

    /// Returns whether the page's title repeats the status line.
    fn repeats_itself(&self) -> bool {
        let reason = words(&self.response.reason);
        let line = format!("{} {}", self.response.status, reason);
        let is_it = |text: &str| text.trim().eq_ignore_ascii_case(self.excerpt.trim());
        is_it(&line) || is_it(&reason)
    }

    /// Returns whether tinyproxy can't reach the destination. Its page calls that a web server.
    fn is_of_tinyproxy(&self) -> bool {
        let reason = &self.response.reason[..];
        self.response.status == 500 && reason.eq_ignore_ascii_case(b"Unable to connect")
    }

    /// Writes what the proxy offers, and why the attempt failed.
    fn write_offer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes = self.schemes();
        if self.is_401() {
            f.write_str(
                " (a web server's status, which px and tinyproxy send for a wrong password)",
            )?;
        } else {
            write!(f, " (offers {})", schemes.join(", "))?;
        }
        f.write_str(": ")?;
        match &self.failure {
            AuthFailure::NoPassword => f.write_str(
                "there is no password, because its command failed; see the warning about it, and run \
                 it by hand to test it",
            ),
            AuthFailure::Withheld(left) => write!(f, "{}", Withheld(*left)),
            AuthFailure::Stale => f.write_str(
                "the proxy rejected each Digest response as stale; see the proxy's log",
            ),
            AuthFailure::Refused(Scheme::Negotiate) => f.write_str(
                "the proxy rejected the Kerberos ticket; see the proxy's log, and check the ticket \
                 with klist",
            ),
            AuthFailure::Refused(scheme) => write!(
                f,
                "the proxy rejected the username or the password, sent with {}",
                scheme
            ),
            AuthFailure::Undecided => f.write_str(
                "the proxy rejected the credentials for this destination; ptunnel is finding out \
                 whether the proxy still accepts them for others",
            ),
            AuthFailure::NoContext(why) => write!(
                f,
                "no Kerberos ticket for the proxy: {}; get one with kinit, or set \
                 KRB5_CLIENT_KTNAME to a keytab",
                Escaped(why.as_bytes())
            ),
            AuthFailure::NoCredentials | AuthFailure::NotAllowed | AuthFailure::Unsupported
                if self.needs_ticket() =>
            {
                f.write_str(
                    "the proxy requires Kerberos; to use a ticket, add --proxy-auth negotiate",
                )
            }
            AuthFailure::NotAllowed => f.write_str(
                "--proxy-auth allows none of these schemes; add one that the proxy offers",
            ),
            AuthFailure::NtlmStopped => {
                f.write_str("the proxy didn't continue NTLM; see the proxy's log")
            }
            AuthFailure::Closed => f.write_str(
                "the proxy closes the connection, but NTLM and Kerberos need it open; use another scheme \
                 with --proxy-auth",
            ),
            AuthFailure::NoCredentials if self.is_answerable() => {
                f.write_str("the proxy requires authentication")
            }
            AuthFailure::NoCredentials
            | AuthFailure::Unsupported
            | AuthFailure::Incomplete
            | AuthFailure::Destination(_) => f.write_str(
                "ptunnel supports only Basic, Digest (MD5, SHA-256), NTLM and Negotiate",
            ),
        }
    }

    /// Writes the proxy's reason.
    fn write_reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.response.location {
            write!(f, ": redirect to {}", Escaped(words(location).as_bytes()))?;
        }
        if let Some(squid_error) = &self.response.squid_error {
            return write!(f, ": {}", squid::SquidError(squid_error));
        }
        if self.is_of_tinyproxy() {
            return f
                .write_str(": the proxy can't connect to the destination, or resolve its name");
        }
        if !self.excerpt.is_empty() && !self.repeats_itself() {
            write!(f, " ({})", Escaped(self.excerpt.as_bytes()))?;
        } else if self.response.wants_credentials() && self.schemes().is_empty() {
            f.write_str(match self.failure {
                AuthFailure::Incomplete => " (the rest of the reply is missing)",
                _ => " (offers no scheme)",
            })?;
        }
        Ok(())
    }
}

impl fmt::Display for HttpRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03}", self.response.status)?;
        if !self.response.reason.is_empty() {
            write!(f, " {}", Escaped(words(&self.response.reason).as_bytes()))?;
        }
        if self.is_about_credentials() {
            return self.write_offer(f);
        }
        self.write_reason(f)?;
        if self.is_of_destination() {
            f.write_str("; the proxy accepted the credentials for other destinations")?;
        }
        if let AuthFailure::Destination(Some(left)) = self.failure {
            let seconds = left.as_secs() + 1;
            write!(
                f,
                ", and ptunnel sends them for this one again in {}s",
                seconds
            )?;
        }
        Ok(())
    }
}

/// Returns the beginning of the content, and whether it is all of it.
fn content(response: &Response, body: &[u8]) -> (Vec<u8>, bool) {
    let (mut content, mut is_whole) = (Vec::new(), false);
    match response.framing.map(Body::new) {
        None => content.extend_from_slice(body),
        Some(mut framed) => {
            let taken = framed.take_content(body, &mut content);
            is_whole = taken.is_ok() && framed.has_ended();
        }
    }
    (content, is_whole)
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Returns an excerpt of a text.
fn words(text: &[u8]) -> String {
    excerpt(&lossy(text))
}

/// Returns an excerpt of a text, or of the title of an HTML page.
fn summary(body: &str) -> String {
    let is_page = body.trim_start().starts_with('<');
    excerpt(if is_page {
        title(body).unwrap_or("")
    } else {
        body
    })
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
    use crate::config::Secret;
    use crate::proto::{Framing, HEAD_LIMIT};

    fn refusal(status: u16, reason: &str, schemes: &[&str], body: &str) -> HttpRefusal {
        HttpRefusal::new(
            response(status, reason, schemes),
            body.as_bytes(),
            &Secrets::default(),
        )
    }

    fn response(status: u16, reason: &str, schemes: &[&str]) -> Response {
        let challenges = schemes
            .iter()
            .map(|it| format!("Proxy-Authenticate: {}\r\n", it));
        let fields: String = challenges.collect();
        let head = format!("HTTP/1.1 {:03} {}\r\n{}\r\n", status, reason, fields);
        let decoded = Response::decode(head.as_bytes(), HEAD_LIMIT);
        decoded.unwrap().expect("a whole head").0
    }

    fn shown(status: u16, reason: &str, schemes: &[&str], body: &str) -> String {
        refusal(status, reason, schemes, body).to_string()
    }

    #[test]
    fn shows_the_proxys_reason() {
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

    /// Regression: `400 Bad Request (400 Bad Request)`.
    #[test]
    fn a_title_that_repeats_the_status_line_is_left_out() {
        for title in &["400 Bad Request", "Bad request", " 400  BAD\nRequest "] {
            let page = format!("<html><title>{}</title></html>", title);
            let text = shown(400, "Bad Request", &[], &page);
            assert_eq!(text, "400 Bad Request", "{}", title);
        }
        let page = "<title>400 The plain HTTP request was sent to HTTPS port</title>";
        assert!(shown(400, "Bad Request", &[], page).contains("HTTPS port"));
    }

    #[test]
    fn shows_squids_and_tinyproxys_reason_instead_of_their_page() {
        let text = |squid_error: &str| {
            let page = "<title>ERROR: The requested URL could not be retrieved</title>";
            let mut refusal = refusal(503, "Service Unavailable", &[], page);
            refusal.response.squid_error = Some(squid_error.as_bytes().to_vec());
            let text = refusal.to_string();
            assert!(!text.contains("URL"), "{}", text);
            text
        };
        assert_eq!(
            text("ERR_CONNECT_FAIL 111"),
            "503 Service Unavailable: the proxy can't connect to the destination: Connection \
             refused (squid reports ERR_CONNECT_FAIL 111)"
        );
        assert!(text("ERR_DNS_FAIL 0").contains("the destination's name (squid reports"));
        assert!(text("ERR_ACCESS_DENIED 0").contains("rules forbid the request (squid reports"));
        assert!(text("ERR_NEW\x1b[2J x").ends_with(": squid reports ERR_NEW\\x1b[2J x"));
        assert!(text(&"x".repeat(5000)).len() < 300);
        let page = "<title>500 Unable to connect</title>";
        assert_eq!(
            shown(500, "Unable to connect", &[], page),
            "500 Unable to connect: the proxy can't connect to the destination, or resolve its name"
        );
    }

    #[test]
    fn escapes_control_characters() {
        let text = shown(403, "a\x1b[31m", &[], "b\x07\x1b]0;c");
        assert_eq!(text, "403 a\\x1b[31m (b\\x07\\x1b]0;c)");
    }

    /// Regression: a credential was found by its pattern, so that it was shown in all other places.
    #[test]
    fn shows_no_secret_that_the_proxy_repeats() {
        let mut secrets = Secrets::default();
        secrets.add_authorization(&Secret::new("Basic am9lOmh1bnRlcjI="));
        let head =
            "CONNECT a:1 HTTP/1.1\r\nProxy-Authorization: Basic am9lOmh1bnRlcjI=\r\nA: b\r\n";
        let shown = |mut response: Response, body: &str| {
            response.location = Some(b"/?auth=Basic+am9lOmh1bnRlcjI%3D".to_vec());
            response.squid_error = Some(b"ERR_X hunter2".to_vec());
            HttpRefusal::new(response, body.as_bytes(), &secrets).to_string()
        };
        let text = shown(response(403, "No Basic am9lOmh1bnRlcjI=", &[]), head);
        let expected =
            "403 No Basic ***=: redirect to /?auth=Basic+***%3D: squid reports ERR_X ***";
        assert_eq!(text, expected);
        let mut framed = response(403, "", &[]);
        framed.framing = Some(Framing::Chunked);
        let text = HttpRefusal::new(framed, b"6\r\nx hunt\r\n3\r\ner2\r\n", &secrets);
        assert_eq!(text.to_string(), "403 (x ***)");
        let text = shown(response(407, "", &["hunter2 realm=x"]), "");
        assert!(text.starts_with("407 (offers ***)"), "{}", text);
        // The limit of the excerpt cuts no secret in two.
        for length in 100..130 {
            let body = format!("{} hunter2 {}", "x".repeat(length), "y".repeat(100));
            let refusal = HttpRefusal::new(response(403, "", &[]), body.as_bytes(), &secrets);
            assert!(!refusal.to_string().contains('h'), "{}", refusal);
        }
    }

    /// Regression: the address of a network's login page was dropped.
    #[test]
    fn shows_the_location() {
        let mut portal = refusal(302, "Found", &[], "<title>Log in</title>");
        portal.response.location = Some(b"http://portal.example/?a=b\x1b[2J".to_vec());
        assert_eq!(
            portal.to_string(),
            "302 Found: redirect to http://portal.example/?a=b\\x1b[2J (Log in)"
        );
        portal.response.location = Some(vec![b'x'; 5000]);
        assert!(portal.to_string().len() < 300);
    }

    #[test]
    fn a_407_has_a_hint() {
        let missing = refusal(407, "Auth", &["Negotiate", "basic"], "<html>");
        assert_eq!(
            missing.to_string(),
            "407 Auth (offers Negotiate, basic): the proxy requires authentication"
        );
        assert_eq!(missing.hint(), Some(Hint::Give));
        let other = shown(407, "Auth", &["Bearer"], "");
        assert_eq!(
            other,
            "407 Auth (offers Bearer): ptunnel supports only Basic, Digest (MD5, SHA-256), NTLM \
             and Negotiate"
        );
        let ticket = refusal(407, "", &["Negotiate"], "");
        let expected = "407 (offers Negotiate): the proxy requires Kerberos; to use a ticket, add \
             --proxy-auth negotiate";
        assert_eq!(
            (ticket.to_string().as_str(), ticket.hint()),
            (expected, None)
        );
        let after = |failure| {
            let refusal = refusal(407, "", &["NTLM, Basic, ntlm"], "").after(failure);
            (refusal.to_string(), refusal.hint())
        };
        let (text, hint) = after(AuthFailure::Refused(Scheme::Ntlm));
        assert_eq!(
            text,
            "407 (offers NTLM, Basic): the proxy rejected the username or the password, sent with \
             NTLM"
        );
        assert_eq!(hint, Some(Hint::Check));
        let (text, hint) = after(AuthFailure::NotAllowed);
        let restricted =
            "407 (offers NTLM, Basic): --proxy-auth allows none of these schemes; add \
                          one that the proxy offers";
        assert_eq!((text.as_str(), hint), (restricted, None));
    }

    /// smokescreen refuses destinations so. Regression: the advice was to set a password.
    #[test]
    fn a_407_without_a_challenge_is_a_refusal_with_its_reason() {
        let denied = refusal(407, "Rejected", &[], "denied by rule 7");
        assert_eq!(denied.to_string(), "407 Rejected (denied by rule 7)");
        assert_eq!(denied.hint(), None);
        assert!(!denied.wants_credentials());
        assert_eq!(shown(407, "", &[], ""), "407 (offers no scheme)");
    }

    #[test]
    fn a_407_for_a_destination_is_a_refusal_with_its_reason() {
        let after = |left| {
            let page = "<title>ERROR: Cache Access Denied</title>";
            let mut denied = refusal(407, "Auth", &["Basic"], page);
            denied.response.squid_error = Some(b"ERR_CACHE_ACCESS_DENIED 0".to_vec());
            let denied = denied.after(AuthFailure::Destination(left));
            assert_eq!(denied.hint(), None);
            assert!(!denied.wants_credentials());
            denied.to_string()
        };
        let reason = "407 Auth: the proxy's rules forbid the request (squid reports \
                      ERR_CACHE_ACCESS_DENIED 0); the proxy accepted the credentials for other \
                      destinations";
        assert_eq!(after(None), reason);
        let withheld = after(Some(Duration::from_secs(24)));
        let again = ", and ptunnel sends them for this one again in 25s";
        assert_eq!(withheld, format!("{}{}", reason, again));
    }
}
