//! Each flag with its name, its value and its help, in the order of the help.

use clap::{App, AppSettings, Arg};

use crate::config::{FailoverOn, LogFormat, LogTarget, Schemes, Splice};

pub(super) const ABOUT: &str = "\
Carries local TCP connections through an HTTP proxy with the CONNECT method.

TUNNEL is [BIND:]PORT:HOST:HOSTPORT, as for ssh -L: whoever connects to PORT here is connected to \
HOST:HOSTPORT by the proxy. Port 0 picks a free one. PATH:HOST:HOSTPORT is a Unix socket, \
fd:NAME:HOST:HOSTPORT one that systemd has bound. With tls:// before HOST, TLS is spoken to HOST \
for a program that knows none.";

pub(super) const AFTER: &str = "\
ENVIRONMENT:
    https_proxy, all_proxy     The proxy, without -p (lower case first, then upper case)
    no_proxy                   Destinations reached directly, without --no-proxy
    PTUNNEL_PASSWORD           The password for the proxy
    PTUNNEL_DYNAMIC_PASSWORD   The password that --dynamic asks for
    PTUNNEL_SERVE_PASSWORD     The password that --serve-proxy asks for

EXIT CODES:
    0 done, 1 network, 2 usage, 3 the proxy refused, 4 the proxy wants (other) credentials

EXAMPLES:
    ptunnel -p proxy.example:3128 8993:imap.example.org:993
    ssh -o ProxyCommand='ptunnel -p proxy.example:3128 -W %h:%p' user@example.org
    ptunnel --demo";

/// The values of `--generate`.
pub(super) const GENERATED: &[&str] = &["man", "complete-bash", "complete-zsh", "complete-fish"];

/// What clap needs to know.
pub(super) fn app() -> App<'static, 'static> {
    App::new("ptunnel")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(AFTER)
        .setting(AppSettings::UnifiedHelpMessage)
        .setting(AppSettings::DeriveDisplayOrder)
        .setting(AppSettings::ColorNever)
        .max_term_width(100)
        .arg(
            Arg::with_name("tunnel")
                .value_name("TUNNEL")
                .multiple(true)
                .help("[BIND:]PORT:[tls://]HOST:HOSTPORT, with a PATH or fd:NAME for the port"),
        )
        .arg(repeated("forward", "L", "TUNNEL", "The same as the positional form").long("forward"))
        .arg(
            repeated(
                "proxy",
                "p",
                "PROXY",
                "host:port or SCHEME://[user[:password]@]host[:port], with http, https, socks5h, \
                 socks5, socks4a or socks4; several are tried in order",
            )
            .long("proxy"),
        )
        .arg(
            value(
                "pac",
                "FILE",
                "A PAC file, whose FindProxyForURL says which proxies; HTTP ones are told --user",
            )
            .conflicts_with("proxy"),
        )
        .arg(repeated(
            "via",
            "",
            "PROXY",
            "A proxy behind the proxy, reached through it; several are a chain",
        ))
        .arg(value(
            "proxy-cacert",
            "FILE",
            "The CAs to trust for https:// proxies, in PEM [default: the system's]",
        ))
        .arg(value(
            "proxy-cert",
            "FILE",
            "Our certificate for https:// proxies, in PEM",
        ))
        .arg(
            value(
                "proxy-key",
                "FILE",
                "Its key, in PEM [default: in the same file]",
            )
            .requires("proxy-cert"),
        )
        .arg(
            Arg::with_name("proxy-insecure")
                .long("proxy-insecure")
                .help("Take anybody's certificate for the proxy's, with a warning each time"),
        )
        .arg(value(
            "cacert",
            "FILE",
            "The CAs to trust for tls:// destinations, in PEM [default: the system's]",
        ))
        .arg(value(
            "cert",
            "FILE",
            "Our certificate for tls:// destinations, in PEM",
        ))
        .arg(value("key", "FILE", "Its key, in PEM [default: in the same file]").requires("cert"))
        .arg(
            Arg::with_name("insecure")
                .long("insecure")
                .help("Take anybody's certificate for the destination's, with a warning each time"),
        )
        .arg(
            Arg::with_name("ignore-unexpected-eof")
                .long("ignore-unexpected-eof")
                .help(
                    "Accept the end of a tls:// destination's connection without close_notify; \
                     data cut off on the way goes unnoticed",
                ),
        )
        .arg(
            value(
                "no-proxy",
                "LIST",
                "Destinations reached directly: names, addresses, CIDR, '*'",
            )
            .empty_values(true),
        )
        .arg(
            Arg::with_name("direct-fallback")
                .long("direct-fallback")
                .help("Connect directly when no proxy can be reached, never when one refused"),
        )
        .arg(value(
            "failover-on",
            "STATUS",
            "Also try the next proxy after a refusal with this status: 502, 503, 504, or a list",
        ))
        .arg(value("user", "USER[:PASSWORD]", "Who we are to the proxy").short("U"))
        .arg(value("password", "PASSWORD", "The password; better in a file").short("P"))
        .arg(
            value(
                "password-file",
                "FILE",
                "A file with the password, which no other user may read",
            )
            .conflicts_with("password"),
        )
        .arg(value(
            "proxy-netrc",
            "FILE",
            "A file as ~/.netrc, with the user and the password for each proxy",
        ))
        .arg(value(
            "proxy-auth",
            "SCHEMES",
            "Answer in these alone: basic, digest, ntlm, or a list [default: all]",
        ))
        .arg(repeated("header", "H", "NAME: VALUE", "Added to the CONNECT request").long("header"))
        .arg(
            Arg::with_name("ipv4")
                .short("4")
                .long("ipv4")
                .conflicts_with("ipv6")
                .help("Connect over IPv4 only"),
        )
        .arg(
            Arg::with_name("ipv6")
                .short("6")
                .long("ipv6")
                .help("Connect over IPv6 only"),
        )
        .arg(
            value(
                "listen",
                "ADDR",
                "Where tunnels without BIND listen [default: 127.0.0.1]",
            )
            .short("l"),
        )
        .arg(
            repeated(
                "allow-from",
                "",
                "CIDR",
                "Clients that listeners take: addresses or blocks of them [default: all]",
            )
            .long("allow-from"),
        )
        .arg(
            repeated(
                "dynamic",
                "D",
                "[BIND:]PORT",
                "Listen for SOCKS and HTTP, to any destination; also PATH, fd:NAME",
            )
            .long("dynamic"),
        )
        .arg(
            value(
                "dynamic-user",
                "USER[:PASSWORD]",
                "Whom these listeners serve [default: all]",
            )
            .requires("dynamic"),
        )
        .arg(
            value(
                "stdio",
                "HOST:PORT",
                "Stdin and stdout are the client; also -W HOST PORT, -W tls://HOST:PORT",
            )
            .short("W")
            .allow_hyphen_values(false)
            .min_values(1)
            .max_values(2),
        )
        .arg(
            value(
                "connect-timeout",
                "SECONDS",
                "For connecting to each proxy [default: 10]",
            )
            .short("w"),
        )
        .arg(value(
            "handshake-timeout",
            "SECONDS",
            "For the proxy's reply [default: 30]",
        ))
        .arg(value(
            "idle-timeout",
            "SECONDS",
            "For a tunnel in which nothing moves [default: 0, never]",
        ))
        .arg(value(
            "linger-timeout",
            "SECONDS",
            "For a half-closed tunnel in which nothing moves [default: 60]; 0 is never",
        ))
        .arg(value(
            "half-close-delay",
            "SECONDS",
            "Hold the client's end back until the server has ended or was silent for this time; \
             never: until it has ended [default: 0, with -W 5]",
        ))
        .arg(value(
            "drain-timeout",
            "SECONDS",
            "For live tunnels to end after a signal [default: 30]",
        ))
        .arg(value(
            "tcp-keepalive",
            "SECONDS",
            "Time without traffic after which TCP asks whether the peer is still there; 0: never \
             [default: 300]",
        ))
        .arg(value(
            "max-connections",
            "N",
            "Clients at once; further ones wait",
        ))
        .arg(
            Arg::with_name("multithreaded")
                .short("m")
                .long("multithreaded")
                .help("One thread per core"),
        )
        .arg(value("threads", "N", "So many threads [default: 1]"))
        .arg(
            value(
                "splice",
                "WHEN",
                "Whether bulk is spliced: auto, never, always [default: auto]",
            )
            .possible_values(Splice::NAMES)
            .hide_possible_values(true),
        )
        .arg(value(
            "serve-proxy",
            "[BIND:]PORT",
            "Be a CONNECT proxy, too",
        ))
        .arg(
            value(
                "serve-user",
                "USER[:PASSWORD]",
                "Whom the embedded proxy serves",
            )
            .requires("serve-proxy"),
        )
        .arg(
            repeated(
                "serve-allow",
                "",
                "HOST[:PORT]",
                "Destinations that it allows [default: all]",
            )
            .long("serve-allow")
            .requires("serve-proxy"),
        )
        .arg(
            value(
                "status",
                "[HOST:]PORT",
                "Show how it goes, as a page and to Prometheus [HOST: 127.0.0.1]",
            )
            .conflicts_with("stdio"),
        )
        .arg(
            Arg::with_name("demo")
                .long("demo")
                .help("Show it all, on this machine alone"),
        )
        .arg(
            Arg::with_name("test")
                .long("test")
                .conflicts_with_all(&["demo", "check-config"])
                .help("Walk to each destination step by step, say what fails, and exit"),
        )
        .arg(value(
            "config",
            "FILE",
            "Options by their long names, and tunnels = [...], in TOML; SIGHUP reads them again",
        ))
        .arg(
            Arg::with_name("check-config")
                .long("check-config")
                .help("Say what would be done, or what is wrong, and exit"),
        )
        .arg(
            value(
                "generate",
                "KIND",
                "Print a manual page or a shell's completions: man, complete-bash, complete-zsh, \
                 complete-fish",
            )
            .possible_values(GENERATED)
            .hide_possible_values(true),
        )
        .arg(
            Arg::with_name("verbose")
                .short("v")
                .long("verbose")
                .multiple(true)
                .help("Log each tunnel's end; twice, its phases"),
        )
        .arg(
            Arg::with_name("quiet")
                .short("q")
                .long("quiet")
                .conflicts_with("verbose")
                .help("Log errors only"),
        )
        .arg(
            value(
                "log-format",
                "FORMAT",
                "What log lines look like: text, json [default: text]",
            )
            .possible_values(LogFormat::NAMES)
            .hide_possible_values(true),
        )
        .arg(value(
            "log-to",
            "TARGET",
            "Where log lines go: stderr, syslog, syslog:SOCKET [default: stderr]",
        ))
        .arg(
            Arg::with_name("log-time")
                .long("log-time")
                .help("Start each text line on stderr with the time, in UTC"),
        )
}

/// Values that shells offer for an option that takes others, too.
pub(super) fn suggestions(name: &str) -> &'static [&'static str] {
    match name {
        "log-to" => LogTarget::NAMES,
        "half-close-delay" => &["never"],
        "proxy-auth" => Schemes::NAMES,
        "failover-on" => FailoverOn::NAMES,
        _ => &[],
    }
}

/// The same for a command line that a file may complete: what one flag requires of another may
/// stand there.
pub(super) fn incomplete_app() -> App<'static, 'static> {
    let mut app = app();
    for option in &mut app.p.opts {
        option.b.requires = None;
    }
    app
}

/// An option with one value; the last of several counts as an error.
fn value(name: &'static str, value: &'static str, help: &'static str) -> Arg<'static, 'static> {
    Arg::with_name(name)
        .long(name)
        .takes_value(true)
        .value_name(value)
        .allow_hyphen_values(true)
        .help(help)
}

/// An option that may be given again.
fn repeated(
    name: &'static str,
    short: &'static str,
    value_name: &'static str,
    help: &'static str,
) -> Arg<'static, 'static> {
    let arg = value(name, value_name, help)
        .multiple(true)
        .number_of_values(1);
    if short.is_empty() {
        arg
    } else {
        arg.short(short)
    }
}
