//! The file of users that `-D` and the embedded proxy serve: names and hashed passwords.

use std::fmt;
use std::sync::Arc;

use super::{ParseError, Secret};
use crate::text::escape::Escaped;

/// Users with their hashed passwords, at least one. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Users {
    /// Sorted by name.
    entries: Arc<[(String, Secret)]>,
}

/// The methods of crypt(5) that may be used: SHA-512, SHA-256, bcrypt (three names) and yescrypt.
const METHODS: &[&str] = &["$6$", "$5$", "$2y$", "$2b$", "$2a$", "$y$"];

/// Maximum length of a name: that of SOCKS5 (RFC 1929 §2).
const MAX_NAME: usize = 255;

/// What to write instead of a password that isn't hashed as it must be.
const FIX: &str = "write the output of 'openssl passwd -6' after the colon";

impl Users {
    /// Parses the text of a file: a line `NAME:HASH` for each user, as htpasswd and /etc/shadow have
    /// them; empty lines and lines that start with `#` are ignored.
    ///
    /// # Errors
    ///
    /// The line, counted from 1, and what is wrong with it; it never shows what follows the name.
    pub fn read(text: &str) -> Result<Users, (usize, ParseError)> {
        let mut entries: Vec<(String, Secret)> = Vec::new();
        let lines = text.lines().enumerate();
        for (index, line) in lines.map(|(index, line)| (index + 1, line.trim_end())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = entry(line).map_err(|why| (index, ParseError::new(why)))?;
            if entries.iter().any(|(name, _)| *name == entry.0) {
                let name = Escaped(entry.0.as_bytes());
                let why = format!("user '{}' is there twice; remove one of the lines", name);
                return Err((index, ParseError::new(why)));
            }
            entries.push(entry);
        }
        if entries.is_empty() {
            let why = "the file has no user; add a line such as ann:$6$SALT$HASH";
            return Err((text.lines().count().max(1), ParseError::new(why)));
        }
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        let entries = entries.into();
        Ok(Users { entries })
    }

    /// Returns the names with their hashes, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.entries.iter().map(|(name, hash)| (&name[..], hash))
    }

    /// Returns the hash of a user's password.
    pub fn find(&self, name: &[u8]) -> Option<&Secret> {
        let found = self
            .entries
            .binary_search_by(|(known, _)| known.as_bytes().cmp(name));
        found.ok().map(|index| &self.entries[index].1)
    }

    /// Returns the hash of one of the users: the same for the same `choice`.
    pub fn any(&self, choice: usize) -> &Secret {
        &self.entries[choice % self.entries.len()].1
    }
}

/// Parses a line that isn't empty.
fn entry(line: &str) -> Result<(String, Secret), String> {
    let mut fields = line.split(':');
    let name = fields.next().unwrap_or_default();
    let hash = match fields.next() {
        Some(hash) => hash,
        // Not shown: it may be a password.
        None => return Err("the line has no colon; e.g. ann:$6$SALT$HASH".into()),
    };
    let shown = Escaped(name.as_bytes());
    if name.is_empty() {
        Err("the username before ':' is empty; e.g. ann:$6$SALT$HASH".into())
    } else if name.chars().any(char::is_control) {
        Err(format!(
            "user '{}': the name has a control character; remove it",
            shown
        ))
    } else if name.len() > MAX_NAME {
        let start: String = name.chars().take(20).collect();
        let start = Escaped(start.as_bytes());
        Err(format!(
            "user '{}…': the name has more than {} bytes, the limit of SOCKS5; use a shorter one",
            start, MAX_NAME
        ))
    } else if METHODS.iter().any(|method| hash.starts_with(method)) && is_whole(hash) {
        Ok((name.into(), Secret::new(hash)))
    } else if hash.starts_with('$') || hash.starts_with("{SHA") {
        Err(format!(
            "user '{}': the hash isn't a whole one of {}; {}",
            shown,
            METHODS.join(" "),
            FIX
        ))
    } else {
        Err(format!(
            "user '{}': the password isn't hashed; {}",
            shown, FIX
        ))
    }
}

/// Returns whether a hash isn't cut off: the last field of each method is much longer than this.
fn is_whole(hash: &str) -> bool {
    let last = hash.rsplit('$').next().unwrap_or_default();
    last.len() > 40 && hash.bytes().all(|byte| byte.is_ascii_graphic())
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA_256: &str = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc8";
    const BCRYPT: &str = "$2y$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe";

    #[test]
    fn reads_lines_of_htpasswd_and_of_shadow() {
        let text = format!(
            "# staff\r\njoe:{}\r\n\n  \nann:{}:19000:0:99999:7:::\n",
            SHA_256, BCRYPT
        );
        let users = Users::read(&text).unwrap();
        let all: Vec<_> = users
            .iter()
            .map(|(name, hash)| (name, hash.reveal()))
            .collect();
        assert_eq!(all, [("ann", BCRYPT), ("joe", SHA_256)]);
        assert_eq!(users.find(b"joe").unwrap().reveal(), SHA_256);
        assert_eq!(users.find(b"jo"), None);
        assert_eq!(users.any(0), users.any(2));
        let shown = format!("{:?}", users);
        assert!(shown.contains("ann") && !shown.contains('$'), "{}", shown);
    }

    #[test]
    fn an_error_names_the_line_and_the_user_but_no_secret() {
        let good = format!("joe:{}\n", SHA_256);
        for (text, line, words) in &[
            ("", 1, "no user"),
            ("# hunter\n\n", 2, "no user"),
            ("\nhunter\n", 2, "no colon"),
            (":hunter", 1, "empty"),
            ("a\x01:hunter", 1, "control"),
            (
                "ann:hunter",
                1,
                "user 'ann': the password isn't hashed; write the output of 'openssl",
            ),
            ("ann:", 1, "user 'ann': the password isn't hashed"),
            ("ann:!", 1, "user 'ann': the password isn't hashed"),
            (
                "ann:$apr1$hunter$Zmv6fGPoQqk1hY6ydOHRs0",
                1,
                "user 'ann': the hash isn't",
            ),
            (
                "ann:$1$hunter$Zmv6fGPoQqk1hY6ydOHRs0",
                1,
                "openssl passwd -6",
            ),
            ("ann:{SHA}hunterfGPoQqk1hY6ydOHRs0=", 1, "openssl passwd -6"),
            ("ann:$6$hunter", 1, "user 'ann': the hash isn't"),
        ] {
            let (at, why) = Users::read(text).unwrap_err();
            let why = why.to_string();
            assert!(
                at == *line && why.contains(words),
                "{}: {}: {}",
                text,
                at,
                why
            );
            assert!(!why.contains("hunter"), "{}", why);
        }
        let (at, why) = Users::read(&format!("{}\n{}", good, good)).unwrap_err();
        assert_eq!(at, 3);
        assert!(
            why.to_string().contains("user 'joe' is there twice"),
            "{}",
            why
        );
        let long = format!("{}:{}", "x".repeat(256), SHA_256);
        assert!(Users::read(&long)
            .unwrap_err()
            .1
            .to_string()
            .contains("255"));
        assert!(Users::read(&long[1..]).is_ok());
    }
}
