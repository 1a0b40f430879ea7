//! TLS to the proxies and to the destinations, as the command line has it.

use std::fs;

use clap::ArgMatches;

use super::file_mode;
use super::options::of_no_use;
use crate::config::{TlsOptions, TlsPeer, TlsSpec};
use crate::error::Error;
use crate::text::escape::Escaped;

const IGNORE_EOF: &str = "ignore-unexpected-eof";

/// What those of a kind are spoken to in; `None` when there are none of them.
pub(super) fn tls(
    matches: &ArgMatches<'_>,
    peer: TlsPeer,
    is_needed: bool,
    warnings: &mut Vec<String>,
) -> Result<Option<TlsSpec>, Error> {
    let (names, why): (&[&str], _) = match peer {
        TlsPeer::Proxy => (
            &["proxy-cacert", "proxy-cert", "proxy-key", "proxy-insecure"],
            "no proxy is given as https://HOST",
        ),
        TlsPeer::Destination => (
            &["cacert", "cert", "key", "insecure", IGNORE_EOF],
            "no destination is given as tls://HOST:PORT",
        ),
    };
    let given = |index: usize| matches.value_of(names[index]).map(str::to_string);
    let options = TlsOptions {
        peer,
        cacert: given(0),
        cert: given(1),
        key: given(2),
        insecure: matches.is_present(names[3]),
        ignore_unexpected_eof: peer == TlsPeer::Destination && matches.is_present(IGNORE_EOF),
    };
    if !is_needed {
        warnings.extend(of_no_use(matches, names, why));
        return Ok(None);
    }
    let spec = options.load()?;
    warnings.extend(options.key.or(options.cert).and_then(|path| exposed(&path)));
    Ok(Some(spec))
}

/// A key that others than its owner may read.
fn exposed(path: &str) -> Option<String> {
    let remedy = file_mode::remedy(path, &fs::metadata(path).ok()?)?;
    Some(format!(
        "others can read the key in '{}'; {} keeps it from them",
        Escaped(path.as_bytes()),
        remedy
    ))
}
