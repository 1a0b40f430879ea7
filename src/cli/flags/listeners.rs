//! Flags about listeners, timeouts, resources and the services beside the tunnels.

use std::time::Duration;

use super::{Flag, PasswordPart, DYNAMIC_PASSWORD, SERVE_PASSWORD};
use crate::config::{Keepalive, Splice, Timeouts};

/// The address of listeners without one.
const LOOPBACK: &str = "127.0.0.1";

/// Default of --half-close-delay with -W: longer than most proxies and servers take to send the next
/// byte of a reply.
const STDIO_HALF_CLOSE_DELAY: Duration = Duration::from_secs(5);

pub(super) const LISTENERS: &[Flag] = &[
    Flag::option(
        "listen",
        "ADDR",
        "Where tunnels without BIND listen [default: {}]",
    )
    .default(LOOPBACK)
    .short("l"),
    Flag::option(
        "allow-from",
        "CIDR",
        "Clients that listeners take: addresses or blocks of them [default: {}]",
    )
    .default("all")
    .repeated(),
    Flag::option(
        "dynamic",
        "[BIND:]PORT",
        "Listen for SOCKS and HTTP, to any destination; also PATH, fd:NAME",
    )
    .short("D")
    .repeated()
    .replaced_by(&["stdio"]),
    Flag::option(
        "dynamic-user",
        "USER[:PASSWORD]",
        "Whom these listeners serve [default: {}]",
    )
    .default("all")
    .requires("dynamic")
    .password(PasswordPart::Login, DYNAMIC_PASSWORD)
    .replaced_by(&["stdio"]),
    Flag::option(
        "stdio",
        "HOST:PORT",
        "Stdin and stdout are the client; also -W HOST PORT, -W tls://HOST:PORT",
    )
    .short("W")
    .split()
    .replaced_by(&["tunnel", "forward", "dynamic", "serve-proxy"]),
];

pub(super) const TIMEOUTS: &[Flag] = &[
    Flag::option(
        "connect-timeout",
        "SECONDS",
        "For connecting to each proxy [default: {}]",
    )
    .default_time(Some(Timeouts::DEFAULT.connect))
    .short("w"),
    Flag::option(
        "handshake-timeout",
        "SECONDS",
        "For the proxy's reply [default: {}]",
    )
    .default_time(Some(Timeouts::DEFAULT.handshake)),
    Flag::option(
        "idle-timeout",
        "SECONDS",
        "For a tunnel in which nothing moves [default: {}, never]",
    )
    .default_time(Timeouts::DEFAULT.idle),
    Flag::option(
        "linger-timeout",
        "SECONDS",
        "For a half-closed tunnel in which nothing moves [default: {}]; 0 is never",
    )
    .default_time(Timeouts::DEFAULT.linger),
    Flag::option(
        "half-close-delay",
        "SECONDS",
        "Hold the client's end back until the server has ended or was silent for this time; \
         never: until it has ended [default: {}, with -W {}]",
    )
    .default_time(Timeouts::DEFAULT.half_close_delay)
    .default_with_stdio(STDIO_HALF_CLOSE_DELAY)
    .suggesting(&["never"]),
    Flag::option(
        "drain-timeout",
        "SECONDS",
        "For live tunnels to end after a signal [default: {}]",
    )
    .default_time(Some(Timeouts::DEFAULT.drain)),
    Flag::option(
        "tcp-keepalive",
        "SECONDS",
        "Time without traffic after which TCP asks whether the peer is still there; 0: never \
         [default: {}]",
    )
    .default_time(Some(Keepalive::DEFAULT.time))
    .example("60"),
];

pub(super) const RESOURCES: &[Flag] = &[
    Flag::option("max-connections", "N", "Clients at once; further ones wait").example("100"),
    Flag::switch("multithreaded", "One thread per core")
        .short("m")
        .replaced_by(&["threads"]),
    Flag::option("threads", "N", "So many threads [default: {}]")
        .default("1")
        .example("4")
        .replaced_by(&["multithreaded"]),
    Flag::option(
        "splice",
        "WHEN",
        "Whether bulk is spliced: auto, never, always [default: {}]",
    )
    .default(Splice::NAMES[0])
    .one_of(Splice::NAMES),
];

pub(super) const SERVICES: &[Flag] = &[
    Flag::option("serve-proxy", "[BIND:]PORT", "Be a CONNECT proxy, too").replaced_by(&["stdio"]),
    Flag::option(
        "serve-user",
        "USER[:PASSWORD]",
        "Whom the embedded proxy serves",
    )
    .requires("serve-proxy")
    .password(PasswordPart::Login, SERVE_PASSWORD)
    .replaced_by(&["stdio"]),
    Flag::option(
        "serve-allow",
        "HOST[:PORT]",
        "Destinations that it allows [default: {}]",
    )
    .default("all")
    .repeated()
    .requires("serve-proxy")
    .replaced_by(&["stdio"]),
    Flag::option(
        "status",
        "[HOST:]PORT",
        "Show how it goes, as a page and to Prometheus [HOST: {}]",
    )
    .default(LOOPBACK)
    .conflicts(&["stdio"]),
];
