//! The command line: the only place that knows clap. From words to a [`Config`].

mod argv;
pub mod env;
mod file;
mod file_mode;
mod flag_table;
mod flags;
mod generate;
mod password;
mod program;
mod reload;
mod summary;
mod tls;

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use clap::{App, ArgMatches, ErrorKind};
use log::LevelFilter;

/// For fuzz/ alone.
#[doc(hidden)]
pub use self::file::words_of_text;
pub use self::program::program;

use self::argv::Secretive;
use self::file::ConfigFile;
use self::password::{Missing, Named, Passwords, DYNAMIC_USER, SERVE_USER};
use self::summary::Summary;
use crate::cli::env::Environment;
use crate::config::{Bind, Cidr, CidrList, Config, Credentials, DestinationUrl, Family};
use crate::config::{
    Host, HostPort, Keepalive, ListenSpec, LogFormat, LogTarget, NoProxy, Pattern,
};
use crate::config::{Protocol, ProxySpec, ProxyUrl};
use crate::config::{Route, Secret, ServeSpec, StatusSpec, Timeouts, TlsPeer, TunnelUrl};
use crate::error::Error;
use crate::listener::exposure::{self, ListenerKind, Spot};
use crate::text::escape::Escaped;
use crate::upstream::pac::Pac;

/// No limit in time is longer: a year, in seconds.
const LONGEST: f64 = 31_536_000.0;

/// Behind a complaint about the command line as a whole.
const RIGHT: &str = "e.g. ptunnel -p proxy.example:3128 8993:imap.example.org:993; see --help";

/// What names something to do, or a way to it: the demo brings its own.
const NOT_WITH_DEMO: &[&str] = &[
    "forward",
    "stdio",
    "dynamic",
    "serve-proxy",
    "proxy",
    "pac",
    "via",
];

/// What a command line asks for.
#[derive(Debug)]
pub enum Command {
    /// To do something, after these warnings.
    Run(Box<Config>, Vec<String>),
    /// To print this: the help, the version, what was generated, or what would be done.
    Print(String),
}

/// Asks a person for a password; the text says whose.
pub type Prompt<'a> = &'a dyn Fn(&str) -> io::Result<Secret>;

/// Reads the words of a command line, the first of which is the program's name.
///
/// # Errors
///
/// A usage error that shows the offending text and a right example.
pub fn parse<I>(words: I, env: &Environment<'_>, prompt: Prompt<'_>) -> Result<Command, Error>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    read(words)?.command(env, prompt)
}

/// A command line of which only the syntax was looked at.
enum Words {
    Given(Given),
    Print(String),
}

struct Given {
    /// As they were typed, the program's name first.
    words: Vec<String>,
    /// What clap makes of them, as far as a file doesn't complete them.
    typed: ArgMatches<'static>,
}

impl Words {
    /// What they ask for, with all that is to be looked up and asked for.
    fn command(&self, env: &Environment<'_>, prompt: Prompt<'_>) -> Result<Command, Error> {
        let given = match self {
            Words::Given(given) => given,
            Words::Print(text) => return Ok(Command::Print(text.clone())),
        };
        let is_checked = given.typed.is_present("check-config");
        let notes = RefCell::default();
        let missing = if is_checked {
            Missing::Noted(&notes)
        } else {
            Missing::Asked(prompt)
        };
        let mut warnings = exposures(&given.typed);
        let (config, more) = given.config(env, missing)?;
        warnings.extend(more);
        warnings.extend(notes.into_inner());
        if is_checked {
            let warnings = warnings.iter().map(|text| format!("warning: {}\n", text));
            let text = warnings.collect::<String>() + &Summary(&config).to_string();
            return Ok(Command::Print(text.trim_end().to_string()));
        }
        Ok(Command::Run(Box::new(config), warnings))
    }

    /// The passwords that stand in it as they are written there.
    fn secrets(&self) -> Vec<Secretive<'_>> {
        match self {
            Words::Given(given) => argv::OPTIONS
                .iter()
                .flat_map(|option| secrets(&given.typed, option))
                .collect(),
            Words::Print(_) => Vec::new(),
        }
    }
}

impl Given {
    /// What they ask for together with their file, and what is to be warned of in it.
    fn config(
        &self,
        env: &Environment<'_>,
        missing: Missing<'_>,
    ) -> Result<(Config, Vec<String>), Error> {
        let Given { words, typed } = self;
        let path = match typed.value_of("config") {
            Some(path) => path,
            None => return complete(words, &[], env, missing),
        };
        let mut file = ConfigFile::read(path)?;
        file.yield_to(typed);
        let mut warnings: Vec<String> = file.warning().into_iter().collect();
        let (config, more) = file.apply(
            words.get(1..).unwrap_or_default(),
            |written| complete(words, written, env, missing),
            |words| judge(words, env),
        )?;
        warnings.extend(more);
        Ok((config, warnings))
    }
}

fn read<I>(words: I) -> Result<Words, Error>
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    if let Some(place) = words.iter().position(|word| word.to_str().is_none()) {
        // Not shown: it may be the password.
        return Err(Error::usage(format!(
            "argument {} isn't UTF-8; e.g. 8993:imap.example.org:993",
            place
        )));
    }
    let words: Vec<String> = words.into_iter().flat_map(OsString::into_string).collect();
    refuse_values_of_switches(&words)?;
    match flags::incomplete_app().get_matches_from_safe(&words) {
        Ok(typed) => match typed.value_of("generate").and_then(generate::generate) {
            Some(text) => Ok(Words::Print(text)),
            None => Ok(Words::Given(Given { words, typed })),
        },
        Err(e) => match e.kind {
            // The version clap has printed already, all but the end of the line.
            ErrorKind::HelpDisplayed | ErrorKind::VersionDisplayed => Ok(Words::Print(e.message)),
            _ => Err(complaint(&e)),
        },
    }
}

/// clap 2 leaves such a value out in silence, and takes `--insecure=no` for `--insecure`.
fn refuse_values_of_switches(words: &[String]) -> Result<(), Error> {
    let switches: Vec<_> = flag_table::options()
        .into_iter()
        .filter(|option| option.value.is_none())
        .flat_map(|switch| switch.long)
        .collect();
    for word in words.iter().take_while(|word| *word != "--") {
        let end = word.find('=').filter(|_| word.starts_with("--"));
        let name = end.map(|end| &word["--".len()..end]);
        if name.map_or(false, |name| switches.contains(&name)) {
            return Err(Error::usage(format!(
                "{}: a switch takes no value; {}",
                Escaped(word.as_bytes()),
                RIGHT
            )));
        }
    }
    Ok(())
}

/// The typed words with those of a file in front, and what is to be warned of.
fn complete(
    typed: &[String],
    written: &[&str],
    env: &Environment<'_>,
    missing: Missing<'_>,
) -> Result<(Config, Vec<String>), Error> {
    let typed = typed.iter().map(String::as_str);
    // Behind the program's name.
    let words: Vec<&str> = typed
        .clone()
        .take(1)
        .chain(written.iter().copied())
        .chain(typed.skip(1))
        .collect();
    let mut warnings = Vec::new();
    let matches = matches(flags::app(), &words)?;
    refuse_beside_demo(&matches)?;
    let config = configure(&matches, env, missing, &mut warnings)?;
    Ok((config, warnings))
}

fn refuse_beside_demo(matches: &ArgMatches<'_>) -> Result<(), Error> {
    if !matches.is_present("demo") {
        return Ok(());
    }
    let mut options = NOT_WITH_DEMO.iter();
    let beside = if let Some(tunnel) = matches.value_of("tunnel") {
        format!("the tunnel '{}'", Escaped(tunnel.as_bytes()))
    } else if let Some(option) = options.find(|option| matches.is_present(option)) {
        format!("--{}", option)
    } else {
        return Ok(());
    };
    Err(Error::usage(format!(
        "--demo brings its own tunnel and proxy and can't be combined with {}; e.g. ptunnel --demo",
        beside
    )))
}

/// Some words by themselves, beside the demo, which goes with all others and wants none.
fn judge(words: &[&str], env: &Environment<'_>) -> Result<(), Error> {
    let words = [&["ptunnel", "--demo"][..], words].concat();
    let matches = matches(flags::incomplete_app(), &words)?;
    let nobody = Missing::Asked(&|_| Err(io::ErrorKind::NotFound.into()));
    configure(&matches, env, nobody, &mut Vec::new()).map(drop)
}

fn matches(app: App<'static, 'static>, words: &[&str]) -> Result<ArgMatches<'static>, Error> {
    app.get_matches_from_safe(words).map_err(|e| complaint(&e))
}

/// The passwords in the values of an option.
fn secrets<'a>(
    typed: &'a ArgMatches<'_>,
    option: &'a str,
) -> impl Iterator<Item = Secretive<'a>> + 'a {
    let values = typed.values_of(option).into_iter().flatten();
    values.filter_map(move |value| Secretive::of(option, value))
}

/// Other users of the machine see its command lines.
fn exposures(typed: &ArgMatches<'_>) -> Vec<String> {
    let options = argv::OPTIONS.iter();
    options
        .filter(|option| secrets(typed, option).next().is_some())
        .map(|option| {
            let instead = match *option {
                "dynamic-user" => DYNAMIC_USER.variable,
                "serve-user" => SERVE_USER.variable,
                "via" => "--proxy-netrc or --config",
                _ => "--password-file or PTUNNEL_PASSWORD",
            };
            format!(
                "the password in --{} can be seen in the list of processes while the program \
                 starts; use {}",
                option, instead
            )
        })
        .collect()
}

/// What clap found wrong, in one line.
fn complaint(e: &clap::Error) -> Error {
    // All but the usage that it prints.
    let lines = e
        .message
        .lines()
        .take_while(|line| !line.starts_with("USAGE"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let text = words.join(" ");
    let behind = |phrase: &str| text.find(phrase).map(|start| &text[start + phrase.len()..]);
    let info = e.info.as_deref().unwrap_or_default();
    let text = match (e.kind, info) {
        (ErrorKind::UnknownArgument, [option]) => match behind("Did you mean ") {
            Some(similar) => format!("unknown option '{}': did you mean {}", option, similar),
            None => format!("unknown option '{}'; {}", option, RIGHT),
        },
        (ErrorKind::EmptyValue, [option]) => format!("--{} needs a value; {}", option, RIGHT),
        (ErrorKind::InvalidValue, [option, value]) => {
            let options = flag_table::options();
            let choices = options.iter().find(|known| known.name == option);
            let choices = choices.map_or(String::new(), |known| known.choices.join(", "));
            format!("--{}: '{}' isn't one of {}", option, value, choices)
        }
        (ErrorKind::MissingRequiredArgument, _) => {
            let missing = behind("were not provided: ").unwrap_or(&text);
            format!("missing beside what is given: {}; {}", missing, RIGHT)
        }
        _ => format!("{}; {}", text.trim_start_matches("error: "), RIGHT),
    };
    Error::usage(Escaped(text.as_bytes()).to_string())
}

fn configure(
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
    let is_without_listener = tunnels.is_empty() && dynamic.is_empty() && serve.is_none();
    match (&stdio, is_without_listener) {
        _ if demo => {}
        _ if test && tunnels.is_empty() && stdio.is_none() => {
            let why = if is_without_listener {
                ""
            } else {
                ", and -D and --serve-proxy have none"
            };
            return Err(Error::usage(format!(
                "--test needs a destination{}: add a tunnel or -W HOST:PORT; \
                 e.g. ptunnel -p proxy.example:3128 --test 8993:imap.example.org:993",
                why
            )));
        }
        _ if test => {}
        (None, true) => {
            return Err(Error::usage(
                "nothing to do: give a tunnel such as 8993:imap.example.org:993, -D PORT, \
                 -W HOST:PORT, --serve-proxy ADDR or --demo",
            ))
        }
        (Some(_), false) => {
            return Err(Error::usage(
                "-W carries stdin and stdout and can't be combined with tunnels, -D or \
                 --serve-proxy; e.g. ptunnel -p proxy.example:3128 -W example.org:22",
            ))
        }
        _ => {}
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

/// The value of an option, if it was given.
fn one<T: FromStr<Err = Error>>(matches: &ArgMatches<'_>, name: &str) -> Result<Option<T>, Error> {
    let value = matches.value_of(name);
    value.map(|text| value_of(name, text)).transpose()
}

/// The values of an option that may be repeated.
fn all<T: FromStr<Err = Error>>(matches: &ArgMatches<'_>, name: &str) -> Result<Vec<T>, Error> {
    let values = values(matches, name)?.into_iter();
    values.map(|(_, text)| value_of(name, text)).collect()
}

fn value_of<T: FromStr<Err = Error>>(name: &str, text: &str) -> Result<T, Error> {
    let value = text.parse();
    value.map_err(|e| Error::usage(format!("--{}: {}", name, e)))
}

/// The same as text, each with its place on the command line.
fn values<'a>(matches: &'a ArgMatches<'_>, name: &str) -> Result<Vec<(usize, &'a str)>, Error> {
    let indices = matches.indices_of(name).into_iter().flatten();
    let values: Vec<(usize, &str)> = indices
        .zip(matches.values_of(name).into_iter().flatten())
        .collect();
    // clap passes over a last one without a value, if others have theirs.
    if matches.occurrences_of(name) > values.len() as u64 {
        return Err(Error::usage(format!(
            "--{} at the end has no value; {}",
            name, RIGHT
        )));
    }
    Ok(values)
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

/// What the tunnels may lead to.
struct Reach<'a> {
    destinations: Vec<&'a HostPort>,
    /// Besides, whatever a client names.
    is_open: bool,
}

impl Reach<'_> {
    /// Whether some of it isn't reached directly.
    fn is_beyond(&self, no_proxy: &NoProxy) -> bool {
        let mut destinations = self.destinations.iter();
        self.is_open && !no_proxy.covers_everything()
            || destinations.any(|destination| !no_proxy.covers(destination))
    }
}

fn route(
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
        Some(path) => Some(Pac::read(path, passwords.outfit(path, &tls)?)?),
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

/// A warning for each of these options that was given for nothing.
fn of_no_use(matches: &ArgMatches<'_>, names: &[&str], why: &str) -> Vec<String> {
    let given = names.iter().filter(|name| matches.is_present(name));
    given
        .map(|name| format!("--{} is of no use: {}", name, why))
        .collect()
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

/// What stdin's end waits for a reply, unless it is given: longer than most proxies and servers
/// take to send the next byte of one.
const STDIO_HALF_CLOSE_DELAY: Duration = Duration::from_secs(5);

fn timeouts(matches: &ArgMatches<'_>) -> Result<Timeouts, Error> {
    let usual = Timeouts::default();
    let limit = |name| one::<Span>(matches, name).map(|span| span.map(|span| span.0));
    let some = |name, usual: Duration| match limit(name)? {
        Some(limit) if limit == Duration::from_secs(0) => Err(Error::usage(format!(
            "--{} 0 would fail every connection; e.g. 10",
            name
        ))),
        given => Ok(given.unwrap_or(usual)),
    };
    // 0 is for ever.
    let maybe = |name, usual: Option<Duration>| {
        let given = limit(name)?;
        Ok(given.map_or(usual, |limit| {
            Some(limit).filter(|limit| *limit > Duration::from_secs(0))
        }))
    };
    Ok(Timeouts {
        connect: some("connect-timeout", usual.connect)?,
        handshake: some("handshake-timeout", usual.handshake)?,
        idle: maybe("idle-timeout", usual.idle)?,
        linger: maybe("linger-timeout", usual.linger)?,
        half_close_delay: match one::<Delay>(matches, "half-close-delay")? {
            Some(delay) => delay.0,
            None if matches.is_present("stdio") => Some(STDIO_HALF_CLOSE_DELAY),
            None => usual.half_close_delay,
        },
        drain: limit("drain-timeout")?.unwrap_or(usual.drain),
        tcp_keepalive: match one::<KeepaliveSeconds>(matches, "tcp-keepalive")? {
            Some(keepalive) => keepalive.0,
            None => usual.tcp_keepalive,
        },
    })
}

/// Seconds, fractions allowed, not finer than a millisecond.
struct Span(Duration);

impl FromStr for Span {
    type Err = Error;

    fn from_str(text: &str) -> Result<Span, Error> {
        match text.parse::<f64>() {
            Ok(seconds) if (0.0..=LONGEST).contains(&seconds) => {
                let span = Duration::from_secs_f64(seconds);
                // 0 has a meaning of its own, so that nothing may be rounded to it.
                let least = Duration::from_millis((seconds > 0.0) as u64);
                Ok(Span(span.max(least)))
            }
            _ => Err(Error::usage(format!(
                "invalid time '{}': it is a number of seconds up to {}; e.g. 2.5",
                Escaped(text.as_bytes()),
                LONGEST
            ))),
        }
    }
}

/// Seconds, or `never`, which is `None`.
struct Delay(Option<Duration>);

impl FromStr for Delay {
    type Err = Error;

    fn from_str(text: &str) -> Result<Delay, Error> {
        if text == "never" {
            return Ok(Delay(None));
        }
        match text.parse() {
            Ok(Span(span)) => Ok(Delay(Some(span))),
            Err(_) => Err(Error::usage(format!(
                "invalid time '{}': it is a number of seconds up to {}, or never; e.g. 2.5",
                Escaped(text.as_bytes()),
                LONGEST
            ))),
        }
    }
}

/// Whole seconds, as the kernel takes them; 0 is `None`.
struct KeepaliveSeconds(Option<Keepalive>);

impl FromStr for KeepaliveSeconds {
    type Err = Error;

    fn from_str(text: &str) -> Result<KeepaliveSeconds, Error> {
        /// Linux's MAX_TCP_KEEPIDLE.
        const MOST: u64 = 32_767;
        match text.parse() {
            Ok(0) => Ok(KeepaliveSeconds(None)),
            Ok(seconds) if seconds <= MOST => Ok(KeepaliveSeconds(Some(Keepalive {
                time: Duration::from_secs(seconds),
            }))),
            _ => Err(Error::usage(format!(
                "invalid time '{}': it is a whole number of seconds up to {}, or 0 for no \
                 keepalive; e.g. 60",
                Escaped(text.as_bytes()),
                MOST
            ))),
        }
    }
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

#[cfg(test)]
mod tests;
