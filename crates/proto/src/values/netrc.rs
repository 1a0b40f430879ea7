//! The netrc file, which ftp and curl also read: users and passwords by host.

use super::{Host, Login, ParseError, Secret};

/// Users and passwords by machine, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netrc {
    entries: Vec<NetrcEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NetrcEntry {
    /// `None` is every machine.
    machine: Option<String>,
    user: Option<String>,
    password: Option<Secret>,
}

impl Netrc {
    /// Parses the text of a netrc file.
    ///
    /// # Errors
    ///
    /// The line and what is wrong in it, without passwords.
    pub fn read(text: &str) -> Result<Netrc, ParseError> {
        let mut words = Words::new(text);
        let mut entries: Vec<NetrcEntry> = Vec::new();
        while let Some(keyword) = words.keyword() {
            let entry = |machine| NetrcEntry {
                machine,
                user: None,
                password: None,
            };
            match keyword.text {
                "machine" => entries.push(entry(Some(words.value_of(&keyword)?))),
                "default" => entries.push(entry(None)),
                "macdef" => words.skip_macro(),
                "login" | "password" | "account" => {
                    let value = words.value_of(&keyword)?;
                    let last = entries.last_mut().ok_or_else(|| {
                        wrong(keyword.line, format!("'{}' before a machine", keyword.text))
                    })?;
                    match keyword.text {
                        "login" => last.user = Some(value),
                        "password" => last.password = Some(Secret::new(value)),
                        _ => {}
                    }
                }
                // Not shown: it may be a password that has no keyword before it.
                _ => {
                    return Err(wrong(
                        keyword.line,
                        "expected machine, default, login, password, account or macdef",
                    ))
                }
            }
        }
        Ok(Netrc { entries })
    }

    /// Returns the first entry for the host, and for the user if one is given. A `default` entry is
    /// for every host.
    pub fn find(&self, host: &Host, user: Option<&str>) -> Option<Login> {
        let host = host.to_string();
        let host = host.trim_matches(&['[', ']'][..]);
        let is_it = |entry: &&NetrcEntry| {
            let machine = entry.machine.as_deref();
            machine.map_or(true, |name| name.eq_ignore_ascii_case(host))
                && (user.is_none() || entry.user.as_deref() == user)
        };
        let entry = self.entries.iter().find(is_it)?;
        Some(Login {
            user: entry.user.clone()?,
            password: entry.password.clone(),
        })
    }
}

fn wrong(line: usize, why: impl std::fmt::Display) -> ParseError {
    ParseError::new(format!(
        "line {}: {}; e.g. machine proxy.example login joe password secret",
        line, why
    ))
}

/// The words of a file, separated by white space.
struct Words<'a> {
    left: &'a str,
    line: usize,
}

struct Keyword<'a> {
    text: &'a str,
    line: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Words<'a> {
        Words {
            left: text,
            line: 1,
        }
    }

    /// Returns the next word that isn't in a comment.
    fn keyword(&mut self) -> Option<Keyword<'a>> {
        loop {
            self.skip_space();
            if !self.left.starts_with('#') {
                break;
            }
            self.take(self.left.find('\n').unwrap_or(self.left.len()));
        }
        let line = self.line;
        let end = self.left.find(char::is_whitespace);
        let text = self.take(end.unwrap_or(self.left.len()));
        Some(Keyword { text, line }).filter(|word| !word.text.is_empty())
    }

    /// Returns the word after a keyword: plain, or in double quotes with `\` as the escape.
    fn value_of(&mut self, keyword: &Keyword<'_>) -> Result<String, ParseError> {
        self.skip_space();
        if self.left.starts_with('"') {
            return self.quoted();
        }
        let end = self.left.find(char::is_whitespace);
        let text = self.take(end.unwrap_or(self.left.len()));
        if text.is_empty() {
            let why = format!("'{}' has no value", keyword.text);
            return Err(wrong(keyword.line, why));
        }
        Ok(text.to_string())
    }

    fn quoted(&mut self) -> Result<String, ParseError> {
        let line = self.line;
        let mut value = String::new();
        let mut is_escaped = false;
        for (at, c) in self.left.char_indices().skip(1) {
            match c {
                '\n' => break,
                '"' if !is_escaped => {
                    self.take(at + 1);
                    return Ok(value);
                }
                '\\' if !is_escaped => {
                    is_escaped = true;
                    continue;
                }
                'n' if is_escaped => value.push('\n'),
                'r' if is_escaped => value.push('\r'),
                't' if is_escaped => value.push('\t'),
                c => value.push(c),
            }
            is_escaped = false;
        }
        Err(wrong(line, "the closing quote is missing"))
    }

    /// Skips a macro of ftp, which ends with an empty line.
    fn skip_macro(&mut self) {
        let end = self.left.find("\n\n").map(|at| at + 2);
        self.take(end.unwrap_or(self.left.len()));
    }

    fn skip_space(&mut self) {
        let rest = self.left.trim_start();
        self.take(self.left.len() - rest.len());
    }

    fn take(&mut self, count: usize) -> &'a str {
        let (taken, left) = self.left.split_at(count);
        self.line += taken.matches('\n').count();
        self.left = left;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# Users\n\
machine proxy.example login joe password hunter2\n\
machine proxy.example\n\
\tlogin ann # a comment to ptunnel, not to ftp\n\
\taccount x\n\
\tpassword \"a \\\"b\\\" \\\\ #c\"\n\
macdef init\n\
machine nonsense\n\
\n\
machine ::1 login six password #6\n\
default login anyone password \"\"\n";

    fn found(host: &str, user: Option<&str>) -> Option<(String, Option<String>)> {
        let netrc = Netrc::read(FILE).unwrap();
        let login = netrc.find(&host.parse().unwrap(), user)?;
        let password = login.password.map(|p| p.reveal().to_string());
        Some((login.user, password))
    }

    fn login(user: &str, password: &str) -> Option<(String, Option<String>)> {
        Some((user.to_string(), Some(password.to_string())))
    }

    #[test]
    fn the_first_entry_of_a_machine_is_used() {
        assert_eq!(found("PROXY.example", None), login("joe", "hunter2"));
        assert_eq!(
            found("proxy.example", Some("ann")),
            login("ann", "a \"b\" \\ #c")
        );
        assert_eq!(found("::1", None), login("six", "#6"));
        assert_eq!(found("other.example", None), login("anyone", ""));
        assert_eq!(found("other.example", Some("joe")), None);
        assert_eq!(found("nonsense", Some("x")), None);
    }

    #[test]
    fn an_error_has_the_line_and_no_password() {
        let complaint = |text: &str| Netrc::read(text).unwrap_err().to_string();
        for (text, line, why) in &[
            (
                "machine a\nlogin joe hunter2\n",
                "line 2",
                "expected machine",
            ),
            ("\n\nlogin joe", "line 3", "before a machine"),
            (
                "machine a login joe\npassword",
                "line 2",
                "'password' has no value",
            ),
            ("machine", "line 1", "'machine' has no value"),
            ("machine a\npassword \"hunter2\n\"", "line 2", "quote"),
            ("machine \"a\\", "line 1", "quote"),
        ] {
            let error = complaint(text);
            assert!(error.contains(line) && error.contains(why), "{}", error);
            assert!(!error.contains("hunter2"), "{}", error);
        }
        assert_eq!(Netrc::read("").unwrap(), Netrc::default());
    }
}
