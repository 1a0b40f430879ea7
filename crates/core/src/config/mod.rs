//! The configuration: the validated values of all options, with what was loaded from files.
//!
//! [`Config`] contains all of them. The texts of single options are parsed by
//! [`values`](ptunnel_proto::values). It must not hold I/O, except for the files of `tls`, or
//! requirements between options, which are in `ptunnel-cli`.

mod destination;
mod family;
mod pac_file;
mod proxy;
mod proxy_defaults;
mod tls;
mod tunnel;

use std::time::Duration;

use log::LevelFilter;
use ptunnel_proto::values::{
    Bind, Cidr, Credentials, FailoverOn, Header, HostPort, InheritedFd, ListenSpec, LogFormat,
    LogTarget, NoProxy, Pattern, PortSpec, Schemes, SendProxyProtocol, Splice, Users,
};

pub use self::destination::Destination;
pub use self::family::{Family, Version};
pub use self::pac_file::{PacFetch, PacFile, PacSource};
pub use self::proxy::ProxySpec;
pub use self::proxy_defaults::ProxyDefaults;
pub use self::tls::TlsSpec;
pub use self::tunnel::TunnelSpec;

/// The time limits of a tunnel's phases; `None` is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To resolve a proxy's name and connect, for each proxy of the list.
    pub connect: Duration,
    /// From the connection to the end of the proxy's reply, for each proxy of a chain; also for the
    /// TLS handshake with the destination.
    pub handshake: Duration,
    /// Without data in an open tunnel.
    pub idle: Option<Duration>,
    /// Without data in a half-closed tunnel.
    pub linger: Option<Duration>,
    /// The silence of the upstream after which the client's FIN is passed on; zero passes it on at
    /// once, `None` waits for the upstream's FIN.
    pub half_close_delay: Option<Duration>,
    /// For open tunnels to finish after SIGTERM or SIGINT; zero closes them at once.
    pub drain: Duration,
    /// TCP keepalive; `None` switches it off.
    pub tcp_keepalive: Option<Keepalive>,
}

/// TCP keepalive, which ends the tunnels of peers that disappear without a FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// The silence before the first probe, in whole seconds, at least one.
    pub time: Duration,
}

impl Keepalive {
    /// The default time.
    pub const DEFAULT: Keepalive = Keepalive {
        time: Duration::from_secs(300),
    };

    /// Returns the time between probes: `time`, but at most 75 s, Linux's default.
    pub fn interval(self) -> Duration {
        self.time.min(Duration::from_secs(75))
    }
}

impl Timeouts {
    /// The default times.
    pub const DEFAULT: Timeouts = Timeouts {
        connect: Duration::from_secs(10),
        handshake: Duration::from_secs(30),
        idle: None,
        linger: Some(Duration::from_secs(60)),
        half_close_delay: Some(Duration::from_secs(0)),
        drain: Duration::from_secs(30),
        tcp_keepalive: Some(Keepalive::DEFAULT),
    };

    /// Returns the period of the timer that ends them: a sixteenth of the shortest, from 5 to 250 ms. A
    /// time ends up to two periods late.
    pub fn tick(&self) -> Duration {
        let zero = Duration::default();
        let (connect, handshake) = (Some(self.connect), Some(self.handshake));
        let all = [
            connect,
            handshake,
            self.idle,
            self.linger,
            self.half_close_delay,
        ];
        let shortest = all.iter().flatten().filter(|limit| **limit > zero).min();
        let sixteenth = shortest.map_or(zero, |limit| *limit / 16);
        sixteenth
            .max(Duration::from_millis(5))
            .min(Duration::from_millis(250))
    }
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts::DEFAULT
    }
}

/// The embedded CONNECT proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeSpec {
    /// Where it listens.
    pub bind: Bind,
    /// Its port; 0 picks a free one.
    pub port: u16,
    /// The credentials that clients must present, if any.
    pub credentials: Option<Credentials>,
    /// The allowed destinations; empty allows all.
    pub allow: Vec<Pattern>,
}

/// The listener of the status page and the metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSpec {
    /// Where it listens.
    pub bind: Bind,
    /// Its port; 0 picks a free one.
    pub port: u16,
}

/// The proxies between ptunnel and the destinations, and their settings; by default none, over both
/// IP versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Alternatives, tried in order for each new tunnel.
    pub proxies: Vec<ProxySpec>,
    /// The PAC file that selects the proxies; `proxies` is empty then.
    pub pac: Option<PacFile>,
    /// Further proxies of the chain, each reached through the one before it.
    pub via: Vec<ProxySpec>,
    /// Destinations that are reached without a proxy.
    pub no_proxy: NoProxy,
    /// Whether to connect directly when no proxy can be reached (never when one refused).
    pub direct_fallback: bool,
    /// The refusals after which the next proxy is tried.
    pub failover_on: FailoverOn,
    /// The authentication schemes that may be used.
    pub schemes: Schemes,
    /// Added to each CONNECT request.
    pub headers: Vec<Header>,
    /// The peers that get the client's address in a PROXY header.
    pub send_proxy_protocol: SendProxyProtocol,
    /// The addresses that are tried.
    pub family: Family,
}

impl Route {
    /// Returns whether the destination is reached without a proxy: none is configured, or NO_PROXY
    /// covers it.
    pub fn is_direct(&self, destination: &HostPort) -> bool {
        self.proxies.is_empty() && self.pac.is_none() || self.no_proxy.covers(destination)
    }

    /// Returns whether a tunnel to the destination takes the same path by both routes.
    pub(crate) fn is_same_to(&self, destination: &HostPort, other: &Route) -> bool {
        if self.is_direct(destination) && other.is_direct(destination) {
            let header = |route: &Route| route.send_proxy_protocol.for_destination(destination);
            return self.family == other.family && header(self) == header(other);
        }
        let alike = Route {
            no_proxy: other.no_proxy.clone(),
            ..self.clone()
        };
        self.is_direct(destination) == other.is_direct(destination) && alike == *other
    }

    /// Returns the configured proxies; those of a PAC file aren't known.
    pub fn all_proxies(&self) -> impl Iterator<Item = &ProxySpec> {
        self.proxies.iter().chain(&self.via)
    }
}

/// The whole configuration of the program, validated.
#[derive(Clone, Debug)]
pub struct Config {
    /// The tunnels, in the order they were given.
    pub tunnels: Vec<TunnelSpec>,
    /// The `-D` listeners, at which clients name their destination.
    pub dynamic: Vec<ListenSpec>,
    /// The credentials that clients of `-D` must present, if any.
    pub dynamic_user: Option<Credentials>,
    /// The `--redirect` listeners, to which the kernel redirects connections.
    pub redirect: Vec<PortSpec>,
    /// The users that `-D` and the embedded proxy serve, if they come from a file.
    pub users: Option<Users>,
    /// The TLS that clients of `-D` and of the embedded proxy must speak, if any.
    pub listen_tls: Option<TlsSpec>,
    /// The bind address of tunnels that have none.
    pub listen: Bind,
    /// The destination of `-W`: stdin and stdout are the client.
    pub stdio: Option<Destination>,
    /// Whether `-W` hands the connection to the program that started it, instead of carrying it.
    pub fdpass: bool,
    /// The embedded proxy.
    pub serve: Option<ServeSpec>,
    /// The status page.
    pub status: Option<StatusSpec>,
    /// The sockets from socket activation.
    pub inherited: Vec<InheritedFd>,
    /// The clients that listeners accept; empty accepts all.
    pub allow_from: Vec<Cidr>,
    /// The balancers, whose connections begin with a PROXY header.
    pub balancers: Vec<Cidr>,
    /// Whether to run the demo on loopback and exit.
    pub demo: bool,
    /// Whether to test the path to each destination and exit.
    pub test: bool,
    /// The proxies between ptunnel and the destinations.
    pub route: Route,
    /// The time limits of a tunnel's phases.
    pub timeouts: Timeouts,
    /// The limit of concurrent clients, over all listeners and threads.
    pub max_connections: Option<usize>,
    /// The number of reactors, each on its own thread; at least 1.
    pub threads: usize,
    /// When bulk data is spliced.
    pub splice: Splice,
    /// Whether the process gives up what it doesn't need: new privileges, and system calls.
    pub is_confined: bool,
    /// Whether a password comes from a command.
    pub runs_commands: bool,
    /// The least severe level that is logged.
    pub verbosity: LevelFilter,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The target of log lines.
    pub log_to: LogTarget,
    /// Whether text lines on stderr start with the time.
    pub log_time: bool,
}

impl Default for Config {
    /// The defaults of the options: one thread, no listener, no proxy.
    fn default() -> Config {
        Config {
            tunnels: Vec::new(),
            dynamic: Vec::new(),
            dynamic_user: None,
            redirect: Vec::new(),
            users: None,
            listen_tls: None,
            listen: Bind::LOOPBACK,
            stdio: None,
            fdpass: false,
            serve: None,
            status: None,
            inherited: Vec::new(),
            allow_from: Vec::new(),
            balancers: Vec::new(),
            demo: false,
            test: false,
            route: Route::default(),
            timeouts: Timeouts::default(),
            max_connections: None,
            threads: 1,
            splice: Splice::default(),
            is_confined: true,
            runs_commands: false,
            verbosity: LevelFilter::Warn,
            log_format: LogFormat::Text,
            log_to: LogTarget::Stderr,
            log_time: false,
        }
    }
}

impl Config {
    /// Returns the destinations of the tunnels in their order, then that of `-W`.
    pub fn destinations(&self) -> impl Iterator<Item = &Destination> {
        let tunnels = self.tunnels.iter().map(|spec| &spec.destination);
        tunnels.chain(&self.stdio)
    }

    /// Returns whether ptunnel starts other programs: the process that runs a PAC file, and those that
    /// print passwords.
    pub fn starts_programs(&self) -> bool {
        self.route.pac.is_some() || self.runs_commands
    }

    /// Returns whether it contains a password, a hash of one or a private key.
    pub fn has_credentials(&self) -> bool {
        let proxies = self.route.all_proxies().map(|proxy| &proxy.credentials);
        let serve = self.serve.iter().map(|spec| &spec.credentials);
        let mut all = proxies.chain(serve).chain(Some(&self.dynamic_user));
        let destinations = self.destinations().flat_map(|destination| &destination.tls);
        let proxies = self.route.all_proxies().flat_map(|proxy| &proxy.tls);
        let mut keys = proxies.chain(destinations).chain(&self.listen_tls);
        let pac = self.route.pac.as_ref();
        all.any(Option::is_some)
            || self.users.is_some()
            || keys.any(TlsSpec::has_key)
            || pac.map_or(false, PacFile::has_credentials)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_ends_at_most_an_eighth_and_half_a_second_late() {
        for (shortest, late) in &[(1, 125), (4, 500), (9, 500), (600, 500)] {
            let timeouts = Timeouts {
                idle: Some(Duration::from_secs(*shortest)),
                connect: Duration::from_secs(600),
                ..Timeouts::DEFAULT
            };
            let most = Duration::from_millis(*late);
            assert!(2 * timeouts.tick() <= most, "{}", shortest);
        }
        let none = Timeouts {
            half_close_delay: None,
            connect: Duration::default(),
            handshake: Duration::default(),
            linger: None,
            ..Timeouts::DEFAULT
        };
        assert!(none.tick() > Duration::default());
    }
}
