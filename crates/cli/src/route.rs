//! The paths to the destinations: proxies, PAC file, chain, credentials.

use std::iter;

use super::argv_scrub::SecretArgument;
use super::options::{Options, Position, Value};
use super::password::{MissingPassword, PASSWORD_OPTIONS};
use super::proxy_logins::{ProxyLogins, ProxySource};
use super::{env::Environment, timeouts::pac_interval, tls};
use ptunnel_core::config::{Family, PacFetch, ProxySpec, Route, TlsSpec, Version};
use ptunnel_core::error::Error;
use ptunnel_core::upstream::pac;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{
    HostPort, NoProxy, PacUrl, Protocol, ProxyUrl, SendProxyProtocol, TlsPeer,
};

/// The destinations that the listeners lead to.
pub(super) struct Reach<'a> {
    pub(super) destinations: Vec<&'a HostPort>,
    /// Whether clients can name further destinations.
    pub(super) is_open: bool,
}

impl Reach<'_> {
    /// Returns whether a destination isn't reached directly.
    fn is_beyond(&self, no_proxy: &NoProxy) -> bool {
        let mut destinations = self.destinations.iter();
        self.is_open && !no_proxy.covers_everything()
            || destinations.any(|destination| !no_proxy.covers(destination))
    }
}

/// Builds the route to the destinations from the options and the environment.
pub(super) fn route(
    options: &Options,
    reach: &Reach<'_>,
    env: &Environment<'_>,
    missing: MissingPassword<'_>,
    warnings: &mut Vec<String>,
) -> Result<Route, Error> {
    let no_proxy = match options.one::<NoProxy>("no-proxy")? {
        Some(list) => list,
        None => {
            let (list, warning) = env.no_proxy()?;
            warnings.extend(warning);
            list
        }
    };
    let direct_fallback = options.is_present("direct-fallback");
    let is_needed = reach.is_beyond(&no_proxy);
    let mut urls: Vec<(ProxySource, ProxyUrl)> = named(options, "proxy", ProxySource::Option)?;
    let pac = options.value_of("pac");
    if urls.is_empty() && pac.is_none() && is_needed {
        urls.extend(env.proxy()?.map(|url| (ProxySource::Environment, url)));
    }
    let via = named(options, "via", ProxySource::Via)?;
    if urls.is_empty() && pac.is_none() && is_needed {
        if !direct_fallback || !via.is_empty() {
            let e = no_proxy_given(env, !via.is_empty());
            let names = ["tunnel", "forward", "stdio", "dynamic", "redirect"];
            let asking = names.iter().filter_map(|name| options.first(name));
            // Typed ones first: for them, the file isn't at fault.
            let asking =
                asking.min_by_key(|it| (matches!(it.position, Position::Line(_)), it.position));
            return Err(match asking {
                Some(value) => options.at(value, e),
                None => options.whole(e),
            });
        }
        warnings.push("no proxy is given; connecting directly".into());
    }
    if urls.is_empty() && pac.is_none() {
        warnings.extend(options.unused(&["send-proxy-protocol-to-proxy"], "no proxy is given"));
    }
    let mut logins = ProxyLogins::new(options, env, missing, warnings)?;
    let all_urls = || urls.iter().chain(&via).map(|(_, url)| url);
    // A PAC file may name https:// proxies.
    let may_be_secure = pac.is_some() && cfg!(feature = "tls");
    let is_secure = may_be_secure || all_urls().any(|url| url.is_secure);
    let tls = tls::tls(options, TlsPeer::Proxy, is_secure, warnings)?;
    let is_http = |url: &ProxyUrl| url.protocol == Protocol::Http;
    if all_urls().next().is_some() && !all_urls().any(is_http) && pac.is_none() {
        let why = "no HTTP proxy is given";
        warnings.extend(options.unused(&["header", "proxy-auth"], why));
    }
    let proxies = complete(options, &mut logins, "proxy", urls, &tls)?;
    let via = complete(options, &mut logins, "via", via, &tls)?;
    warn_of_unused_logins(options, &logins, &proxies, warnings);
    if proxies.len() < 2 && pac.is_none() {
        warnings.extend(options.unused(&["failover-on"], "there is no other proxy"));
    }
    let family = match (options.is_present("ipv4"), options.is_present("ipv6")) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::ANY,
    };
    let pac = match pac {
        Some(text) => {
            let fetch = pac_fetch(options, text, family.version, warnings)?;
            let name = fetch.as_ref().map(|fetch| fetch.url.to_string());
            let name = name.unwrap_or_else(|| Escaped(text.as_bytes()).to_string());
            let defaults = logins.proxy_defaults(&name, &tls);
            let defaults = defaults.map_err(|e| options.blame("user", e))?;
            let file = match fetch {
                Some(fetch) => pac::at(fetch, defaults),
                None => pac::read(text, defaults),
            };
            let file = file.and_then(|file| {
                if options.is_present("check-config") {
                    pac::check(&file)?;
                }
                Ok(file)
            });
            Some(file.map_err(|e| options.blame("pac", e))?)
        }
        None => None,
    };
    Ok(Route {
        proxies,
        pac,
        via,
        no_proxy,
        direct_fallback,
        failover_on: options.one("failover-on")?.unwrap_or_default(),
        schemes: options.one("proxy-auth")?.unwrap_or_default(),
        headers: options.all("header")?,
        send_proxy_protocol: send_proxy_protocol(options)?,
        family,
    })
}

/// Warns of a username and a password that none of `proxies` gets. Those of `--via` have separate logins.
fn warn_of_unused_logins(
    options: &Options,
    logins: &ProxyLogins<'_>,
    proxies: &[ProxySpec],
    warnings: &mut Vec<String>,
) {
    let has_user = |proxy: &ProxySpec| proxy.credentials.is_some();
    let has_password = |proxy: &ProxySpec| proxy.protocol.has_password();
    if !proxies.is_empty() && !proxies.iter().any(has_password) {
        let why = "SOCKS4 has no password, only a username";
        warnings.extend(options.unused(PASSWORD_OPTIONS, why));
        let in_login = options.values("user").find_map(SecretArgument::of);
        warnings.extend(in_login.map(|_| format!("the password in --user has no effect: {}", why)));
    } else if !options.is_present("user") && !proxies.iter().any(has_user) {
        let why = "no proxy has a username; add -U USER";
        warnings.extend(options.unused(PASSWORD_OPTIONS, why));
    } else if !proxies.is_empty() && !logins.is_shared_password_used() {
        let why = "each username has its own password";
        warnings.extend(options.unused(PASSWORD_OPTIONS, why));
    }
    if !proxies.is_empty() && !logins.is_user_used() {
        let why = "the URL of each proxy has a username";
        warnings.extend(options.unused(&["user"], why));
    }
}

/// Returns the proxies of an option, or of the environment, with their credentials. Ambiguous ones are
/// refused before the first prompt.
fn complete(
    options: &Options,
    logins: &mut ProxyLogins<'_>,
    option: &str,
    urls: Vec<(ProxySource, ProxyUrl)>,
    tls: &Option<TlsSpec>,
) -> Result<Vec<ProxySpec>, Error> {
    let blame = |value: Option<&Value>, e| match value {
        Some(value) => options.at(value, e),
        None => e,
    };
    let values = options.values(option).map(Some).chain(iter::repeat(None));
    let mut named = Vec::new();
    for ((source, url), value) in urls.into_iter().zip(values) {
        let place = value.map(|value| options.place(value)).unwrap_or_default();
        let login = logins.login(source, &url, &place);
        let login = login.map_err(|e| blame(value, e))?;
        named.push((source, url, login, value));
    }
    let complete = |(source, url, login, value): (ProxySource, ProxyUrl, _, Option<&Value>)| {
        // An error is about the user, wherever the user is from.
        let user = options.first("user");
        let user = user.filter(|_| source != ProxySource::Via && url.login.is_none());
        let spec = logins.complete(source, url, login, tls);
        spec.map_err(|e| blame(user.or(value), e))
    };
    named.into_iter().map(complete).collect()
}

/// Returns how the PAC file is fetched; `None` if it is local.
fn pac_fetch(
    options: &Options,
    text: &str,
    version: Version,
    warnings: &mut Vec<String>,
) -> Result<Option<PacFetch>, Error> {
    let interval = pac_interval(options)?;
    if !PacUrl::is_one(text) {
        let why = "--pac isn't a URL; with --config, SIGHUP reads the file again";
        warnings.extend(options.unused(&["pac-interval"], why));
        return Ok(None);
    }
    let url: PacUrl = match options.one("pac")? {
        Some(url) => url,
        None => return Ok(None),
    };
    let tls = if url.is_secure {
        tls::tls(options, TlsPeer::PacServer, true, warnings)?
    } else {
        None
    };
    Ok(Some(PacFetch {
        url,
        tls,
        version,
        interval,
    }))
}

/// Returns the peers that get PROXY headers.
fn send_proxy_protocol(options: &Options) -> Result<SendProxyProtocol, Error> {
    Ok(SendProxyProtocol {
        to_destination: options.one("send-proxy-protocol")?,
        destinations: options.all("proxy-protocol-to")?,
        to_proxy: options.one("send-proxy-protocol-to-proxy")?,
    })
}

/// Returns the proxies that an option names.
fn named(
    options: &Options,
    option: &str,
    named: ProxySource,
) -> Result<Vec<(ProxySource, ProxyUrl)>, Error> {
    let urls = options.all(option)?.into_iter();
    Ok(urls.map(|url| (named, url)).collect())
}

fn no_proxy_given(env: &Environment<'_>, is_needed_by_via: bool) -> Error {
    let hint = if env.has_http_proxy() {
        " (http_proxy is not used for tunnels)"
    } else {
        ""
    };
    let otherwise = if is_needed_by_via {
        "--via adds only further proxies"
    } else {
        "or connect directly with --direct-fallback"
    };
    Error::usage(format!(
        "no proxy is given; add -p proxy.example:3128 or set https_proxy{}; {}",
        hint, otherwise
    ))
}
