//! Refusals by an HTTP proxy: its status, its reason, the schemes that it offers.

use std::fmt;
use std::time::Duration;

use super::super::http::body::Body;
use super::super::{Response, Secrets};
use super::{squid, Hint, Withheld};
use crate::text::escape::{excerpt, Escaped};
use crate::values::Scheme;

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
pub(crate) enum AuthFailure {
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
    pub(crate) fn after(mut self, failure: AuthFailure) -> HttpRefusal {
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
mod tests;
