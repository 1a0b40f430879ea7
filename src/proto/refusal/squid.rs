//! Squid's reason for a refusal, as `X-Squid-Error` has it: a name, and an error of the system or 0.

use std::fmt;
use std::io;

use crate::text::escape::{excerpt, Escaped};

/// The value of the field; displays in words, with the value behind them.
pub(super) struct Reason<'a>(pub(super) &'a [u8]);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = excerpt(&String::from_utf8_lossy(self.0));
        let mut parts = value.split_whitespace();
        let meaning = parts.next().and_then(meaning);
        let shown = Escaped(value.as_bytes());
        let meaning = match meaning {
            Some(meaning) => meaning,
            None => return write!(f, "squid's {}", shown),
        };
        f.write_str(meaning)?;
        let code = parts.next().and_then(|code| code.parse().ok());
        if let Some(code) = code.filter(|code| *code > 0) {
            let text = io::Error::from_raw_os_error(code).to_string();
            let end = text.find(" (os error").unwrap_or(text.len());
            write!(f, ": {}", &text[..end])?;
        }
        write!(f, " (squid's {})", shown)
    }
}

/// What an error page of squid's is for, of those that CONNECT meets.
fn meaning(name: &str) -> Option<&'static str> {
    Some(match name {
        "ERR_ACCESS_DENIED" => "its rules forbid it",
        "ERR_CANNOT_FORWARD" => "it has no way to the destination",
        "ERR_CONNECT_FAIL" => "it can't connect to the destination",
        "ERR_DNS_FAIL" => "it can't resolve the destination's name",
        "ERR_GATEWAY_FAILURE" => "it failed as a gateway",
        "ERR_LIFETIME_EXP" | "ERR_READ_TIMEOUT" => "the destination took too long",
        "ERR_SECURE_CONNECT_FAIL" => "it gets no TLS with the destination",
        "ERR_SHUTTING_DOWN" => "it is shutting down",
        "ERR_SOCKET_FAILURE" => "it has no socket left",
        _ => return None,
    })
}
