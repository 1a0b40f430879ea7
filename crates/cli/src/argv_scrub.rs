//! Keeps passwords out of what other users can read of this process.
//!
//! Every user can read its command line, so passwords are overwritten there as soon as they are
//! parsed. Only its user and root can read its memory, but a core dump outlives the process, so the
//! dump leaves that memory out. Both are best effort and need /proc.

use std::fs;
use std::io;
use std::ops::Range;

use log::info;

use super::flags::PasswordPart;
use super::options::Value;
use ptunnel_core::os::sys;
use ptunnel_proto::values::PacUrl;

/// A value on the command line, and the range of the password in it.
pub(super) struct SecretArgument<'a> {
    value: &'a str,
    password: Range<usize>,
}

impl<'a> SecretArgument<'a> {
    /// Returns the password in the value of an option, if there is one.
    pub(super) fn of(value: &'a Value) -> Option<SecretArgument<'a>> {
        let (part, _) = value.flag.password?;
        match part {
            PasswordPart::Whole => Some(SecretArgument::password(value.text())),
            PasswordPart::Login => SecretArgument::login(value.text()),
            PasswordPart::Url => SecretArgument::url(value.text()),
            PasswordPart::PathOrUrl => {
                let text = Some(value.text()).filter(|text| PacUrl::is_one(text));
                text.and_then(SecretArgument::url)
            }
        }
    }

    /// Returns what of the value must not stay on the command line: the password, and the query of a PAC
    /// file's URL, which can have a token.
    pub(super) fn all_of(value: &'a Value) -> impl Iterator<Item = SecretArgument<'a>> {
        let query = match value.flag.password {
            Some((PasswordPart::PathOrUrl, _)) => SecretArgument::query(value.text()),
            _ => None,
        };
        SecretArgument::of(value).into_iter().chain(query)
    }

    /// Finds the query of a URL.
    fn query(value: &'a str) -> Option<SecretArgument<'a>> {
        let start = Some(value)
            .filter(|value| PacUrl::is_one(value))?
            .find('?')?
            + 1;
        let password = start..value.len();
        Some(SecretArgument { value, password })
    }

    /// Takes the whole value as a password.
    fn password(value: &'a str) -> SecretArgument<'a> {
        let password = 0..value.len();
        SecretArgument { value, password }
    }

    /// Finds the password in `USER:PASSWORD`.
    fn login(value: &'a str) -> Option<SecretArgument<'a>> {
        let password = value.find(':')? + 1..value.len();
        Some(SecretArgument { value, password })
    }

    /// Finds the password in `[http://]USER:PASSWORD@…`.
    fn url(value: &'a str) -> Option<SecretArgument<'a>> {
        let user = value.find("://").map_or(0, |end| end + 3);
        let end = value.rfind('@').filter(|at| *at > user)?;
        let password = user + value[user..end].find(':')? + 1..end;
        Some(SecretArgument { value, password })
    }

    /// Returns the position of the password in `word`, if that is this value, with or without its flag.
    fn position_in(&self, word: &[u8]) -> Option<Range<usize>> {
        let before = word.len().checked_sub(self.value.len())?;
        let is_value = before == 0 || word[0] == b'-';
        if is_value && word.ends_with(self.value.as_bytes()) {
            Some(before + self.password.start..before + self.password.end)
        } else {
            None
        }
    }
}

/// Overwrites passwords in `/proc/PID/cmdline`.
pub(super) fn conceal(secrets: &[SecretArgument<'_>]) {
    if !secrets.is_empty() {
        let _ = sys::rewrite_arguments(|words| mask(words, secrets));
    }
}

/// Overwrites with stars the passwords in `words`, each of which ends in a NUL.
fn mask(words: &mut [u8], secrets: &[SecretArgument<'_>]) {
    for word in words.split_mut(|byte| *byte == 0) {
        // All are found before one is overwritten: two options can have the same value.
        let found = secrets.iter().filter_map(|secret| secret.position_in(word));
        let found: Vec<Range<usize>> = found.collect();
        for byte in found.into_iter().flatten() {
            word[byte] = b'*';
        }
    }
}

/// Selects the parts of the memory that a core dump has (core(5)).
const FILTER: &str = "/proc/self/coredump_filter";

/// The previous content of [`FILTER`].
pub(super) struct Filter(String);

/// Leaves all memory out of core dumps, as passwords stay in memory for later connections.
///
/// To get a complete dump, write to the same file of the running process.
///
/// # Errors
///
/// Any error of the file: /proc is missing, or the kernel has no core dumps.
pub(super) fn leave_out_of_core_dumps() -> io::Result<Filter> {
    let before = fs::read_to_string(FILTER)?;
    fs::write(FILTER, "0")?;
    Ok(Filter(before))
}

/// Restores the filter if there are no passwords. If there are and the filter can't be set, logs the
/// error.
pub(super) fn settle(filter: io::Result<Filter>, has_credentials: bool) {
    match filter {
        Err(e) if has_credentials => {
            info!("core dumps may show passwords: coredump_filter: {}", e)
        }
        Ok(before) if !has_credentials => before.restore(),
        _ => {}
    }
}

impl Filter {
    fn restore(self) {
        // The kernel prints hex without a prefix, and reads a number without one as octal.
        let _ = fs::write(FILTER, format!("0x{}", self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags;
    use super::super::options::Position;
    use super::*;

    fn concealed(words: &str, secrets: &[SecretArgument<'_>]) -> String {
        let mut bytes = words.replace(' ', "\0").into_bytes();
        mask(&mut bytes, secrets);
        String::from_utf8(bytes).unwrap().replace('\0', " ")
    }

    #[test]
    fn a_password_is_overwritten_with_and_without_its_flag() {
        let secret = [SecretArgument::password("pw")];
        for (words, shown) in &[
            ("x -P pw 1:a:1", "x -P ** 1:a:1"),
            ("x -Ppw", "x -P**"),
            ("x --password=pw", "x --password=**"),
            (
                "x --password pw 1:pw:1 1:a:pw",
                "x --password ** 1:pw:1 1:a:pw",
            ),
        ] {
            assert_eq!(concealed(words, &secret), *shown);
        }
    }

    #[test]
    fn a_password_that_is_a_login_too_is_overwritten_whole() {
        let mut secrets: Vec<_> = SecretArgument::login("a:b").into_iter().collect();
        secrets.push(SecretArgument::password("a:b"));
        assert_eq!(concealed("x -U a:b -P a:b", &secrets), "x -U *** -P ***");
    }

    #[test]
    fn users_and_hosts_stay_readable() {
        let login = SecretArgument::login("joe:a:b")
            .into_iter()
            .collect::<Vec<_>>();
        assert_eq!(concealed("x -U joe:a:b", &login), "x -U joe:***");
        for (url, shown) in &[
            ("http://joe:a:b@h:1", "http://joe:***@h:1"),
            ("joe:p@q@h:1", "joe:***@h:1"),
        ] {
            let secret = SecretArgument::url(url).into_iter().collect::<Vec<_>>();
            assert_eq!(concealed(url, &secret), *shown);
        }
        let url = "http://joe:a@h/w?t=a";
        let secrets = SecretArgument::url(url).into_iter();
        let secrets: Vec<_> = secrets.chain(SecretArgument::query(url)).collect();
        assert_eq!(concealed(url, &secrets), "http://joe:*@h/w?***");
        for open in &["h:1", "http://h:1", "http://joe@h:1"] {
            assert!(SecretArgument::url(open).is_none(), "{}", open);
        }
        assert!(SecretArgument::login("joe").is_none());
    }

    #[test]
    fn the_path_of_a_pac_file_has_no_password() {
        let flag = flags::find("pac").unwrap();
        for (text, is_secret) in &[
            ("http://joe:x@h/p", true),
            ("http://joe@h/p", false),
            ("/home/a:b@c/proxy.pac", false),
        ] {
            let value = Value {
                flag,
                text: Some((*text).into()),
                position: Position::Word(1),
            };
            assert_eq!(SecretArgument::of(&value).is_some(), *is_secret, "{}", text);
        }
    }
}
