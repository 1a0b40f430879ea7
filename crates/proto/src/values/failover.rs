//! The refusals after which the next proxy is tried.

use std::str::FromStr;

use super::{wrong, ParseError};

/// The HTTP statuses after which the next proxy is tried; none unless the user named some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailoverOn {
    statuses: Vec<u16>,
}

impl FailoverOn {
    /// The statuses that can be named. Other refusals are about the client or the destination, and are
    /// final.
    pub const NAMES: &'static [&'static str] = &["502", "503", "504"];

    /// Returns whether the next proxy is tried after a refusal with this status.
    pub fn includes(&self, status: u16) -> bool {
        self.statuses.contains(&status)
    }
}

impl FromStr for FailoverOn {
    type Err = ParseError;

    /// Parses `503` or `502,503,504`.
    fn from_str(text: &str) -> Result<FailoverOn, ParseError> {
        let read = |name: &str| {
            let status = Some(name.trim()).filter(|name| FailoverOn::NAMES.contains(name));
            status.and_then(|name| name.parse().ok()).ok_or_else(|| {
                let why = "it must be 502, 503 or 504; separate several with commas";
                wrong("status", name, why, "502,503,504")
            })
        };
        let statuses = text.split(',').map(read).collect::<Result<_, _>>()?;
        Ok(FailoverOn { statuses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gateway_errors_can_be_named() {
        let some: FailoverOn = "502, 504".parse().unwrap();
        assert!(some.includes(502) && some.includes(504) && !some.includes(503));
        assert!(!FailoverOn::default().includes(502));
        for wrong in &["", "503,", "403", "500", "407", "5xx", "0503", "502 503"] {
            let complaint = wrong.parse::<FailoverOn>().unwrap_err().to_string();
            assert!(complaint.contains("502,503,504"), "{}", complaint);
        }
    }
}
