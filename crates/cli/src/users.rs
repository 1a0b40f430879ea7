//! `--users`: the file of users, and whether this system can check their passwords.

use std::fs::File;

use super::options::Options;
use super::password::{read_text, unreadable};
use ptunnel_core::error::Error;
use ptunnel_core::os::sys::Crypt;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{file_fault, Users};

/// Returns the users of the file; `None`, with a warning if it was given, if no listener needs them.
pub(super) fn users(
    options: &Options,
    is_needed: bool,
    warnings: &mut Vec<String>,
) -> Result<Option<Users>, Error> {
    let path = match options.value_of("users") {
        Some(path) => path,
        None => return Ok(None),
    };
    if !is_needed {
        warnings.extend(options.unused(&["users"], "no -D or --serve-proxy is given"));
        return Ok(None);
    }
    let users = read(path, warnings).map_err(|e| options.blame("users", e))?;
    Ok(Some(users))
}

/// Reads the file. Other programs may use it too, so its permissions only cause a warning.
fn read(path: &str, warnings: &mut Vec<String>) -> Result<Users, Error> {
    let fail = |why: String| unreadable("--users", path, why);
    let file = File::open(path).map_err(|e| fail(file_fault(&e)))?;
    let (text, remedy) = read_text(path, file).map_err(fail)?;
    let shown = Escaped(path.as_bytes());
    let users = Users::read(&text)
        .map_err(|(line, e)| Error::usage(format!("--users {}:{}: {}", shown, line, e)))?;
    let crypt = Crypt::load().map_err(fail)?;
    if let Some((name, _)) = users
        .iter()
        .find(|(_, hash)| !crypt.supports(hash.reveal()))
    {
        let why = "this system's libcrypt doesn't support the hash of user";
        let name = Escaped(name.as_bytes());
        let fix = "write the output of 'openssl passwd -6' instead";
        return Err(fail(format!("{} '{}'; {}", why, name, fix)));
    }
    warnings.extend(remedy.map(|remedy| {
        format!(
            "other users can read the password hashes in {}; run {}",
            shown, remedy
        )
    }));
    Ok(users)
}
