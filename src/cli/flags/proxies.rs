//! Flags about tunnels, proxies and the requests to them.

use super::{Flag, PasswordPart};
use crate::config::{FailoverOn, Schemes};

/// Where a proxy's password isn't seen.
const PASSWORD_SOURCES: &str = "--password-file or PTUNNEL_PASSWORD";

/// The password in a file is that of the user in the file.
const PASSWORD_REPLACED_BY: &[&str] = &["user"];

pub(super) const TUNNELS: &[Flag] = &[
    Flag::option("forward", "TUNNEL", "The same as the positional form")
        .short("L")
        .repeated()
        .other_key("tunnels")
        .replaced_by(&["tunnel", "stdio"]),
    Flag::option(
        "proxy",
        "PROXY",
        "host:port or SCHEME://[user[:password]@]host[:port], with http, https, socks5h, \
         socks5, socks4a or socks4; several are tried in order",
    )
    .short("p")
    .repeated()
    .password(PasswordPart::Url, PASSWORD_SOURCES),
    Flag::option(
        "pac",
        "FILE",
        "A PAC file, whose FindProxyForURL says which proxies; HTTP ones are told --user",
    )
    .conflicts(&["proxy"]),
    Flag::option(
        "via",
        "PROXY",
        "A proxy behind the proxy, reached through it; several are a chain",
    )
    .repeated()
    .password(PasswordPart::Url, "--proxy-netrc or --config"),
];

pub(super) const TLS: &[Flag] = &[
    Flag::option(
        "proxy-cacert",
        "FILE",
        "The CAs to trust for https:// proxies, in PEM [default: {}]",
    )
    .default("the system's"),
    Flag::option(
        "proxy-cert",
        "FILE",
        "Our certificate for https:// proxies, in PEM",
    ),
    Flag::option("proxy-key", "FILE", "Its key, in PEM [default: {}]")
        .default("in the same file")
        .requires("proxy-cert"),
    Flag::switch(
        "proxy-insecure",
        "Take anybody's certificate for the proxy's, with a warning each time",
    ),
    Flag::option(
        "cacert",
        "FILE",
        "The CAs to trust for tls:// destinations, in PEM [default: {}]",
    )
    .default("the system's"),
    Flag::option(
        "cert",
        "FILE",
        "Our certificate for tls:// destinations, in PEM",
    ),
    Flag::option("key", "FILE", "Its key, in PEM [default: {}]")
        .default("in the same file")
        .requires("cert"),
    Flag::switch(
        "insecure",
        "Take anybody's certificate for the destination's, with a warning each time",
    ),
    Flag::switch(
        "ignore-unexpected-eof",
        "Accept the end of a tls:// destination's connection without close_notify; \
         data cut off on the way goes unnoticed",
    ),
];

pub(super) const SELECTION: &[Flag] = &[
    Flag::option(
        "no-proxy",
        "LIST",
        "Destinations reached directly: names, addresses, CIDR, '*'",
    ),
    Flag::switch(
        "direct-fallback",
        "Connect directly when no proxy can be reached, never when one refused",
    ),
    Flag::option(
        "failover-on",
        "STATUS",
        "Also try the next proxy after a refusal with this status: 502, 503, 504, or a list",
    )
    .suggesting(FailoverOn::NAMES),
];

pub(super) const REQUESTS: &[Flag] = &[
    Flag::option("user", "USER[:PASSWORD]", "Who we are to the proxy")
        .short("U")
        .password(PasswordPart::Login, PASSWORD_SOURCES),
    Flag::option("password", "PASSWORD", "The password; better in a file")
        .short("P")
        .password(PasswordPart::Whole, PASSWORD_SOURCES)
        .replaced_by(PASSWORD_REPLACED_BY),
    Flag::option(
        "password-file",
        "FILE",
        "A file with the password, which no other user may read",
    )
    .conflicts(&["password"])
    .replaced_by(PASSWORD_REPLACED_BY),
    Flag::option(
        "proxy-netrc",
        "FILE",
        "A file as ~/.netrc, with the user and the password for each proxy",
    ),
    Flag::option(
        "proxy-auth",
        "SCHEMES",
        "Answer in these alone: basic, digest, ntlm, or a list [default: {}]",
    )
    .default("all")
    .suggesting(Schemes::NAMES),
    Flag::option("header", "NAME: VALUE", "Added to the CONNECT request")
        .short("H")
        .repeated(),
    Flag::switch("ipv4", "Connect over IPv4 only")
        .short("4")
        .conflicts(&["ipv6"]),
    Flag::switch("ipv6", "Connect over IPv6 only").short("6"),
];
