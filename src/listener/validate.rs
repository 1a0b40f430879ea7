//! The ways in that a configuration asks for, and who may use them.
//!
//! All of them are judged, at each reload those too that are open already: one option changes what
//! others mean. What the configuration itself shows is told together with it; a socket that is
//! passed to us is judged when it is there, before anything is bound.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::config::{Bind, Config, Destination, InheritedFd, ListenSpec, ServeSpec};
use crate::error::Error;
use crate::listener::socket_activation::{self, Address};
use crate::text::escape::Escaped;

/// What a way in is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConfiguredKind<'a> {
    /// A tunnel to this destination.
    Tunnel(&'a Destination),
    /// `-D`: clients that name their destination.
    Dynamic,
    /// The embedded proxy.
    Proxy(&'a ServeSpec),
}

/// Where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot<'a> {
    /// A port of our own.
    Port(&'a Bind, u16),
    /// A Unix socket.
    Path(&'a Path),
    /// What was passed to us under this name or number.
    Passed(&'a str),
}

/// Every one, in the order of the configuration.
pub(crate) fn entrances(config: &Config) -> impl Iterator<Item = (ConfiguredKind<'_>, Spot<'_>)> {
    let spot = move |entrance| Spot::of(entrance, &config.listen);
    let tunnels = config.tunnels.iter();
    let tunnels = tunnels.map(move |spec| {
        (
            ConfiguredKind::Tunnel(&spec.destination),
            spot(&spec.listen),
        )
    });
    let dynamic = config.dynamic.iter();
    let dynamic = dynamic.map(move |entrance| (ConfiguredKind::Dynamic, spot(entrance)));
    let proxy = config.serve.iter();
    let proxy = proxy.map(|spec| {
        (
            ConfiguredKind::Proxy(spec),
            Spot::Port(&spec.bind, spec.port),
        )
    });
    tunnels.chain(dynamic).chain(proxy)
}

/// Judges what the configuration itself shows.
///
/// # Errors
///
/// Why it may not be followed.
pub(crate) fn check(config: &Config) -> Result<(), Error> {
    check_each(config).map_err(|(_, e)| e)
}

/// Does the same; the error comes with the index of what caused it: tunnels, then `-D` listeners,
/// the embedded proxy and the status page.
pub(crate) fn check_each(config: &Config) -> Result<(), (usize, Error)> {
    for (index, (purpose, spot)) in entrances(config).enumerate() {
        if let Spot::Port(bind, port) = spot {
            permit(purpose, exposed_port(bind, port), config).map_err(|e| (index, e))?;
        }
    }
    let mut before: Vec<(String, Spot<'_>)> = Vec::new();
    for (index, (purpose, spot)) in places(config).enumerate() {
        if let Some((other, there)) = before.iter().find(|(_, there)| there.meets(&spot)) {
            return Err((index, twice((other, *there), (&purpose, spot))));
        }
        before.push((purpose, spot));
    }
    Ok(())
}

/// Everything that listens, and what for.
fn places(config: &Config) -> impl Iterator<Item = (String, Spot<'_>)> {
    let entrances = entrances(config).map(|(purpose, spot)| (purpose.to_string(), spot));
    let status = config.status.iter();
    let status = status.map(|spec| ("--status".into(), Spot::Port(&spec.bind, spec.port)));
    entrances.chain(status)
}

/// Nobody else is there, as a bind that fails would tell.
fn twice(one: (&str, Spot<'_>), other: (&str, Spot<'_>)) -> Error {
    let ((one, there), (other, here)) = (one, other);
    let (there, here) = (there.to_string(), here.to_string());
    Error::usage(if there == here {
        format!("{} is given twice: for {} and for {}", here, one, other)
    } else {
        format!(
            "{} for {} and {} for {} can't be had together: the one includes the other",
            there, one, here, other
        )
    })
}

/// Whether a way in may be opened, or stay open, when others than this machine can connect to it
/// at this address: nobody shall be a proxy for everybody by mistake.
///
/// # Errors
///
/// What it would be, and what is to be said for it not to be.
pub(crate) fn permit(
    purpose: ConfiguredKind<'_>,
    exposed_at: Option<String>,
    config: &Config,
) -> Result<(), Error> {
    let (option, is_restricted, remedies) = match purpose {
        ConfiguredKind::Tunnel(_) => return Ok(()),
        ConfiguredKind::Dynamic => (
            "-D",
            config.dynamic_user.is_some(),
            "--dynamic-user USER:PASSWORD",
        ),
        ConfiguredKind::Proxy(spec) => (
            "--serve-proxy",
            spec.credentials.is_some() || !spec.allow.is_empty(),
            "--serve-user USER:PASSWORD, --serve-allow HOST",
        ),
    };
    match exposed_at {
        Some(address) if !is_restricted && config.allow_from.is_empty() => {
            Err(Error::usage(format!(
                "{} {} would be a proxy for everybody: bind it to 127.0.0.1, or give {} or \
                 --allow-from CIDR",
                option, address, remedies
            )))
        }
        _ => Ok(()),
    }
}

/// Where others than this machine can connect to a port, if they can.
pub(crate) fn exposed_port(bind: &Bind, port: u16) -> Option<String> {
    let exposed = Some(Spot::Port(bind, port)).filter(|_| !bind.is_loopback());
    exposed.map(|spot| spot.to_string())
}

/// The same for a socket that was passed to us.
///
/// # Errors
///
/// When it is no socket.
pub(crate) fn exposed_socket(socket: &InheritedFd) -> Result<Option<String>, Error> {
    let (_, address) = socket_activation::open(socket).map_err(|e| Error::listen(socket, e))?;
    let exposed = Some(address).filter(Address::is_beyond_loopback);
    Ok(exposed.map(|address| address.to_string()))
}

impl<'a> Spot<'a> {
    /// Where a port has no address, it has that of `--listen`.
    pub(crate) fn of(entrance: &'a ListenSpec, listen: &'a Bind) -> Spot<'a> {
        match entrance {
            ListenSpec::Port(spec) => Spot::Port(spec.bind.as_ref().unwrap_or(listen), spec.port),
            ListenSpec::Path(path) => Spot::Path(path),
            ListenSpec::Inherited(name) => Spot::Passed(name),
        }
    }
}

impl Spot<'_> {
    /// Whether the two can't be had together, as far as their names tell.
    fn meets(&self, other: &Spot<'_>) -> bool {
        match (self, other) {
            (Spot::Port(one, port), Spot::Port(other, same)) => {
                // Each 0 is another port.
                port == same && *port != 0 && one.meets(other)
            }
            (Spot::Path(one), Spot::Path(other)) => one == other,
            (Spot::Passed(one), Spot::Passed(other)) => one == other,
            _ => false,
        }
    }
}

impl fmt::Display for ConfiguredKind<'_> {
    /// As it would be given, or where it leads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfiguredKind::Tunnel(destination) => destination.fmt(f),
            ConfiguredKind::Dynamic => f.write_str("-D"),
            ConfiguredKind::Proxy(_) => f.write_str("--serve-proxy"),
        }
    }
}

impl fmt::Display for Spot<'_> {
    /// As it would be given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spot::Port(Bind::Any, port) => write!(f, "*:{}", port),
            Spot::Port(Bind::Host(host), port) => write!(f, "{}:{}", host, port),
            Spot::Path(path) => Escaped(path.as_os_str().as_bytes()).fmt(f),
            Spot::Passed(name) => write!(f, "fd:{}", Escaped(name.as_bytes())),
        }
    }
}
