//! TLS to the proxies, as the command line has it.

use std::fs;

use clap::ArgMatches;

use super::{of_no_use, privacy};
use crate::config::{TlsOptions, TlsSpec};
use crate::error::Error;
use crate::escape::Escaped;

/// What proxies with `https://` are spoken to in; `None` when there are none of them.
pub(super) fn tls(
    matches: &ArgMatches<'_>,
    is_needed: bool,
    warnings: &mut Vec<String>,
) -> Result<Option<TlsSpec>, Error> {
    let given = |name| matches.value_of(name).map(str::to_string);
    let options = TlsOptions {
        cacert: given("proxy-cacert"),
        cert: given("proxy-cert"),
        key: given("proxy-key"),
        insecure: matches.is_present("proxy-insecure"),
    };
    if !is_needed {
        let names = ["proxy-cacert", "proxy-cert", "proxy-key", "proxy-insecure"];
        let why = "no proxy is given as https://HOST";
        warnings.extend(of_no_use(matches, &names, why));
        return Ok(None);
    }
    let spec = options.load()?;
    warnings.extend(options.key.or(options.cert).and_then(|path| exposed(&path)));
    Ok(Some(spec))
}

/// A key that others than its owner may read.
fn exposed(path: &str) -> Option<String> {
    let remedy = privacy::remedy(path, &fs::metadata(path).ok()?)?;
    Some(format!(
        "others can read the key in '{}'; {} keeps it from them",
        Escaped(path.as_bytes()),
        remedy
    ))
}
