//! Validated values: a value that exists can be used as it is.
//!
//! Holds a type for each thing that can be configured, with the parser of its text, and [`Config`],
//! the sum of them. A [`HostPort`] has a host that can stand in a request line, a [`Header`] has no
//! control characters, a port is 0 only where the kernel may choose one. A parser returns a
//! [`ParseError`] with the wrong text and an example.
//! It must not hold I/O, except for the files of [`TlsOptions`], or the names of options and what
//! they require of each other, which are in `cli`. Every other folder but `os`, `text` and `timer`
//! uses it.

mod auth_schemes;
mod bind;
mod cidr;
mod credentials;
mod destination;
mod destination_pattern;
mod failover;
mod header;
mod host;
mod inherited_socket;
mod log;
mod netrc;
mod pac_file;
mod parse_error;
mod proxy;
mod proxy_defaults;
mod proxy_url;
mod tls;
mod tunnel;

use std::str::FromStr;
use std::time::Duration;

use ::log::LevelFilter;

pub use self::auth_schemes::{Scheme, Schemes};
pub use self::bind::{Bind, PortSpec};
pub use self::cidr::{Cidr, CidrList};
pub use self::credentials::{Credentials, Login, Secret};
pub use self::destination::{Destination, DestinationUrl};
pub use self::destination_pattern::{NoProxy, Pattern};
pub use self::failover::FailoverOn;
pub use self::header::Header;
pub(crate) use self::host::unmap_ipv4;
pub use self::host::{Host, HostPort};
pub use self::inherited_socket::InheritedFd;
pub use self::log::{LogFormat, LogTarget};
pub use self::netrc::Netrc;
pub use self::pac_file::PacFile;
use self::parse_error::wrong;
pub use self::parse_error::ParseError;
pub use self::proxy::{DnsMode, Protocol, ProxySpec};
pub use self::proxy_defaults::ProxyDefaults;
pub use self::proxy_url::ProxyUrl;
pub use self::tls::{TlsOptions, TlsPeer, TlsSpec};
pub use self::tunnel::{ListenSpec, TunnelSpec, TunnelUrl};

/// Which addresses of a proxy (or of a destination reached directly) are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Those of this version of IP.
    pub version: Version,
    /// Neither this machine itself nor its link: no loopback, no unspecified address, no address of
    /// an interface, no link-local one.
    pub exclude_local: bool,
}

/// A version of IP, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Both, in turns and in the resolver's order, raced as in RFC 8305.
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

impl Family {
    /// All of both versions.
    pub const ANY: Family = Family::of(Version::Any);
    /// IPv4 only.
    pub const V4: Family = Family::of(Version::V4);
    /// IPv6 only.
    pub const V6: Family = Family::of(Version::V6);

    const fn of(version: Version) -> Family {
        Family {
            version,
            exclude_local: false,
        }
    }

    /// Those of them that are elsewhere.
    pub fn elsewhere(self) -> Family {
        Family {
            exclude_local: true,
            ..self
        }
    }
}

/// Whether bulk is carried by splice(2), without a copy through our memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splice {
    /// A direction that stays full is spliced for as long as it does.
    Auto,
    /// Everything is copied.
    Never,
    /// From the first byte to the last, as far as pipes are to be had.
    Always,
}

impl Default for Splice {
    fn default() -> Splice {
        Splice::Auto
    }
}

impl Splice {
    /// What each is called.
    pub const NAMES: &'static [&'static str] = &["auto", "never", "always"];
}

impl FromStr for Splice {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Splice, ParseError> {
        match text {
            "auto" => Ok(Splice::Auto),
            "never" => Ok(Splice::Never),
            "always" => Ok(Splice::Always),
            _ => Err(wrong(
                "splice mode",
                text,
                "it is auto, never or always",
                "auto",
            )),
        }
    }
}

/// How long each phase of a tunnel may take; `None` is for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Resolving and connecting, for each proxy of the list.
    pub connect: Duration,
    /// From the connection to the end of the proxy's reply, for each proxy of a chain; and TLS's
    /// handshake with the destination.
    pub handshake: Duration,
    /// A tunnel in which nothing moves.
    pub idle: Option<Duration>,
    /// A half-closed tunnel in which nothing moves.
    pub linger: Option<Duration>,
    /// How long the upstream may be silent before the client's end is passed on; zero passes it on
    /// at once, `None` waits for the upstream's end.
    pub half_close_delay: Option<Duration>,
    /// What live tunnels get to end in, once a signal came; zero is at once.
    pub drain: Duration,
    /// When the kernel asks a peer that sends nothing whether it is still there.
    pub tcp_keepalive: Option<Keepalive>,
}

/// TCP keepalive: a peer that went away without a word would hold its tunnel for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// How long a peer may send nothing before it is asked. Whole seconds, at least one.
    pub time: Duration,
}

impl Keepalive {
    /// How long until it is asked again, if it doesn't answer: the time, but at most Linux's default.
    pub fn interval(self) -> Duration {
        self.time.min(Duration::from_secs(75))
    }
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: Duration::from_secs(10),
            handshake: Duration::from_secs(30),
            idle: None,
            linger: Some(Duration::from_secs(60)),
            half_close_delay: Some(Duration::default()),
            drain: Duration::from_secs(30),
            tcp_keepalive: Some(Keepalive {
                time: Duration::from_secs(300),
            }),
        }
    }
}

/// The embedded CONNECT proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeSpec {
    /// Where it listens.
    pub bind: Bind,
    /// Its port; 0 picks a free one.
    pub port: u16,
    /// What a client must present, if anything.
    pub credentials: Option<Credentials>,
    /// The destinations it allows; empty allows all.
    pub allow: Vec<Pattern>,
}

/// The status page and its counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSpec {
    /// Where it listens.
    pub bind: Bind,
    /// Its port; 0 picks a free one.
    pub port: u16,
}

/// How a new tunnel reaches its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Tried in order for each new tunnel.
    pub proxies: Vec<ProxySpec>,
    /// Says which they are, in their place.
    pub pac: Option<PacFile>,
    /// Those behind whichever of them is used, each reached through the one before it.
    pub via: Vec<ProxySpec>,
    /// Destinations that are reached without a proxy.
    pub no_proxy: NoProxy,
    /// Connect directly when no proxy can be reached (never when one refused).
    pub direct_fallback: bool,
    /// The refusals after which the next proxy is tried.
    pub failover_on: FailoverOn,
    /// How a proxy may be told who we are.
    pub schemes: Schemes,
    /// Added to each CONNECT request.
    pub headers: Vec<Header>,
    /// The addresses that are tried.
    pub family: Family,
}

impl Default for Route {
    /// Directly, over both families.
    fn default() -> Route {
        Route {
            proxies: Vec::new(),
            pac: None,
            via: Vec::new(),
            no_proxy: NoProxy::default(),
            direct_fallback: false,
            failover_on: FailoverOn::default(),
            schemes: Schemes::default(),
            headers: Vec::new(),
            family: Family::ANY,
        }
    }
}

impl Route {
    /// Whether this destination is reached without a proxy: there is none, or NO_PROXY says so.
    pub fn is_direct(&self, destination: &HostPort) -> bool {
        self.proxies.is_empty() && self.pac.is_none() || self.no_proxy.covers(destination)
    }

    /// Whether a tunnel to this destination goes the same way by both.
    pub(crate) fn is_same_to(&self, destination: &HostPort, other: &Route) -> bool {
        if self.is_direct(destination) && other.is_direct(destination) {
            return self.family == other.family;
        }
        let alike = Route {
            no_proxy: other.no_proxy.clone(),
            ..self.clone()
        };
        self.is_direct(destination) == other.is_direct(destination) && alike == *other
    }

    /// Every proxy that is known to have a part in it.
    pub fn all_proxies(&self) -> impl Iterator<Item = &ProxySpec> {
        self.proxies.iter().chain(&self.via)
    }
}

/// The whole configuration of the program, validated.
#[derive(Clone, Debug)]
pub struct Config {
    /// The tunnels, in the order they were given.
    pub tunnels: Vec<TunnelSpec>,
    /// Where clients may name their destination themselves, as in the tunnels.
    pub dynamic: Vec<ListenSpec>,
    /// Who these clients must be, if not anybody.
    pub dynamic_user: Option<Credentials>,
    /// Where tunnels without a bind address listen.
    pub listen: Bind,
    /// Stdin and stdout are the client of a tunnel to this destination.
    pub stdio: Option<Destination>,
    /// The embedded proxy.
    pub serve: Option<ServeSpec>,
    /// Where to show how it goes.
    pub status: Option<StatusSpec>,
    /// The sockets that whoever started us has bound.
    pub inherited: Vec<InheritedFd>,
    /// Whose connections are taken; empty takes everybody's.
    pub allow_from: Vec<Cidr>,
    /// Show the whole chain on loopback and exit.
    pub demo: bool,
    /// Walk to each destination once, tell of it and exit.
    pub test: bool,
    /// How tunnels reach their destinations.
    pub route: Route,
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// Clients at once, over all tunnels and threads.
    pub max_connections: Option<usize>,
    /// Reactors, each on its own thread; at least 1.
    pub threads: usize,
    /// Whether bulk is spliced.
    pub splice: Splice,
    /// What is logged.
    pub verbosity: LevelFilter,
    /// What log lines look like.
    pub log_format: LogFormat,
    /// Where they go.
    pub log_to: LogTarget,
    /// Whether text on stderr begins with the time of day.
    pub log_time: bool,
}

impl Config {
    /// Where its tunnels lead, in their order, and stdin and stdout.
    pub fn destinations(&self) -> impl Iterator<Item = &Destination> {
        let tunnels = self.tunnels.iter().map(|spec| &spec.destination);
        tunnels.chain(&self.stdio)
    }

    /// Whether there is a password or a key in it.
    pub fn has_credentials(&self) -> bool {
        let proxies = self.route.all_proxies().map(|proxy| &proxy.credentials);
        let serve = self.serve.iter().map(|spec| &spec.credentials);
        let mut all = proxies.chain(serve).chain(Some(&self.dynamic_user));
        let destinations = self.destinations().flat_map(|destination| &destination.tls);
        let proxies = self.route.all_proxies().flat_map(|proxy| &proxy.tls);
        let mut keys = proxies.chain(destinations);
        let pac = self.route.pac.as_ref().map(|pac| &pac.proxy_defaults);
        all.any(Option::is_some)
            || keys.any(TlsSpec::has_key)
            || pac.map_or(false, ProxyDefaults::has_credentials)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "[a-z0-9:@/%.*\\[\\] ,#?\u{e9}-]{0,24}") {
            let _ = text.parse::<TunnelUrl>();
            let _ = text.parse::<DestinationUrl>();
            let _ = text.parse::<ProxyUrl>();
            let _ = text.parse::<NoProxy>();
            let _ = text.parse::<CidrList>();
            let _ = text.parse::<PortSpec>();
            let _ = text.parse::<ListenSpec>();
            let _ = text.parse::<Header>();
            let _ = text.parse::<Login>();
        }

        #[test]
        fn a_destination_reads_what_it_displays(text in "[a-z0-9.:\\[\\]-]{1,12}:[0-9]{1,6}") {
            if let Ok(destination) = text.parse::<HostPort>() {
                let again = destination.to_string().parse::<HostPort>();
                prop_assert_eq!(again.unwrap(), destination);
            }
        }
    }
}
