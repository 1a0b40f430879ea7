//! Basic (RFC 7617).

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use super::{LoginCheck, Verdict};
use crate::values::{Credentials, Secret};

const NAME: &str = "Basic";

/// Returns the value of `Proxy-Authorization` for Basic, in UTF-8 (RFC 7617 §2.1).
pub fn basic(credentials: &Credentials) -> Secret {
    Secret::new(format!("{} {}", NAME, encode(credentials)))
}

/// Returns whether a value of `Proxy-Authorization` is Basic with these credentials. Takes the same
/// time for every wrong value of the same length.
pub fn is_basic(value: &Secret, credentials: &Credentials) -> bool {
    let decoded = decode_basic(value);
    decoded.map_or(false, |(user, password)| {
        credentials.check(&user, &password) == Verdict::Accepted
    })
}

/// Returns the username and the password in a value of `Proxy-Authorization`; `None` if it isn't
/// Basic.
pub fn decode_basic(value: &Secret) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut parts = value.reveal().trim().splitn(2, ' ');
    let is_basic = parts.next()?.eq_ignore_ascii_case(NAME);
    let token = parts.next().filter(|_| is_basic)?.trim();
    let mut user = STANDARD.decode(token).ok()?;
    let colon = user.iter().position(|byte| *byte == b':')?;
    let password = user.split_off(colon + 1);
    user.truncate(colon);
    Some((user, password))
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
