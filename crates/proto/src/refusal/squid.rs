//! Squid's reason for a refusal, from `X-Squid-Error`: a name, and an errno or 0.

use std::fmt;
use std::io;

use crate::text::escape::{excerpt, Escaped};

/// The value of the field. Displays as its meaning, followed by the value.
pub(super) struct SquidError<'a>(pub(super) &'a [u8]);

impl fmt::Display for SquidError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = excerpt(&String::from_utf8_lossy(self.0));
        let mut parts = value.split_whitespace();
        let meaning = parts.next().and_then(meaning);
        let shown = Escaped(value.as_bytes());
        let meaning = match meaning {
            Some(meaning) => meaning,
            None => return write!(f, "squid reports {}", shown),
        };
        f.write_str(meaning)?;
        let code = parts.next().and_then(|code| code.parse().ok());
        if let Some(code) = code.filter(|code| *code > 0) {
            let text = io::Error::from_raw_os_error(code).to_string();
            let end = text.find(" (os error").unwrap_or(text.len());
            write!(f, ": {}", &text[..end])?;
        }
        write!(f, " (squid reports {})", shown)
    }
}

/// Returns the meaning of the name of an error page, for those that CONNECT can meet.
fn meaning(name: &str) -> Option<&'static str> {
    Some(match name {
        "ERR_ACCESS_DENIED" | "ERR_CACHE_ACCESS_DENIED" => "the proxy's rules forbid the request",
        "ERR_CANNOT_FORWARD" => "the proxy has no path to the destination",
        "ERR_CONNECT_FAIL" => "the proxy can't connect to the destination",
        "ERR_DNS_FAIL" => "the proxy can't resolve the destination's name",
        "ERR_GATEWAY_FAILURE" => "the proxy failed as a gateway",
        "ERR_LIFETIME_EXP" | "ERR_READ_TIMEOUT" => "the destination took too long",
        "ERR_SECURE_CONNECT_FAIL" => "the proxy's TLS handshake with the destination failed",
        "ERR_SHUTTING_DOWN" => "the proxy is shutting down",
        "ERR_SOCKET_FAILURE" => "the proxy has no socket left",
        _ => return None,
    })
}
