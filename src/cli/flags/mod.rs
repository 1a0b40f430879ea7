//! The flag table: one entry per flag and option, in the order of the help.
//!
//! clap's parser, the config file, the manual page and the completions are made from it.

use crate::config::{FailoverOn, LogFormat, LogTarget, Schemes, Splice};

/// A flag, or an option with a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// The long name without hyphens, which is also the key in the config file.
    pub(super) name: &'static str,
    pub(super) short: Option<&'static str>,
    /// The placeholder of the value in the help; `None` for a flag.
    pub(super) value: Option<&'static str>,
    /// The values, or those that have a name.
    pub(super) choices: &'static [&'static str],
    /// Whether `choices` are all values.
    pub(super) is_closed: bool,
    /// Whether it can be given several times.
    pub(super) is_repeated: bool,
    /// The option that must also be given.
    pub(super) requires: Option<&'static str>,
    /// The options that can't also be given.
    pub(super) conflicts: &'static [&'static str],
    pub(super) help: &'static str,
}

impl Flag {
    /// A flag without a value.
    const fn switch(name: &'static str, help: &'static str) -> Flag {
        Flag {
            name,
            short: None,
            value: None,
            choices: &[],
            is_closed: false,
            is_repeated: false,
            requires: None,
            conflicts: &[],
            help,
        }
    }

    /// An option with one value; giving it twice is an error.
    const fn option(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag {
            value: Some(value),
            ..Flag::switch(name, help)
        }
    }

    const fn short(self, short: &'static str) -> Flag {
        Flag {
            short: Some(short),
            ..self
        }
    }

    const fn repeated(self) -> Flag {
        Flag {
            is_repeated: true,
            ..self
        }
    }

    const fn one_of(self, choices: &'static [&'static str]) -> Flag {
        Flag {
            choices,
            is_closed: true,
            ..self
        }
    }

    /// Names values that shells offer beside any others.
    const fn suggesting(self, choices: &'static [&'static str]) -> Flag {
        Flag { choices, ..self }
    }

    const fn requires(self, name: &'static str) -> Flag {
        Flag {
            requires: Some(name),
            ..self
        }
    }

    const fn conflicts(self, conflicts: &'static [&'static str]) -> Flag {
        Flag { conflicts, ..self }
    }

    /// Returns the spellings, as `-p` and `--proxy`.
    pub(super) fn spellings(&self) -> impl Iterator<Item = String> {
        let short = self.short.map(|short| format!("-{}", short));
        short.into_iter().chain(Some(format!("--{}", self.name)))
    }
}

/// Returns the flag with this name.
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}

/// The values of `--generate`.
pub(super) const GENERATED: &[&str] = &["man", "complete-bash", "complete-zsh", "complete-fish"];

/// The flags and options. `tunnel`, the positional argument, isn't one of them.
pub(super) const FLAGS: &[Flag] = &[
    Flag::option("forward", "TUNNEL", "The same as the positional form")
        .short("L")
        .repeated(),
    Flag::option(
        "proxy",
        "PROXY",
        "host:port or SCHEME://[user[:password]@]host[:port], with http, https, socks5h, \
         socks5, socks4a or socks4; several are tried in order",
    )
    .short("p")
    .repeated(),
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
    .repeated(),
    Flag::option(
        "proxy-cacert",
        "FILE",
        "The CAs to trust for https:// proxies, in PEM [default: the system's]",
    ),
    Flag::option(
        "proxy-cert",
        "FILE",
        "Our certificate for https:// proxies, in PEM",
    ),
    Flag::option(
        "proxy-key",
        "FILE",
        "Its key, in PEM [default: in the same file]",
    )
    .requires("proxy-cert"),
    Flag::switch(
        "proxy-insecure",
        "Take anybody's certificate for the proxy's, with a warning each time",
    ),
    Flag::option(
        "cacert",
        "FILE",
        "The CAs to trust for tls:// destinations, in PEM [default: the system's]",
    ),
    Flag::option(
        "cert",
        "FILE",
        "Our certificate for tls:// destinations, in PEM",
    ),
    Flag::option("key", "FILE", "Its key, in PEM [default: in the same file]").requires("cert"),
    Flag::switch(
        "insecure",
        "Take anybody's certificate for the destination's, with a warning each time",
    ),
    Flag::switch(
        "ignore-unexpected-eof",
        "Accept the end of a tls:// destination's connection without close_notify; \
         data cut off on the way goes unnoticed",
    ),
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
    Flag::option("user", "USER[:PASSWORD]", "Who we are to the proxy").short("U"),
    Flag::option("password", "PASSWORD", "The password; better in a file").short("P"),
    Flag::option(
        "password-file",
        "FILE",
        "A file with the password, which no other user may read",
    )
    .conflicts(&["password"]),
    Flag::option(
        "proxy-netrc",
        "FILE",
        "A file as ~/.netrc, with the user and the password for each proxy",
    ),
    Flag::option(
        "proxy-auth",
        "SCHEMES",
        "Answer in these alone: basic, digest, ntlm, or a list [default: all]",
    )
    .suggesting(Schemes::NAMES),
    Flag::option("header", "NAME: VALUE", "Added to the CONNECT request")
        .short("H")
        .repeated(),
    Flag::switch("ipv4", "Connect over IPv4 only")
        .short("4")
        .conflicts(&["ipv6"]),
    Flag::switch("ipv6", "Connect over IPv6 only").short("6"),
    Flag::option(
        "listen",
        "ADDR",
        "Where tunnels without BIND listen [default: 127.0.0.1]",
    )
    .short("l"),
    Flag::option(
        "allow-from",
        "CIDR",
        "Clients that listeners take: addresses or blocks of them [default: all]",
    )
    .repeated(),
    Flag::option(
        "dynamic",
        "[BIND:]PORT",
        "Listen for SOCKS and HTTP, to any destination; also PATH, fd:NAME",
    )
    .short("D")
    .repeated(),
    Flag::option(
        "dynamic-user",
        "USER[:PASSWORD]",
        "Whom these listeners serve [default: all]",
    )
    .requires("dynamic"),
    Flag::option(
        "stdio",
        "HOST:PORT",
        "Stdin and stdout are the client; also -W HOST PORT, -W tls://HOST:PORT",
    )
    .short("W"),
    Flag::option(
        "connect-timeout",
        "SECONDS",
        "For connecting to each proxy [default: 10]",
    )
    .short("w"),
    Flag::option(
        "handshake-timeout",
        "SECONDS",
        "For the proxy's reply [default: 30]",
    ),
    Flag::option(
        "idle-timeout",
        "SECONDS",
        "For a tunnel in which nothing moves [default: 0, never]",
    ),
    Flag::option(
        "linger-timeout",
        "SECONDS",
        "For a half-closed tunnel in which nothing moves [default: 60]; 0 is never",
    ),
    Flag::option(
        "half-close-delay",
        "SECONDS",
        "Hold the client's end back until the server has ended or was silent for this time; \
         never: until it has ended [default: 0, with -W 5]",
    )
    .suggesting(&["never"]),
    Flag::option(
        "drain-timeout",
        "SECONDS",
        "For live tunnels to end after a signal [default: 30]",
    ),
    Flag::option(
        "tcp-keepalive",
        "SECONDS",
        "Time without traffic after which TCP asks whether the peer is still there; 0: never \
         [default: 300]",
    ),
    Flag::option("max-connections", "N", "Clients at once; further ones wait"),
    Flag::switch("multithreaded", "One thread per core").short("m"),
    Flag::option("threads", "N", "So many threads [default: 1]"),
    Flag::option(
        "splice",
        "WHEN",
        "Whether bulk is spliced: auto, never, always [default: auto]",
    )
    .one_of(Splice::NAMES),
    Flag::option("serve-proxy", "[BIND:]PORT", "Be a CONNECT proxy, too"),
    Flag::option(
        "serve-user",
        "USER[:PASSWORD]",
        "Whom the embedded proxy serves",
    )
    .requires("serve-proxy"),
    Flag::option(
        "serve-allow",
        "HOST[:PORT]",
        "Destinations that it allows [default: all]",
    )
    .repeated()
    .requires("serve-proxy"),
    Flag::option(
        "status",
        "[HOST:]PORT",
        "Show how it goes, as a page and to Prometheus [HOST: 127.0.0.1]",
    )
    .conflicts(&["stdio"]),
    Flag::switch("demo", "Show it all, on this machine alone"),
    Flag::switch(
        "test",
        "Walk to each destination step by step, say what fails, and exit",
    )
    .conflicts(&["demo", "check-config"]),
    Flag::option(
        "config",
        "FILE",
        "Options by their long names, and tunnels = [...], in TOML; SIGHUP reads them again",
    ),
    Flag::switch(
        "check-config",
        "Say what would be done, or what is wrong, and exit",
    ),
    Flag::option(
        "generate",
        "KIND",
        "Print a manual page or a shell's completions: man, complete-bash, complete-zsh, \
         complete-fish",
    )
    .one_of(GENERATED),
    Flag::switch("verbose", "Log each tunnel's end; twice, its phases")
        .short("v")
        .repeated(),
    Flag::switch("quiet", "Log errors only")
        .short("q")
        .conflicts(&["verbose"]),
    Flag::option(
        "log-format",
        "FORMAT",
        "What log lines look like: text, json [default: text]",
    )
    .one_of(LogFormat::NAMES),
    Flag::option(
        "log-to",
        "TARGET",
        "Where log lines go: stderr, syslog, syslog:SOCKET [default: stderr]",
    )
    .suggesting(LogTarget::NAMES),
    Flag::switch(
        "log-time",
        "Start each text line on stderr with the time, in UTC",
    ),
    Flag::switch("help", "Prints help information").short("h"),
    Flag::switch("version", "Prints version information").short("V"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A misspelt name would never match.
    #[test]
    fn flags_refer_to_flags() {
        for flag in FLAGS {
            let others = flag.requires.iter().chain(flag.conflicts);
            for name in others {
                assert!(find(name).is_some(), "{} of {:?}", name, flag);
            }
        }
    }
}
