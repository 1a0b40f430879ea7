//! Users and passwords, for proxies and for clients.

use std::fmt;
use std::str::FromStr;

use super::{ParseError, PasswordCommand};
use crate::text::escape::Escaped;

/// A text that is never printed: `Debug` prints `***`, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// A user name, with the password if it was given together with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user name, without a colon.
    pub user: String,
    /// The password, if it was given with the user name.
    pub password: Option<Secret>,
}

/// A user name and a password that fit in Basic credentials (RFC 7617 §2): without a colon in the
/// user name, and without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    /// Empty if a command prints it.
    password: Secret,
    command: Option<PasswordCommand>,
}

impl Secret {
    /// Wraps any text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text, which must not be printed.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Credentials {
    /// Checks and joins a user name and a password.
    ///
    /// # Errors
    ///
    /// A colon in the user name, or a control character; the message doesn't show the password.
    pub fn new(user: impl Into<String>, password: Secret) -> Result<Credentials, ParseError> {
        let user = user.into();
        if user.contains(':') {
            Err(ParseError::new(
                "a username can't contain ':' (RFC 7617); e.g. joe",
            ))
        } else if user.chars().any(char::is_control) {
            Err(ParseError::new(
                "a username can't contain control characters; e.g. joe",
            ))
        } else if password.0.chars().any(char::is_control) {
            Err(ParseError::new(format!(
                "the password of '{}' contains a control character; it must be one line of text",
                Escaped(user.as_bytes())
            )))
        } else {
            Ok(Credentials {
                user,
                password,
                command: None,
            })
        }
    }

    /// Checks a user name, and joins it with the command that prints the password.
    ///
    /// # Errors
    ///
    /// A colon or a control character in the user name.
    pub fn by_command(
        user: impl Into<String>,
        command: PasswordCommand,
    ) -> Result<Credentials, ParseError> {
        let credentials = Credentials::new(user, Secret::new(""))?;
        Ok(Credentials {
            command: Some(command),
            ..credentials
        })
    }

    /// Returns the user name.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the password.
    pub fn password(&self) -> &Secret {
        &self.password
    }

    /// Returns the command that prints the password; `None` if that is fixed.
    pub fn command(&self) -> Option<&PasswordCommand> {
        self.command.as_ref()
    }

    /// Returns whether SOCKS5 can carry them: at most 255 bytes each (RFC 1929 §2).
    pub fn fit_in_socks5(&self) -> bool {
        let fits = |text: &str| text.len() <= usize::from(u8::MAX);
        fits(&self.user) && fits(self.password.reveal())
    }
}

impl Login {
    /// Returns the password, unless it is empty: an unset variable of a script leaves an empty one.
    pub fn given_password(&self) -> Option<Secret> {
        let password = self.password.clone();
        password.filter(|password| !password.0.is_empty())
    }
}

impl FromStr for Login {
    type Err = ParseError;

    /// Parses `USER` or `USER:PASSWORD`; the password starts after the first colon.
    fn from_str(text: &str) -> Result<Login, ParseError> {
        let mut parts = text.splitn(2, ':');
        let user = parts.next().unwrap_or_default().to_string();
        if user.is_empty() {
            return Err(ParseError::new(match parts.next() {
                Some(_) => "the username before ':' is empty; e.g. joe:secret",
                None => "the username is empty; e.g. joe",
            }));
        }
        let password = parts.next().map(Secret::new);
        Ok(Login { user, password })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_never_printed() {
        let credentials = Credentials::new("joe", Secret::new("hunter2")).unwrap();
        let shown = format!("{:?} {:#?}", credentials, credentials);
        assert!(!shown.contains("hunter2"), "{}", shown);

        let bad = Credentials::new("joe", Secret::new("hunter2\n")).unwrap_err();
        assert!(!format!("{} {:?}", bad, bad).contains("hunter2"));
    }

    #[test]
    fn a_password_keeps_its_colons_and_can_be_empty() {
        let login: Login = "joe:a:b c".parse().unwrap();
        assert_eq!(login.password.unwrap().reveal(), "a:b c");
        assert_eq!(
            "joe:".parse::<Login>().unwrap().password,
            Some(Secret::new(""))
        );
        assert_eq!("joe".parse::<Login>().unwrap().password, None);
        assert!(":x".parse::<Login>().is_err());
    }

    #[test]
    fn control_characters_and_colons_are_refused() {
        for (user, password) in &[("a:b", "x"), ("a\r\n", "x"), ("a", "x\r\ny"), ("a", "\0")] {
            assert!(Credentials::new(*user, Secret::new(*password)).is_err());
        }
        assert!(Credentials::new("jö", Secret::new("pässword ☃ %@/?")).is_ok());
    }
}
