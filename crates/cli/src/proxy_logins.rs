//! The username and the password of each proxy.
//!
//! ```text
//!   username: URL of --proxy, or whole login in a URL ──▶ --user ──▶ URL in the environment
//!             ──▶ --proxy-netrc
//!   password: beside that username ──▶ option or PTUNNEL_PASSWORD ──▶ --proxy-netrc ──▶ prompt
//! ```
//!
//! So a password beside a username is never sent with another one, and a password that is given alone
//! is sent with one username only. What could be meant in two ways is an error. docs/guide.md has the
//! table of all combinations.

use std::fs::File;

use super::env::Environment;
use super::flags::PROXY_PASSWORD;
use super::options::Options;
use super::password::{
    read_file, read_netrc, refuse_second_password, unreadable, MissingPassword, PASSWORD_OPTIONS,
};
use ptunnel_core::config::{ProxyDefaults, ProxySpec, TlsSpec};
use ptunnel_core::error::Error;
use ptunnel_core::os::command_output::first_line;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{
    file_fault, Credentials, Login, Netrc, PasswordCommand, ProxyUrl, Secret, ShellWords,
};

/// Where a proxy is named, which decides whether its URL or `--user` names the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProxySource {
    /// `--proxy`: the user in its URL overrides `--user`.
    Option,
    /// The environment: `--user` overrides a user without a password in the URL.
    Environment,
    /// `--via`: `--user` and its password aren't sent to it, as it may belong to another party.
    Via,
}

/// A password that is given without a username.
#[derive(Clone)]
enum SharedPassword {
    Fixed(Secret),
    Printed(PasswordCommand),
}

impl SharedPassword {
    fn of(self, user: String) -> Result<Credentials, Error> {
        Ok(match self {
            SharedPassword::Fixed(password) => Credentials::new(user, password)?,
            SharedPassword::Printed(command) => Credentials::by_command(user, command)?,
        })
    }
}

/// The usernames and passwords for proxies, and the proxies that get those that are given alone.
pub(super) struct ProxyLogins<'a> {
    /// `--user`, and where it is given.
    user: Option<(Login, String)>,
    /// The shared password, and where it is given.
    shared: Option<(SharedPassword, String)>,
    /// The user and the first proxy that get the shared password.
    taker: Option<(String, String)>,
    is_user_used: bool,
    /// `--proxy-netrc`: fills in what none of the others says.
    netrc: Netrc,
    missing: MissingPassword<'a>,
}

impl<'a> ProxyLogins<'a> {
    /// Reads the sources; commands run later, and prompts appear when a login is completed.
    ///
    /// # Errors
    ///
    /// Two passwords for `--user`; a file that can't be read.
    pub(super) fn new(
        options: &Options,
        env: &Environment<'_>,
        missing: MissingPassword<'a>,
        warnings: &mut Vec<String>,
    ) -> Result<ProxyLogins<'a>, Error> {
        PASSWORD_OPTIONS
            .iter()
            .try_for_each(|option| refuse_second_password(options, "user", option))?;
        let shared = match PASSWORD_OPTIONS.iter().find_map(|name| options.first(name)) {
            Some(value) => {
                let password = match value.flag.name {
                    "password" => SharedPassword::Fixed(Secret::new(value.text())),
                    "password-file" => {
                        let password = open_and_read(value.text(), missing);
                        SharedPassword::Fixed(password.map_err(|e| options.at(value, e))?)
                    }
                    _ => match options.one("password-command")? {
                        Some(ShellWords(words)) => {
                            SharedPassword::Printed(PasswordCommand::new(words, first_line))
                        }
                        None => unreachable!("it is the one that was found"),
                    },
                };
                Some((password, options.place(value)))
            }
            None => {
                let password = env.password(PROXY_PASSWORD)?.map(SharedPassword::Fixed);
                password.map(|password| (password, PROXY_PASSWORD.to_string()))
            }
        };
        let netrc = match options.value_of("proxy-netrc") {
            Some(path) => {
                read_netrc(path, warnings).map_err(|e| options.blame("proxy-netrc", e))?
            }
            None => Netrc::default(),
        };
        let user = options.one("user")?.zip(options.first("user"));
        Ok(ProxyLogins {
            user: user.map(|(login, value)| (login, options.place(value))),
            shared,
            taker: None,
            is_user_used: false,
            netrc,
            missing,
        })
    }

    /// Returns whether a proxy gets `--user`.
    pub(super) fn is_user_used(&self) -> bool {
        self.is_user_used
    }

    /// Returns whether a proxy gets the shared password.
    pub(super) fn is_shared_password_used(&self) -> bool {
        self.taker.is_some()
    }

    /// Returns the login of a proxy that is named in `place`, if it has a user; without a password if
    /// that is still to be found.
    ///
    /// # Errors
    ///
    /// Two usernames for the proxy, or a shared password for two of them.
    pub(super) fn login(
        &mut self,
        source: ProxySource,
        url: &ProxyUrl,
        place: &str,
    ) -> Result<Option<Login>, Error> {
        let has_password = url.protocol.has_password();
        let own = self.user.as_ref().filter(|_| source != ProxySource::Via);
        let login = match (url.login.clone(), own) {
            (named, None) => named,
            (Some(named), Some((own, _))) if named.user == own.user => {
                self.is_user_used = true;
                Some(Login {
                    password: named.given_password().or_else(|| own.password.clone()),
                    ..named
                })
            }
            (Some(named), _) if named.given_password().is_some() => Some(named),
            (Some(named), Some((own, user_place))) if source == ProxySource::Option => {
                if has_password {
                    let (named, own) = (Escaped(named.user.as_bytes()), &own.user);
                    return Err(Error::usage(format!(
                        "two usernames for {}: '{}' in {} and '{}' in {}; remove one of them, or \
                         write the password after '{}' in the URL",
                        url.address,
                        named,
                        place,
                        Escaped(own.as_bytes()),
                        user_place,
                        named
                    )));
                }
                Some(named)
            }
            (_, Some((own, _))) => {
                self.is_user_used = true;
                Some(own.clone())
            }
        };
        let login = login.or_else(|| self.netrc.find(&url.address.host, None));
        if let Some(login) = login.as_ref().filter(|it| it.given_password().is_none()) {
            if has_password && source != ProxySource::Via {
                self.share_with(&login.user, url)?;
            }
        }
        Ok(login)
    }

    /// Notes that this user of a proxy gets the shared password, if there is one.
    fn share_with(&mut self, user: &str, url: &ProxyUrl) -> Result<(), Error> {
        let place = match &self.shared {
            Some((_, place)) => place,
            None => return Ok(()),
        };
        let (first, first_proxy) = match &self.taker {
            Some(taker) => taker,
            None => {
                self.taker = Some((user.to_string(), url.address.to_string()));
                return Ok(());
            }
        };
        if first == user {
            return Ok(());
        }
        Err(Error::usage(format!(
            "one password in {}, but two usernames: '{}' of {} and '{}' of {}; write the passwords \
             into the URLs, or into a --proxy-netrc file",
            place,
            Escaped(first.as_bytes()),
            first_proxy,
            Escaped(user.as_bytes()),
            url.address
        )))
    }

    /// Returns the proxy with the credentials of its [`login`](ProxyLogins::login), and with `tls`, if
    /// its URL asks for it.
    pub(super) fn complete(
        &self,
        source: ProxySource,
        url: ProxyUrl,
        login: Option<Login>,
        tls: &Option<TlsSpec>,
    ) -> Result<ProxySpec, Error> {
        let credentials = match login {
            Some(login) if !url.protocol.has_password() => {
                Some(Credentials::new(login.user, Secret::new(""))?)
            }
            Some(login) => Some(self.credentials(source, &url, login)?),
            None => None,
        };
        let tls = tls.clone().filter(|_| url.is_secure);
        Ok(ProxySpec::of(url, credentials, tls)?)
    }

    fn credentials(
        &self,
        source: ProxySource,
        url: &ProxyUrl,
        login: Login,
    ) -> Result<Credentials, Error> {
        let shared = self.shared.as_ref().filter(|_| source != ProxySource::Via);
        let given = login.given_password();
        let Login { user, password } = login;
        if let (None, Some((shared, _))) = (&given, shared) {
            return shared.clone().of(user);
        }
        let found = || self.netrc.find(&url.address.host, Some(&user));
        let password = given
            .or_else(|| found().and_then(|entry| entry.password))
            .or(password);
        let password = match password {
            Some(password) => password,
            None => {
                let shown = Escaped(user.as_bytes());
                let whose = format!("Password for {} at {}: ", shown, url.address);
                (self.missing)(Some(&whose), self.no_password(&user, source))?
            }
        };
        Ok(Credentials::new(user, password)?)
    }

    /// Returns the settings of the proxies that the PAC file `name`, which is escaped, names: ptunnel
    /// can't prompt for them later.
    pub(super) fn proxy_defaults(
        &self,
        name: &str,
        tls: &Option<TlsSpec>,
    ) -> Result<ProxyDefaults, Error> {
        let mut proxy_defaults = ProxyDefaults {
            tls: tls.clone(),
            netrc: self.netrc.clone(),
            ..ProxyDefaults::default()
        };
        if let Some((login, _)) = &self.user {
            let user = login.user.clone();
            proxy_defaults.user = Some(user.clone());
            proxy_defaults.credentials = match (login.given_password(), self.shared.clone()) {
                (Some(password), _) => Some(Credentials::new(user, password)?),
                (None, Some((shared, _))) => Some(shared.of(user)?),
                // The netrc file may have one for each proxy.
                (None, None) if self.netrc != Netrc::default() => None,
                (None, None) => {
                    let shown = Escaped(user.as_bytes());
                    let whose = format!("Password for {} at the proxies of {}: ", shown, name);
                    let no_terminal = self.no_password(&user, ProxySource::Option);
                    let password = match login.password.clone() {
                        Some(empty) => empty,
                        None => (self.missing)(Some(&whose), no_terminal)?,
                    };
                    Some(Credentials::new(user, password)?)
                }
            };
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
}

fn open_and_read(path: &str, missing: MissingPassword<'_>) -> Result<Secret, Error> {
    match File::open(path) {
        Ok(file) => read_file(path, file),
        Err(e) => missing(None, unreadable("--password-file", path, file_fault(&e))),
    }
}
