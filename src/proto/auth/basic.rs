//! Basic (RFC 7617).

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use super::is_same;
use crate::config::{Credentials, Secret};

const NAME: &str = "Basic";

/// Returns the value of `Proxy-Authorization` for Basic, in UTF-8 (RFC 7617 §2.1).
pub fn basic(credentials: &Credentials) -> Secret {
    Secret::new(format!("{} {}", NAME, encode(credentials)))
}

/// Returns whether a value of `Proxy-Authorization` is Basic with these credentials. Takes the same
/// time for every wrong value of the same length.
pub fn is_basic(value: &Secret, credentials: &Credentials) -> bool {
    let mut parts = value.reveal().trim().splitn(2, ' ');
    let is_basic = parts
        .next()
        .map_or(false, |scheme| scheme.eq_ignore_ascii_case(NAME));
    let token = parts.next().unwrap_or_default().trim();
    is_basic && is_same(token.as_bytes(), encode(credentials).as_bytes())
}

fn encode(credentials: &Credentials) -> String {
    STANDARD.encode(format!(
        "{}:{}",
        credentials.user(),
        credentials.password().reveal()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joe() -> Credentials {
        Credentials::new("joe", Secret::new("pä ss:x")).unwrap()
    }

    #[test]
    fn only_the_right_credentials_are_accepted() {
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
