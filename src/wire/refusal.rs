//! A proxy that says no: its status, its reason, what it offers instead.

use std::fmt;

use super::auth::BASIC;
use super::Response;
use crate::escape::{excerpt, Escaped};

/// A reply that isn't a tunnel, as far as a message needs it.
///
/// Displays as `403 Forbidden (destination not allowed here)`, everything escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    response: Response,
    excerpt: String,
}

impl Refusal {
    /// Keeps a short piece of `body`: as much of it as came with the head, or a part of that.
    pub fn new(response: Response, body: &[u8]) -> Refusal {
        Refusal {
            response,
            excerpt: summary(&String::from_utf8_lossy(body)),
        }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.response.status
    }

    /// The authentication schemes that the proxy offers, each once, in its order.
    pub fn schemes(&self) -> &[String] {
        &self.response.schemes
    }

    /// Whether it is about who we are (407), so that other credentials may help.
    pub fn wants_credentials(&self) -> bool {
        self.status() == 407
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.response.status)?;
        if !self.response.reason.is_empty() {
            let reason = String::from_utf8_lossy(&self.response.reason);
            let reason = excerpt(&without_credentials(&reason));
            write!(f, " {}", Escaped(reason.as_bytes()))?;
        }
        if self.wants_credentials() {
            return match self.schemes() {
                [] => f.write_str("; it names no scheme"),
                schemes if schemes.iter().any(|s| s.eq_ignore_ascii_case(BASIC)) => {
                    write!(
                        f,
                        "; it offers {}: check --user and the password",
                        schemes.join(", ")
                    )
                }
                schemes => write!(
                    f,
                    "; it offers {}: only Basic is supported",
                    schemes.join(", ")
                ),
            };
        }
        if !self.excerpt.is_empty() {
            write!(f, " ({})", Escaped(self.excerpt.as_bytes()))?;
        }
        Ok(())
    }
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

/// A proxy that repeats our request, for us to see what was wrong with it, repeats the password.
fn without_credentials(text: &str) -> String {
    const NAME: &str = "authorization:";
    let mut words: Vec<&str> = text.split_whitespace().collect();
    for index in 2..words.len() {
        if words[index - 2].to_ascii_lowercase().ends_with(NAME) {
            words[index] = "***";
        }
    }
    words.join(" ")
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

    fn shown(status: u16, reason: &str, schemes: &[&str], body: &str) -> String {
        let response = Response {
            status,
            reason: reason.as_bytes().to_vec(),
            schemes: schemes.iter().map(|s| s.to_string()).collect(),
        };
        Refusal::new(response, body.as_bytes()).to_string()
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
    }

    #[test]
    fn says_what_would_help_with_a_407() {
        let offered = shown(407, "Auth", &["Negotiate", "basic"], "<html>");
        assert_eq!(
            offered,
            "407 Auth; it offers Negotiate, basic: check --user and the password"
        );
        let other = shown(407, "Auth", &["NTLM"], "");
        assert_eq!(other, "407 Auth; it offers NTLM: only Basic is supported");
    }
}
