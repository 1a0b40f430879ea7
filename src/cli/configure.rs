//! A [`Config`] from the values of the options.

use std::str::FromStr;

use clap::ArgMatches;
use log::LevelFilter;

use super::env::Environment;
use super::options::{all, of_no_use, one, values};
use super::password::{Missing, DYNAMIC_USER, SERVE_USER};
use super::route::{route, Reach};
use super::{timeouts::timeouts, tls};
use crate::config::{Bind, Cidr, CidrList, Config, Credentials, DestinationUrl, Host};
use crate::config::{ListenSpec, LogFormat, LogTarget, Pattern, Route, ServeSpec, StatusSpec};
use crate::config::{TlsPeer, TunnelUrl};
use crate::error::Error;
use crate::listener::exposure::{self, ListenerKind, Spot};
use crate::text::escape::Escaped;

pub(super) fn configure(
    matches: &ArgMatches<'_>,
    env: &Environment<'_>,
    missing: Missing<'_>,
    warnings: &mut Vec<String>,
) -> Result<Config, Error> {
    let tunnels = tunnels(matches)?;
    let listen = one(matches, "listen")?.unwrap_or(Bind::Host(Host::Ip([127, 0, 0, 1].into())));
    let stdio = stdio(matches)?;
    let allow_from = allow_from(matches)?;
    let dynamic_user = dynamic_user(matches, env, missing)?;
    let dynamic = all(matches, "dynamic")?;
    let serve = serve(matches, &listen, env, missing)?;
    let demo = matches.is_present("demo");
    let test = matches.is_present("test");
    if !demo {
        let is_without_listener = tunnels.is_empty() && dynamic.is_empty() && serve.is_none();
        let has_destination = !tunnels.is_empty() || stdio.is_some();
        if test {
            check_test(has_destination, is_without_listener)?;
        } else {
            check_purpose(stdio.is_some(), is_without_listener)?;
        }
    }
    let mut urls = tunnels
        .iter()
        .map(|tunnel| &tunnel.destination)
        .chain(&stdio);
    let is_secure = urls.any(|url| url.is_secure);
    let tls = tls::tls(matches, TlsPeer::Destination, is_secure, warnings)?;
    let tunnels = tunnels.into_iter().map(|url| url.with(&tls));
    let mut config = Config {
        listen,
        serve,
        status: status(matches, warnings)?,
        passed: env.passed()?,
        allow_from,
        demo,
        test,
        route: Route::default(),
        timeouts: timeouts(matches)?,
        max_connections: one::<Count>(matches, "max-connections")?.map(|count| count.0),
        threads: match one::<Threads>(matches, "threads")? {
            Some(threads) => threads.0,
            None if matches.is_present("multithreaded") => num_cpus::get(),
            None => 1,
        },
        splice: one(matches, "splice")?.unwrap_or_default(),
        verbosity: match (
            matches.is_present("quiet"),
            matches.occurrences_of("verbose"),
        ) {
            (true, _) => LevelFilter::Error,
            (false, 0) => LevelFilter::Warn,
            (false, 1) => LevelFilter::Info,
            (false, 2) => LevelFilter::Debug,
            (false, _) => LevelFilter::Trace,
        },
        log_format: one(matches, "log-format")?.unwrap_or_default(),
        log_to: one(matches, "log-to")?.unwrap_or_default(),
        log_time: matches.is_present("log-time"),
        tunnels: tunnels.collect::<Result<_, Error>>()?,
        dynamic,
        dynamic_user,
        stdio: stdio.map(|url| url.with(&tls)).transpose()?,
    };
    // Before anybody is asked for a password.
    exposure::check(&config)?;
    // What is passed to us may be anything.
    if !demo && exposure::entrances(&config).all(|(_, spot)| matches!(spot, Spot::Path(_))) {
        let why = "no client has an address";
        warnings.extend(of_no_use(matches, &["allow-from"], why));
    }
    if config.log_format == LogFormat::Json {
        warnings.extend(of_no_use(
            matches,
            &["log-time"],
            "JSON lines have the time",
        ));
    } else if config.log_to != LogTarget::Stderr {
        warnings.extend(of_no_use(
            matches,
            &["log-time"],
            "the syslog daemon adds the time",
        ));
    }
    let destinations = config.destinations();
    let reach = Reach {
        destinations: destinations.map(|it| &it.address).collect(),
        is_open: !config.dynamic.is_empty(),
    };
    config.route = route(matches, &reach, env, missing, warnings)?;
    warnings.extend(exposed_tunnels(&config));
    Ok(config)
}

/// Refuses `--test` without a destination.
fn check_test(has_destination: bool, is_without_listener: bool) -> Result<(), Error> {
    let why = match (has_destination, is_without_listener) {
        (true, _) => return Ok(()),
        (false, true) => "",
        (false, false) => ", and -D and --serve-proxy have none",
    };
    Err(Error::usage(format!(
        "--test needs a destination{}: add a tunnel or -W HOST:PORT; \
         e.g. ptunnel -p proxy.example:3128 --test 8993:imap.example.org:993",
        why
    )))
}

/// Refuses a command line without anything to do, and one with `-W` beside a listener.
fn check_purpose(has_stdio: bool, is_without_listener: bool) -> Result<(), Error> {
    match (has_stdio, is_without_listener) {
        (false, true) => Err(Error::usage(
            "nothing to do: give a tunnel such as 8993:imap.example.org:993, -D PORT, \
             -W HOST:PORT, --serve-proxy ADDR or --demo",
        )),
        (true, false) => Err(Error::usage(
            "-W carries stdin and stdout and can't be combined with tunnels, -D or \
             --serve-proxy; e.g. ptunnel -p proxy.example:3128 -W example.org:22",
        )),
        _ => Ok(()),
    }
}

/// A warning when tunnels serve every host that can reach this one.
fn exposed_tunnels(config: &Config) -> Option<String> {
    if config.demo || config.test || !config.allow_from.is_empty() {
        return None;
    }
    let exposed = exposure::entrances(config).filter_map(|(purpose, spot)| match (purpose, spot) {
        (ListenerKind::Tunnel(_), Spot::Port(bind, port)) => exposure::exposed_port(bind, port),
        _ => None,
    });
    let listeners: Vec<String> = exposed.collect();
    if listeners.is_empty() {
        return None;
    }
    Some(format!(
        "every host that can reach this one can use {}: bind to 127.0.0.1, or restrict clients \
         with --allow-from CIDR",
        listeners.join(", ")
    ))
}

/// In the order in which they were given, whichever form they have.
fn tunnels(matches: &ArgMatches<'_>) -> Result<Vec<TunnelUrl>, Error> {
    let mut given = values(matches, "tunnel")?;
    given.append(&mut values(matches, "forward")?);
    let mut behind_stdio = values(matches, "stdio")?;
    given.extend(behind_stdio.drain(own_words(&behind_stdio)..));
    given.sort_by_key(|(index, _)| *index);
    given.into_iter().map(|(_, text)| text.parse()).collect()
}

/// `-W HOST:PORT` and `-W HOST PORT`.
fn stdio(matches: &ArgMatches<'_>) -> Result<Option<DestinationUrl>, Error> {
    let mut words = values(matches, "stdio")?;
    words.truncate(own_words(&words));
    match words[..] {
        [] => Ok(None),
        [(_, both)] => both.parse().map(Some),
        [(_, host), (_, port)] => DestinationUrl::of_words(host, port).map(Some),
        _ => unreachable!("clap counts them"),
    }
}

/// How many of the words that clap gave to `-W` belong to it: behind `HOST:PORT` comes a tunnel.
fn own_words(words: &[(usize, &str)]) -> usize {
    match words {
        [(_, first), _] if first.parse::<DestinationUrl>().is_ok() => 1,
        _ => words.len(),
    }
}

fn allow_from(matches: &ArgMatches<'_>) -> Result<Vec<Cidr>, Error> {
    let lists = all::<CidrList>(matches, "allow-from")?;
    Ok(lists.into_iter().flat_map(|CidrList(list)| list).collect())
}

/// Whom `-D` serves.
fn dynamic_user(
    matches: &ArgMatches<'_>,
    env: &Environment<'_>,
    missing: Missing<'_>,
) -> Result<Option<Credentials>, Error> {
    let user = DYNAMIC_USER.credentials(matches, env, missing)?;
    if user.as_ref().map_or(true, Credentials::fit_in_socks5) {
        Ok(user)
    } else {
        Err(Error::usage(
            "--dynamic-user: SOCKS5 has room for 255 bytes of a user and of a password",
        ))
    }
}

fn serve(
    matches: &ArgMatches<'_>,
    listen: &Bind,
    env: &Environment<'_>,
    missing: Missing<'_>,
) -> Result<Option<ServeSpec>, Error> {
    let ListenSpec { bind, port } = match one(matches, "serve-proxy")? {
        Some(address) => address,
        None => return Ok(None),
    };
    Ok(Some(ServeSpec {
        bind: bind.unwrap_or_else(|| listen.clone()),
        port,
        credentials: SERVE_USER.credentials(matches, env, missing)?,
        allow: all::<Pattern>(matches, "serve-allow")?,
    }))
}

/// On loopback, unless told otherwise: it shows who is connected where.
fn status(
    matches: &ArgMatches<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<StatusSpec>, Error> {
    let ListenSpec { bind, port } = match one(matches, "status")? {
        Some(address) => address,
        None => return Ok(None),
    };
    let bind = bind.unwrap_or_else(|| Bind::Host(Host::Ip([127, 0, 0, 1].into())));
    if !bind.is_loopback() {
        warnings.push(format!(
            "--status {}: whoever can connect there sees which tunnels and proxies there are, and \
             how they are used",
            matches.value_of("status").unwrap_or_default()
        ));
    }
    Ok(Some(StatusSpec { bind, port }))
}

/// How many clients, at least 1.
struct Count(usize);

impl FromStr for Count {
    type Err = Error;

    fn from_str(text: &str) -> Result<Count, Error> {
        number(text, 1_000_000, 100).map(Count)
    }
}

/// How many threads, at least 1: each has descriptors and memory of its own.
struct Threads(usize);

impl FromStr for Threads {
    type Err = Error;

    fn from_str(text: &str) -> Result<Threads, Error> {
        number(text, 1024, 4).map(Threads)
    }
}

fn number(text: &str, most: usize, right: usize) -> Result<usize, Error> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(Error::usage(format!(
            "invalid number '{}': it is from 1 to {}; e.g. {}",
            Escaped(text.as_bytes()),
            most,
            right
        ))),
    }
}
