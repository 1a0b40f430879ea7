//! What passwords are read from: files, commands, prompts. The credentials that clients must give.
//! Those for proxies are in [`proxy_logins`](super::proxy_logins).

use std::fs::File;
use std::io::{self, Read};

use super::env::Environment;
use super::file_permissions;
use super::options::Options;
use ptunnel_core::error::Error;
use ptunnel_core::os::command_output::first_line;
use ptunnel_core::os::sys;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{
    file_fault, Credentials, Login, Netrc, PasswordCommand, Secret, ShellWords,
};

/// Prompts for a password on the terminal; the text says whose.
pub type Prompt<'a> = &'a dyn Fn(&str) -> io::Result<Secret>;

/// The options with the password for proxies, of which only one can be given.
pub(super) const PASSWORD_OPTIONS: &[&str] = &["password", "password-file", "password-command"];

/// Limit for a password file and a netrc file, in bytes.
const MAX_LEN: u64 = 64 * 1024;

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

/// Refuses a password in the login of the option `name` beside the option `other`, which also gives one.
pub(super) fn refuse_second_password(
    options: &Options,
    name: &str,
    other: &str,
) -> Result<(), Error> {
    let login = options.one::<Login>(name)?;
    let user = match login.filter(|login| login.given_password().is_some()) {
        Some(login) => login.user,
        None => return Ok(()),
    };
    match options.first(name).zip(options.first(other)) {
        Some((login, other)) => {
            let why = format!(
                "two passwords for '{}': in {} and in {}; remove one of them",
                Escaped(user.as_bytes()),
                options.place(login),
                options.place(other)
            );
            Err(options.at(other, Error::usage(why)))
        }
        None => Ok(()),
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
    let login: Login = match options.one(name)? {
        Some(login) => login,
        None => return Ok(None),
    };
    refuse_second_password(options, name, command)?;
    let password = match login.given_password() {
        None => printed(options, command, missing)?,
        given => given,
    };
    let user = login.user;
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
        Some(ShellWords(words)) => PasswordCommand::new(words, first_line),
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
pub(super) fn read_file(path: &str, file: File) -> Result<Secret, Error> {
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
pub(super) fn read_netrc(path: &str, warnings: &mut Vec<String>) -> Result<Netrc, Error> {
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
