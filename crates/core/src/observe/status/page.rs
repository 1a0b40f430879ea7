//! The HTML page: markup, style and script in one document, which fetches only `/status.json`.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const FRAME: &str = include_str!("page.html");

/// The page and its security policy.
pub(super) struct StatusPage {
    pub(super) text: String,
    /// Value of the header Content-Security-Policy. Allows this style and this script, by their
    /// digests, and requests to this server.
    pub(super) policy: String,
}

impl StatusPage {
    pub(super) fn new(host: Option<&str>) -> StatusPage {
        let host = host.map(markup);
        let (title, on) = match &host {
            Some(host) => (format!("{} – ptunnel", host), format!("on {}", host)),
            None => ("ptunnel".into(), String::new()),
        };
        let frame = FRAME.replace("{TITLE}", &title).replace("{ON}", &on);
        StatusPage {
            text: frame.replace("{STYLE}", STYLE).replace("{SCRIPT}", SCRIPT),
            policy: format!(
                "default-src 'none'; style-src '{}'; script-src '{}'; connect-src 'self'; \
                 img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                digest(STYLE),
                digest(SCRIPT)
            ),
        }
    }
}

/// Escapes text between tags.
fn markup(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

fn digest(text: &str) -> String {
    format!(
        "sha256-{}",
        STANDARD.encode(Sha256::digest(text.as_bytes()))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cause;

    #[test]
    fn every_cause_has_a_label_and_a_fix() {
        for (_, label) in &Cause::LABELS {
            let entry = format!("\n  {}: ['", label);
            assert!(SCRIPT.contains(&entry), "{}", label);
        }
    }

    #[test]
    fn names_its_host() {
        let text = StatusPage::new(Some("a<b>&c")).text;
        assert!(text.contains("<title>a&lt;b&gt;&amp;c – ptunnel</title>"));
        assert!(text.contains(">on a&lt;b&gt;&amp;c</span>"));
        assert!(StatusPage::new(None)
            .text
            .contains("<title>ptunnel</title>"));
    }

    #[test]
    fn loads_nothing_from_elsewhere() {
        let text = StatusPage::new(Some("host")).text;
        assert!(!text.contains("{TITLE}") && !text.contains("{ON}"));
        assert!(!text.contains("{STYLE}") && !text.contains("{SCRIPT}"));
        for outside in &["http:", "https:", "src=", "@import", "url("] {
            let found = text.find(outside).map(|at| &text[at..]);
            // A namespace is a name, which browsers don't fetch.
            let is_name = found.map_or(false, |found| {
                found.starts_with("http://www.w3.org/2000/svg")
            });
            assert!(found.is_none() || is_name, "{:?}", found);
        }
        for part in &["<style>", "</style>", "<script>", "</script>"] {
            assert_eq!(text.matches(part).count(), 1, "{}", part);
        }
    }
}
