//! The way to the destinations: proxies, PAC file, chain, credentials.

use clap::ArgMatches;

use super::argv::secrets;
use super::options::{all, of_no_use, one};
use super::password::{Missing, Named, Passwords};
use super::{env::Environment, tls};
use crate::config::{Family, HostPort, NoProxy, Protocol, ProxySpec, ProxyUrl, Route, TlsPeer};
use crate::error::Error;
use crate::upstream::pac;

/// What the tunnels may lead to.
pub(super) struct Reach<'a> {
    pub(super) destinations: Vec<&'a HostPort>,
    /// Besides, whatever a client names.
    pub(super) is_open: bool,
}

impl Reach<'_> {
    /// Whether some of it isn't reached directly.
    fn is_beyond(&self, no_proxy: &NoProxy) -> bool {
        let mut destinations = self.destinations.iter();
        self.is_open && !no_proxy.covers_everything()
            || destinations.any(|destination| !no_proxy.covers(destination))
    }
}

pub(super) fn route(
    matches: &ArgMatches<'_>,
    reach: &Reach<'_>,
    env: &Environment<'_>,
    missing: Missing<'_>,
    warnings: &mut Vec<String>,
) -> Result<Route, Error> {
    let no_proxy = match one::<NoProxy>(matches, "no-proxy")? {
        Some(list) => list,
        None => {
            let (list, warning) = env.no_proxy()?;
            warnings.extend(warning);
            list
        }
    };
    let direct_fallback = matches.is_present("direct-fallback");
    let is_needed = reach.is_beyond(&no_proxy);
    let mut urls: Vec<(Named, ProxyUrl)> = named(matches, "proxy", Named::First)?;
    let pac = matches.value_of("pac");
    if urls.is_empty() && pac.is_none() && is_needed {
        urls.extend(env.proxy()?.map(|url| (Named::ByEnvironment, url)));
    }
    let via = named(matches, "via", Named::Behind)?;
    if urls.is_empty() && pac.is_none() && is_needed {
        if !direct_fallback || !via.is_empty() {
            return Err(no_proxy_given(env, !via.is_empty()));
        }
        warnings.push("no proxy is given: connecting directly".into());
    }
    let passwords = Passwords::new(matches, env, missing, warnings)?;
    let all_urls = || urls.iter().chain(&via).map(|(_, url)| url);
    // A file may name any.
    let may_be_secure = pac.is_some() && cfg!(feature = "tls");
    let is_secure = may_be_secure || all_urls().any(|url| url.is_secure);
    let tls = tls::tls(matches, TlsPeer::Proxy, is_secure, warnings)?;
    let is_http = |url: &ProxyUrl| url.protocol == Protocol::Http;
    if all_urls().next().is_some() && !all_urls().any(is_http) && pac.is_none() {
        let why = "no proxy is given that speaks HTTP";
        warnings.extend(of_no_use(matches, &["header", "proxy-auth"], why));
    }
    let complete = |urls: Vec<(Named, ProxyUrl)>| {
        urls.into_iter()
            .map(|(named, url)| passwords.complete(named, url, &tls))
            .collect::<Result<Vec<ProxySpec>, Error>>()
    };
    let (proxies, via) = (complete(urls)?, complete(via)?);
    // Those behind them have passwords of their own.
    let has_user = |proxy: &ProxySpec| proxy.credentials.is_some();
    let has_password = |proxy: &ProxySpec| proxy.protocol.has_password();
    if !proxies.is_empty() && !proxies.iter().any(has_password) {
        let why = "SOCKS4 has no password, it is told the user alone";
        warnings.extend(of_no_use(matches, &["password", "password-file"], why));
        let in_login = secrets(matches, "user").next();
        warnings.extend(in_login.map(|_| format!("the password in --user is of no use: {}", why)));
    } else if !matches.is_present("user") && !proxies.iter().any(has_user) {
        let why = "no proxy has a user: give -U USER";
        warnings.extend(of_no_use(matches, &["password", "password-file"], why));
    }
    if proxies.len() < 2 && pac.is_none() {
        warnings.extend(of_no_use(
            matches,
            &["failover-on"],
            "there is no other proxy",
        ));
    }
    let pac = match pac {
        Some(path) => Some(pac::read(path, passwords.proxy_defaults(path, &tls)?)?),
        None => None,
    };
    Ok(Route {
        proxies,
        pac,
        via,
        no_proxy,
        direct_fallback,
        failover_on: one(matches, "failover-on")?.unwrap_or_default(),
        schemes: one(matches, "proxy-auth")?.unwrap_or_default(),
        headers: all(matches, "header")?,
        family: match (matches.is_present("ipv4"), matches.is_present("ipv6")) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::ANY,
        },
    })
}

/// The proxies that an option names.
fn named(
    matches: &ArgMatches<'_>,
    option: &str,
    named: Named,
) -> Result<Vec<(Named, ProxyUrl)>, Error> {
    let urls = all(matches, option)?.into_iter();
    Ok(urls.map(|url| (named, url)).collect())
}

fn no_proxy_given(env: &Environment<'_>, is_needed_by_via: bool) -> Error {
    let hint = if env.has_http_proxy() {
        " (http_proxy is not used for tunnels)"
    } else {
        ""
    };
    let otherwise = if is_needed_by_via {
        "--via is for those behind it"
    } else {
        "--direct-fallback does without"
    };
    Error::usage(format!(
        "no proxy: give -p proxy.example:3128 or set https_proxy{}; {}",
        hint, otherwise
    ))
}
