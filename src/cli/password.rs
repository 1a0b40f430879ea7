//! The sources of passwords. For proxies, in order: the option, the file, the command, the

use std::fs::File;
use std::io::{self, Read};

use super::env::Environment;
use super::file_permissions;
use super::flags::PROXY_PASSWORD;
use super::options::Options;
use crate::config::{
    file_fault, CommandWords, Credentials, Host, Login, Netrc, PasswordCommand, ProxyDefaults,
    ProxySpec, ProxyUrl, Secret, TlsSpec,
};
use crate::error::Error;
use crate::os::sys;
use crate::text::escape::Escaped;

/// Prompts for a password on the terminal; the text says whose.
pub type Prompt<'a> = &'a dyn Fn(&str) -> io::Result<Secret>;

/// Limit for a password file and a netrc file, in bytes.
const MAX_LEN: u64 = 64 * 1024;

/// Where a proxy is named, which decides whether its URL or `--user` names the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxySource {
    /// `--proxy`: the user in its URL overrides `--user`.
    Option,
    /// The environment: `--user` overrides the user in the URL.
    Environment,
    /// `--via`: `--user` and its password aren't sent to it, as it may belong to another party.
    Via,
}

/// Handles a missing password: gets the text of a prompt, if a prompt may replace it, and the error;
/// returns the password or the error.
pub(super) type MissingPassword<'a> = &'a dyn Fn(Option<&str>, Error) -> Result<Secret, Error>;

/// Returns the handler that prompts.
pub(super) fn prompting<'a>(
    prompt: Prompt<'a>,
) -> impl Fn(Option<&str>, Error) -> Result<Secret, Error> + 'a {
    move |whose, e| match whose.map(prompt) {
        Some(Ok(password)) => Ok(password),
        _ => Err(e),
    }
}

/// The sources of users and passwords for proxies.
pub(super) struct Passwords<'a> {
    /// `--user`.
    login: Option<Login>,
    /// From the option, the file or the environment.
    password: Option<Secret>,
    /// `--password-command`, which overrides the passwords that remain.
    command: Option<PasswordCommand>,
    /// `--proxy-netrc`: fills in what none of the others says.
    netrc: Netrc,
    missing: MissingPassword<'a>,
}

impl<'a> Passwords<'a> {
    pub(super) fn new(
        options: &Options,
        env: &Environment<'_>,
        missing: MissingPassword<'a>,
        warnings: &mut Vec<String>,
    ) -> Result<Passwords<'a>, Error> {
        let login: Option<Login> = options.one("user")?;
        let command = options.one::<CommandWords>("password-command")?;
        let password = match (
            options.value_of("password"),
            options.value_of("password-file"),
        ) {
            (Some(password), _) => Some(Secret::new(password)),
            (None, Some(path)) => Some(
                match File::open(path) {
                    Ok(file) => read_file(path, file),
                    Err(e) => missing(None, unreadable("--password-file", path, file_fault(&e))),
                }
                .map_err(|e| options.blame("password-file", e))?,
            ),
            (None, None) if command.is_some() => None,
            (None, None) => env.password(PROXY_PASSWORD)?,
        };
        let netrc = match options.value_of("proxy-netrc") {
            Some(path) => {
                read_netrc(path, warnings).map_err(|e| options.blame("proxy-netrc", e))?
            }
            None => Netrc::default(),
        };
        Ok(Passwords {
            login,
            password,
            command: command.map(|CommandWords(words)| PasswordCommand::new(words)),
            netrc,
            missing,
        })
    }

    /// Returns the proxy with its credentials, if it has a user, and with `tls`, if its URL asks for it.
    pub(super) fn complete(
        &self,
        source: ProxySource,
        url: ProxyUrl,
        tls: &Option<TlsSpec>,
    ) -> Result<ProxySpec, Error> {
        let (login, given) = (url.login.clone(), self.login.clone());
        let (login, given_password) = match source {
            ProxySource::Option => (login.or(given), self.password.clone()),
            ProxySource::Environment => (given.or(login), self.password.clone()),
            ProxySource::Via => (login, None),
        };
        let login = self.complete_login(login, &url.address.host);
        let command = self.command.clone().filter(|_| {
            let is_for_it = source != ProxySource::Via;
            is_for_it && url.protocol.has_password()
        });
        let credentials = match (login, command) {
            (Some(Login { user, .. }), Some(command)) => {
                Some(Credentials::by_command(user, command)?)
            }
            (Some(Login { user, password }), None) => {
                let password = match given_password.or(password) {
                    _ if !url.protocol.has_password() => Secret::new(""),
                    Some(password) => password,
                    None => {
                        let shown = Escaped(user.as_bytes());
                        let whose = format!("Password for {} at {}: ", shown, url.address);
                        (self.missing)(Some(&whose), self.no_password(&user, source))?
                    }
                };
                Some(Credentials::new(user, password)?)
            }
            (None, _) => None,
        };
        let tls = tls.clone().filter(|_| url.is_secure);
        Ok(url.with(credentials, tls)?)
    }

    /// Returns the settings of the proxies that the PAC file `name`, which is escaped, names: ptunnel
    /// can't prompt for them later.
    pub(super) fn proxy_defaults(
        &self,
        name: &str,
        tls: &Option<TlsSpec>,
    ) -> Result<ProxyDefaults, Error> {
        let netrc = self.netrc.clone();
        let mut proxy_defaults = ProxyDefaults {
            tls: tls.clone(),
            netrc,
            ..ProxyDefaults::default()
        };
        if let (Some(Login { user, .. }), Some(command)) = (&self.login, &self.command) {
            proxy_defaults.user = Some(user.clone());
            let credentials = Credentials::by_command(user.clone(), command.clone())?;
            proxy_defaults.credentials = Some(credentials);
        } else if let Some(Login { user, password }) = self.login.clone() {
            let password = match self.password.clone().or(password) {
                // The netrc file may have one for each proxy.
                None if self.netrc != Netrc::default() => None,
                None => {
                    let shown = Escaped(user.as_bytes());
                    let whose = format!("Password for {} at the proxies of {}: ", shown, name);
                    let no_terminal = self.no_password(&user, ProxySource::Option);
                    Some((self.missing)(Some(&whose), no_terminal)?)
                }
                given => given,
            };
            proxy_defaults.user = Some(user.clone());
            if let Some(password) = password {
                proxy_defaults.credentials = Some(Credentials::new(user, password)?);
            }
        }
        Ok(proxy_defaults)
    }

    fn no_password(&self, user: &str, source: ProxySource) -> Error {
        let remedy = match source {
            _ if self.netrc != Netrc::default() => {
                "add an entry for this user and the proxy's host to the --proxy-netrc file"
            }
            ProxySource::Via => "add --proxy-netrc FILE",
            _ => {
                "add --password-file FILE, --password-command CMD or the environment variable \
                 PTUNNEL_PASSWORD"
            }
        };
        Error::usage(format!(
            "no password for user '{}', and no terminal to prompt on; {}",
            Escaped(user.as_bytes()),
            remedy
        ))
    }

    /// Completes a login from the netrc file: the password of its user, or, without a user, both.
    fn complete_login(&self, login: Option<Login>, host: &Host) -> Option<Login> {
        match login {
            None => self.netrc.find(host, None),
            Some(Login {
                user,
                password: None,
            }) => {
                let found = self.netrc.find(host, Some(&user));
                Some(found.unwrap_or(Login {
                    user,
                    password: None,
                }))
            }
            complete => complete,
        }
    }
}

/// Returns the credentials that clients must give, of the option `name` and, if it has no password,
/// of the command of the option `command` or of an environment variable; `None` if the option isn't
/// given.
pub(super) fn client_credentials(
    options: &Options,
    name: &str,
    command: &str,
    variable: &str,
    env: &Environment<'_>,
    missing: MissingPassword<'_>,
) -> Result<Option<Credentials>, Error> {
    let Login { user, password } = match options.one(name)? {
        Some(login) => login,
        None => return Ok(None),
    };
    // An unset variable of a script leaves an empty one, with which anyone who guesses the name
    // could connect.
    let password = password.filter(|password| !password.reveal().is_empty());
    let password = match password {
        None => printed(options, command, missing)?,
        given => given,
    };
    let password = match (password, env.password(variable)?) {
        (Some(password), _) | (None, Some(password)) => password,
        (None, None) => {
            let user = Escaped(user.as_bytes());
            let why = format!(
                "--{} {} has no password; add --{} {}:PASSWORD, or the environment variable {}",
                name, user, name, user, variable
            );
            let e = missing(None, Error::usage(why));
            e.map_err(|e| options.blame(name, e))?
        }
    };
    let credentials = Credentials::new(user, password).map(Some);
    credentials.map_err(|e| options.blame(name, e))
}

/// Returns the password that the command of the option `name` prints now.
fn printed(
    options: &Options,
    name: &str,
    missing: MissingPassword<'_>,
) -> Result<Option<Secret>, Error> {
    let command = match options.one(name)? {
        Some(CommandWords(words)) => PasswordCommand::new(words),
        None => return Ok(None),
    };
    let fail = |why: &str| {
        let program = Escaped(command.program().as_bytes());
        Error::usage(format!("--{} '{}': {}", name, program, why))
    };
    let password = if options.is_present("check-config") {
        missing(None, fail("--check-config doesn't run the command"))
    } else {
        // As when a reload runs it: the whole program is confined only later.
        if !options.is_present("unconfined") {
            let _ = sys::forbid_privileges();
        }
        let password = command.run();
        password.map(Secret::new).map_err(|why| fail(&why))
    };
    password.map(Some).map_err(|e| options.blame(name, e))
}

/// Reads a password file: one line, which other users must not be able to read.
fn read_file(path: &str, file: File) -> Result<Secret, Error> {
    let fail = |why: String| unreadable("--password-file", path, why);
    let (text, remedy) = read_text(path, file).map_err(fail)?;
    if let Some(remedy) = remedy {
        return Err(fail(format!("other users can read it; run {}", remedy)));
    }
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.contains('\n') {
        let why = "the file must have exactly one line, the password; correct it";
        return Err(fail(why.into()));
    }
    Ok(Secret::new(line))
}

/// Reads a netrc file. Other programs use it too, so its permissions only cause a warning.
fn read_netrc(path: &str, warnings: &mut Vec<String>) -> Result<Netrc, Error> {
    let fail = |why: String| unreadable("--proxy-netrc", path, why);
    let file = File::open(path).map_err(|e| fail(file_fault(&e)))?;
    let (text, remedy) = read_text(path, file).map_err(fail)?;
    warnings.extend(remedy.map(|remedy| {
        format!(
            "other users can read the passwords in {}; run {}",
            Escaped(path.as_bytes()),
            remedy
        )
    }));
    Netrc::read(&text).map_err(|e| fail(e.to_string()))
}

pub(super) fn unreadable(option: &str, path: &str, why: String) -> Error {
    let path = Escaped(path.as_bytes());
    Error::usage(format!("{} '{}': {}", option, path, why))
}

/// Returns a file's content and, if other users can read it, the command that prevents it.
pub(super) fn read_text(path: &str, file: File) -> Result<(String, Option<String>), String> {
    let metadata = file.metadata().map_err(|e| file_fault(&e))?;
    let mut text = String::new();
    file.take(MAX_LEN + 1)
        .read_to_string(&mut text)
        .map_err(|e| file_fault(&e))?;
    if text.len() as u64 > MAX_LEN {
        return Err(format!(
            "the file has more than {} bytes; check the path",
            MAX_LEN
        ));
    }
    Ok((text, file_permissions::remedy(path, &metadata)))
}
