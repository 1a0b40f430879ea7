//! TLS to the proxies and to the destinations, as the command line has it.

use std::fs;

use clap::ArgMatches;

use super::{of_no_use, privacy};
use crate::config::{TlsOptions, TlsPeer, TlsSpec};
use crate::error::Error;
use crate::escape::Escaped;

/// What those of a kind are spoken to in; `None` when there are none of them.
pub(super) fn tls(
    matches: &ArgMatches<'_>,
    peer: TlsPeer,
    is_needed: bool,
    warnings: &mut Vec<String>,
) -> Result<Option<TlsSpec>, Error> {
    let ([cacert, cert, key, insecure], why) = match peer {
        TlsPeer::Proxy => (
            ["proxy-cacert", "proxy-cert", "proxy-key", "proxy-insecure"],
            "no proxy is given as https://HOST",
        ),
        TlsPeer::Destination => (
            ["cacert", "cert", "key", "insecure"],
            "no destination is given as tls://HOST:PORT",
        ),
    };
    let given = |name| matches.value_of(name).map(str::to_string);
    let options = TlsOptions {
        peer,
        cacert: given(cacert),
        cert: given(cert),
        key: given(key),
        insecure: matches.is_present(insecure),
    };
    if !is_needed {
        let names = [cacert, cert, key, insecure];
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
