//! A [`Config`] from the values of the options.

use log::LevelFilter;

use super::env::Environment;
use super::flags::{DYNAMIC_PASSWORD, SERVE_PASSWORD};
use super::options::{Options, Value};
use super::password::{client_credentials, MissingPassword};
use super::route::{route, Reach};
use super::{timeouts::timeouts, tls, users};
use ptunnel_core::config::{Config, Destination, Route, ServeSpec, StatusSpec, TunnelSpec};
use ptunnel_core::error::Error;
use ptunnel_core::listener::addr::ListenAddr;
use ptunnel_core::listener::validate::{check_each, check_loops, clear_passwords};
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{
    Bind, Cidr, CidrList, Credentials, DestinationUrl, ListenSpec, LogFormat, LogTarget,
    ParseError, Pattern, PortSpec, TlsPeer, TunnelUrl,
};

/// The options with a command that prints a password.
const COMMANDS: &[&str] = &[
    "password-command",
    "dynamic-password-command",
    "serve-password-command",
];

/// Builds the configuration from the options and, where they are silent, the environment.
pub(super) fn configure(
    options: &Options,
    env: &Environment<'_>,
    missing: MissingPassword<'_>,
    warnings: &mut Vec<String>,
) -> Result<Config, Error> {
    let given_tunnels = tunnel_values(options);
    let tunnels: Vec<TunnelUrl> = given_tunnels
        .iter()
        .map(|value| value.text().parse().map_err(|e| options.at(value, e)))
        .collect::<Result<_, Error>>()?;
    let listen = options.one_or_default("listen")?;
    let stdio = stdio(options)?;
    let allow_from = blocks(options, "allow-from")?;
    let balancers = balancers(options)?;
    let dynamic_user = dynamic_user(options, env, missing)?;
    let dynamic = options.all("dynamic")?;
    let redirect = options.all("redirect")?;
    let serve = serve(options, &listen, env, missing)?;
    let is_needed = !dynamic.is_empty() || serve.is_some();
    let users = users::users(options, is_needed, warnings)?;
    let listen_tls = tls::listen_tls(options, is_needed, warnings)?;
    let demo = options.is_present("demo");
    let test = options.is_present("test");
    if !demo {
        let is_without_listener =
            tunnels.is_empty() && dynamic.is_empty() && redirect.is_empty() && serve.is_none();
        let has_destination = !tunnels.is_empty() || stdio.is_some();
        if test {
            check_test(has_destination, is_without_listener)
        } else {
            check_task(stdio.is_some(), is_without_listener)
        }
        .map_err(|e| options.whole(e))?;
    }
    let mut urls = tunnels
        .iter()
        .map(|tunnel| &tunnel.destination)
        .chain(&stdio);
    let is_secure = urls.any(|url| url.tls.is_some());
    let tls = tls::tls(options, TlsPeer::Destination, is_secure, warnings)?;
    let tunnels = tunnels.into_iter().map(|url| TunnelSpec::of(url, &tls));
    let mut config = Config {
        listen,
        serve,
        status: status(options, warnings)?,
        inherited: env.inherited()?,
        allow_from,
        balancers,
        demo,
        test,
        route: Route::default(),
        timeouts: timeouts(options)?,
        max_connections: options.one_with("max-connections", number(1_000_000))?,
        threads: if options.is_present("multithreaded") && !options.is_present("threads") {
            num_cpus::get()
        } else {
            options.one_or_default_with("threads", number(1024))?
        },
        splice: options.one_or_default("splice")?,
        is_confined: !options.is_present("unconfined"),
        runs_commands: COMMANDS.iter().any(|name| options.is_present(name)),
        verbosity: match (
            options.is_present("quiet"),
            options.values("verbose").count(),
        ) {
            (true, _) => LevelFilter::Error,
            (false, 0) => LevelFilter::Warn,
            (false, 1) => LevelFilter::Info,
            (false, 2) => LevelFilter::Debug,
            (false, _) => LevelFilter::Trace,
        },
        log_format: options.one_or_default("log-format")?,
        log_to: options.one_or_default("log-to")?,
        log_time: options.is_present("log-time"),
        tunnels: tunnels.collect::<Result<_, _>>()?,
        dynamic,
        dynamic_user,
        redirect,
        users,
        listen_tls,
        stdio: stdio.map(|url| Destination::of(url, &tls)).transpose()?,
        fdpass: options.is_present("fdpass") && !test,
    };
    // Before the password prompt.
    check_each(&config).map_err(|(index, e)| {
        let others = ["dynamic", "redirect", "serve-proxy", "status"];
        let others = others.iter().flat_map(|name| options.values(name));
        let mut listeners = given_tunnels.iter().copied().chain(others);
        match listeners.nth(index) {
            Some(value) => options.at(value, e),
            None => e,
        }
    })?;
    // A socket from socket activation may have any address family.
    let tunnels = config.tunnels.iter().map(|tunnel| &tunnel.listen);
    let mut specs = tunnels.chain(&config.dynamic);
    let are_paths = specs.all(|spec| matches!(spec, ListenSpec::Path(_)));
    let is_without_port = config.redirect.is_empty() && config.serve.is_none();
    if !demo && are_paths && is_without_port {
        let why = "clients of Unix sockets have no address";
        warnings.extend(options.unused(&["allow-from", "accept-proxy-protocol"], why));
    }
    if config.log_format == LogFormat::Json {
        warnings.extend(options.unused(&["log-time"], "JSON lines have the time"));
    } else if config.log_to != LogTarget::Stderr {
        warnings.extend(options.unused(&["log-time"], "the syslog daemon adds the time"));
    }
    let destinations = config.destinations();
    let reach = Reach {
        destinations: destinations.map(|it| &it.address).collect(),
        is_open: !config.dynamic.is_empty() || !config.redirect.is_empty(),
    };
    config.route = route(options, &reach, env, missing, warnings)?;
    check_loops(&config).map_err(|e| options.whole(e))?;
    warnings.extend(exposure_warning(&config));
    warnings.extend(clear_passwords(&config));
    Ok(config)
}

/// Refuses `--test` without a destination.
fn check_test(has_destination: bool, is_without_listener: bool) -> Result<(), Error> {
    let why = match (has_destination, is_without_listener) {
        (true, _) => return Ok(()),
        (false, true) => "",
        (false, false) => ", and -D, --redirect and --serve-proxy have none",
    };
    Err(Error::usage(format!(
        "--test needs a destination{}; add a tunnel or -W HOST:PORT, \
         e.g. ptunnel -p proxy.example:3128 --test 8993:imap.example.org:993",
        why
    )))
}

/// Refuses a command line without anything to do, and one with `-W` beside a listener.
fn check_task(has_stdio: bool, is_without_listener: bool) -> Result<(), Error> {
    match (has_stdio, is_without_listener) {
        (false, true) => Err(Error::usage(
            "nothing to do; add a tunnel such as 8993:imap.example.org:993, -D PORT, \
             --redirect PORT, -W HOST:PORT, --serve-proxy ADDR or --demo",
        )),
        (true, false) => Err(Error::usage(
            "-W carries stdin and stdout and can't be combined with tunnels, -D, \
             --redirect or --serve-proxy; e.g. ptunnel -p proxy.example:3128 -W example.org:22",
        )),
        _ => Ok(()),
    }
}

/// Returns a warning when tunnels accept clients of every host that can reach this one.
fn exposure_warning(config: &Config) -> Option<String> {
    if config.demo || config.test || !config.allow_from.is_empty() {
        return None;
    }
    let exposed = config
        .tunnels
        .iter()
        .filter_map(|tunnel| ListenAddr::new(&tunnel.listen, &config.listen).exposed_port());
    let listeners: Vec<String> = exposed.collect();
    if listeners.is_empty() {
        return None;
    }
    Some(format!(
        "every host that can reach this machine can use {}; bind to 127.0.0.1, or restrict the \
         clients with --allow-from CIDR",
        listeners.join(", ")
    ))
}

/// Returns the values that are tunnels, in the order in which they were given.
fn tunnel_values(options: &Options) -> Vec<&Value> {
    let stdio: Vec<&Value> = options.values("stdio").collect();
    let mut values: Vec<&Value> = options.values("tunnel").collect();
    values.extend(options.values("forward"));
    values.extend(&stdio[own_words(&stdio)..]);
    values.sort_by_key(|value| value.position);
    values
}

/// `-W HOST:PORT` and `-W HOST PORT`.
fn stdio(options: &Options) -> Result<Option<DestinationUrl>, Error> {
    let mut words: Vec<&Value> = options.values("stdio").collect();
    words.truncate(own_words(&words));
    let destination = match words[..] {
        [] => return Ok(None),
        [both] => both.text().parse(),
        [host, port] => DestinationUrl::of_words(host.text(), port.text()),
        _ => unreachable!("clap counts them"),
    };
    destination.map(Some).map_err(|e| options.blame("stdio", e))
}

/// Returns how many of the words that clap gave to `-W` belong to it: after `HOST:PORT` comes a
/// tunnel.
fn own_words(words: &[&Value]) -> usize {
    match words {
        [first, _] if first.text().parse::<DestinationUrl>().is_ok() => 1,
        _ => words.len(),
    }
}

fn blocks(options: &Options, name: &str) -> Result<Vec<Cidr>, Error> {
    let lists = options.all::<CidrList>(name)?;
    Ok(lists.into_iter().flat_map(|CidrList(list)| list).collect())
}

/// Returns the balancers, which name the clients in PROXY headers.
fn balancers(options: &Options) -> Result<Vec<Cidr>, Error> {
    let name = "accept-proxy-protocol";
    let balancers = blocks(options, name)?;
    match balancers.iter().find(|block| block.is_everything()) {
        Some(block) => {
            let why = format!(
                "--accept-proxy-protocol '{}' lets every client choose its address; name the \
                 balancers, e.g. 10.0.0.5",
                block
            );
            Err(options.blame(name, Error::usage(why)))
        }
        None => Ok(balancers),
    }
}

/// Returns the credentials that clients of `-D` listeners must give.
fn dynamic_user(
    options: &Options,
    env: &Environment<'_>,
    missing: MissingPassword<'_>,
) -> Result<Option<Credentials>, Error> {
    let (name, command) = ("dynamic-user", "dynamic-password-command");
    let user = client_credentials(options, name, command, DYNAMIC_PASSWORD, env, missing)?;
    if user.as_ref().map_or(true, Credentials::fit_in_socks5) {
        Ok(user)
    } else {
        let why = "--dynamic-user: username and password can have at most 255 bytes each (SOCKS5)";
        Err(options.blame("dynamic-user", Error::usage(why)))
    }
}

fn serve(
    options: &Options,
    listen: &Bind,
    env: &Environment<'_>,
    missing: MissingPassword<'_>,
) -> Result<Option<ServeSpec>, Error> {
    let PortSpec { bind, port } = match options.one("serve-proxy")? {
        Some(address) => address,
        None => return Ok(None),
    };
    let (name, command) = ("serve-user", "serve-password-command");
    Ok(Some(ServeSpec {
        bind: bind.unwrap_or_else(|| listen.clone()),
        port,
        credentials: client_credentials(options, name, command, SERVE_PASSWORD, env, missing)?,
        allow: options.all::<Pattern>("serve-allow")?,
    }))
}

/// Returns the address of the status page: loopback by default, as the page shows all sessions.
fn status(options: &Options, warnings: &mut Vec<String>) -> Result<Option<StatusSpec>, Error> {
    let PortSpec { bind, port } = match options.one("status")? {
        Some(address) => address,
        None => return Ok(None),
    };
    let bind = bind.map_or_else(|| options.default_of("status").parse(), Ok)?;
    if !bind.is_loopback() {
        warnings.push(format!(
            "--status {}: every host that can connect there can see the tunnels, the proxies and \
             their use; bind it to 127.0.0.1 to prevent that",
            options.value_of("status").unwrap_or_default()
        ));
    }
    Ok(Some(StatusSpec { bind, port }))
}

/// Returns a parser of numbers from 1 to `most`.
fn number(most: usize) -> impl Fn(&str) -> Result<usize, ParseError> {
    move |text| match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(ParseError::new(format!(
            "invalid number '{}': it must be from 1 to {}",
            Escaped(text.as_bytes()),
            most
        ))),
    }
}
