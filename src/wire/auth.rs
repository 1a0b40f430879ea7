//! Answers to a proxy's challenges, and the other way round. Basic (RFC 7617) first.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use subtle::ConstantTimeEq;

use crate::config::{Credentials, Secret};

pub(super) const BASIC: &str = "Basic";

/// The value of `Proxy-Authorization` for Basic; UTF-8, as RFC 7617 §2.1 has it.
pub fn basic(credentials: &Credentials) -> Secret {
    Secret::new(format!("{} {}", BASIC, encode(credentials)))
}

/// Whether `value`, as it came in `Proxy-Authorization`, is Basic with these credentials.
///
/// Takes the same time for every wrong one of the same length.
pub fn is_basic(value: &Secret, credentials: &Credentials) -> bool {
    let mut parts = value.reveal().trim().splitn(2, ' ');
    let is_basic = parts
        .next()
        .map_or(false, |scheme| scheme.eq_ignore_ascii_case(BASIC));
    let token = parts.next().unwrap_or_default().trim();
    is_basic && bool::from(token.as_bytes().ct_eq(encode(credentials).as_bytes()))
}

fn encode(credentials: &Credentials) -> String {
    STANDARD.encode(format!(
        "{}:{}",
        credentials.user(),
        credentials.password().reveal()
    ))
}

/// The schemes in the values of `Proxy-Authenticate` (RFC 9110 §11.6.1, §11.7.1), each once.
///
/// Several challenges may share a value, parted by the same commas as their parameters: a scheme
/// is an item's first token that isn't the name of a parameter.
pub(super) fn schemes<'a>(values: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut schemes: Vec<String> = Vec::new();
    for value in values {
        for item in items(&String::from_utf8_lossy(value)) {
            let end = item.find(char::is_whitespace).unwrap_or(item.len());
            let (token, rest) = item.split_at(end);
            let is_parameter = token.contains('=') || rest.trim_start().starts_with('=');
            let is_known = schemes
                .iter()
                .any(|known| known.eq_ignore_ascii_case(token));
            let is_scheme = token
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-');
            if !token.is_empty() && is_scheme && !is_parameter && !is_known {
                schemes.push(token.to_string());
            }
        }
    }
    schemes
}

/// Splits at the commas outside quoted strings.
fn items(value: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    value
        .split(|c| {
            let literal = escaped;
            escaped = quoted && !literal && c == '\\';
            if c == '"' && !literal {
                quoted = !quoted;
            }
            c == ',' && !quoted
        })
        .map(str::trim)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joe() -> Credentials {
        Credentials::new("joe", Secret::new("pä ss:x")).unwrap()
    }

    fn found(values: &[&str]) -> Vec<String> {
        schemes(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn one_value_may_hold_several_challenges() {
        assert_eq!(
            found(&["Basic realm=\"a, Digest b\", Digest nonce=\"\\\",x\", qop=auth"]),
            ["Basic", "Digest"]
        );
        assert_eq!(
            found(&["Negotiate", "NTLM", "basic realm=x", "BASIC"]),
            ["Negotiate", "NTLM", "basic"]
        );
        assert_eq!(found(&["Digest realm = x , Basic"]), ["Digest", "Basic"]);
        assert_eq!(found(&["", ",,", "\x1b[m"]), Vec::<String>::new());
    }

    #[test]
    fn knows_the_right_credentials_from_wrong_ones() {
        assert!(is_basic(&basic(&joe()), &joe()));
        let lower = basic(&joe()).reveal().replace("Basic ", "basic  ");
        assert!(is_basic(&Secret::new(lower), &joe()));
        for wrong in &[
            "",
            "Basic",
            "Basic am9l",
            "Bearer am9lOnDDpCBzczp4",
            "Basic  am9lOng=",
        ] {
            assert!(!is_basic(&Secret::new(*wrong), &joe()), "{}", wrong);
        }
    }
}
