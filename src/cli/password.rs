//! Where passwords come from. In order: the option, the file, the environment, the proxy's URL,
//! and a person at the terminal.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use clap::ArgMatches;

use super::{one, Prompt};
use crate::config::{Credentials, Login, ProxySpec, ProxyUrl, Secret};
use crate::env::Environment;
use crate::error::Error;
use crate::escape::Escaped;

/// No password is longer.
const LONGEST: u64 = 64 * 1024;

/// Completes proxies with what is known of users and passwords.
pub(super) struct Passwords<'a> {
    /// `--user`.
    login: Option<Login>,
    /// From the option, the file or the environment.
    password: Option<Secret>,
    prompt: Prompt<'a>,
}

impl<'a> Passwords<'a> {
    pub(super) fn new(
        matches: &ArgMatches<'_>,
        env: &Environment<'_>,
        prompt: Prompt<'a>,
    ) -> Result<Passwords<'a>, Error> {
        let login: Option<Login> = one(matches, "user")?;
        let password = match (
            matches.value_of("password"),
            matches.value_of("password-file"),
        ) {
            (Some(password), _) => Some(Secret::new(password)),
            (None, Some(path)) => Some(read_file(path)?),
            (None, None) => env.password()?,
        };
        Ok(Passwords {
            login,
            password,
            prompt,
        })
    }

    /// The proxy with its credentials, if it has a user.
    ///
    /// Its own user goes first when the proxy was `chosen` on the command line; `--user` goes
    /// before one from the environment.
    pub(super) fn complete(&self, url: ProxyUrl, chosen: bool) -> Result<ProxySpec, Error> {
        let ProxyUrl { address, login } = url;
        let given = self.login.clone();
        let login = if chosen {
            login.or(given)
        } else {
            given.or(login)
        };
        let credentials = match login {
            Some(Login { user, password }) => {
                let password = match self.password.clone().or(password) {
                    Some(password) => password,
                    None => {
                        let shown = Escaped(user.as_bytes());
                        (self.prompt)(&format!("Password for {} at {}: ", shown, address))
                            .map_err(|_| none_for(&user))?
                    }
                };
                Some(Credentials::new(user, password)?)
            }
            None => None,
        };
        Ok(ProxySpec {
            address,
            credentials,
        })
    }
}

fn none_for(user: &str) -> Error {
    Error::usage(format!(
        "no password for user '{}' and no terminal to ask on: give --password-file FILE or the \
         environment variable PTUNNEL_PASSWORD",
        Escaped(user.as_bytes())
    ))
}

/// The one line of a file that only its owner can read.
fn read_file(path: &str) -> Result<Secret, Error> {
    let shown = Escaped(path.as_bytes());
    let fail = |why: String| Error::usage(format!("--password-file '{}': {}", shown, why));
    let file = File::open(path).map_err(|e| fail(e.to_string()))?;
    let mode = file
        .metadata()
        .map_err(|e| fail(e.to_string()))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(fail(format!(
            "others can read it; a right one is made by chmod 600 {}",
            shown
        )));
    }
    let mut text = String::new();
    file.take(LONGEST + 1)
        .read_to_string(&mut text)
        .map_err(|e| fail(e.to_string()))?;
    if text.len() as u64 > LONGEST {
        return Err(fail(format!("a password has at most {} bytes", LONGEST)));
    }
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.contains('\n') {
        return Err(fail("it shall hold one line, the password".into()));
    }
    Ok(Secret::new(line))
}
