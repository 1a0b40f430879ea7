//! What the generated texts say about the program as a whole.

/// One line after the program's name.
pub(super) const SUMMARY: &str = "carries TCP connections through an HTTP proxy";

pub(super) const USAGE: &str = "ptunnel [OPTIONS] [TUNNEL]...";

/// Paragraphs; code is in backticks.
pub(super) const ABOUT: &str = "\
ptunnel listens on local ports and connects each client to a destination, through an HTTP proxy with \
the CONNECT method or through a SOCKS proxy. The destinations are given as for `ssh -L`, or by the \
clients themselves. ptunnel can also connect its standard input and output, as a ProxyCommand of ssh.";

/// The forms of a tunnel, each with its meaning.
pub(super) const TUNNEL_FORMS: &[(&str, &str)] = &[
    (
        "PORT:HOST:HOSTPORT",
        "Listens on PORT of the address of `--listen`, by default 127.0.0.1",
    ),
    (
        "BIND:PORT:HOST:HOSTPORT",
        "Listens on BIND: an address, a name, or `*` for all interfaces",
    ),
    ("PATH:HOST:HOSTPORT", "Listens on a Unix socket"),
    (
        "fd:NAME:HOST:HOSTPORT",
        "Uses a socket that systemd has bound",
    ),
    (
        "PORT:tls://HOST:HOSTPORT",
        "Speaks TLS to HOST; possible in each form",
    ),
    (
        "PORT:starttls-imap://HOST:HOSTPORT",
        "The same after STARTTLS; also starttls-smtp, starttls-postgres",
    ),
];

/// Paragraphs; code is in backticks.
pub(super) const CONFIG_FILE: &str = "\
`--config FILE` reads options in TOML. The keys are the long names of the options; `tunnels` is the \
list of tunnels. An option that can be repeated takes a list or one value. An option without a value \
takes `true` or `false`; `verbose` also takes a number. Numbers need no quotes. Relative names of \
files start at the working directory of ptunnel.

The command line overrides the file. A value on the command line replaces the value of the file, \
also a whole list, and the options that conflict with it. For example, `--stdio` replaces all tunnels \
of the file, and `--user` replaces its password.";

pub(super) const CONFIG_EXAMPLE: &str = "\
proxy = [\"proxy.example:3128\", \"proxy2.example:3128\"]
user = \"joe\"
password-file = \"/etc/ptunnel/password\"
tunnels = [\"8993:imap.example.org:993\"]
idle-timeout = 3600
multithreaded = true
verbose = 1";

/// The environment variables, by their use.
pub(super) const VARIABLES: &[(&[&str], &str)] = &[
    (
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        "Proxy, without --proxy and --pac; the first one that is set",
    ),
    (
        &["no_proxy", "NO_PROXY"],
        "Destinations to connect to directly, without --no-proxy",
    ),
    (&["PTUNNEL_PASSWORD"], "Password for proxies"),
    (&["PTUNNEL_DYNAMIC_PASSWORD"], "Password of --dynamic-user"),
    (&["PTUNNEL_SERVE_PASSWORD"], "Password of --serve-user"),
    (
        &["SSL_CERT_FILE", "SSL_CERT_DIR"],
        "CA certificates, without --proxy-cacert and --cacert",
    ),
    (
        &["LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID"],
        "Sockets from systemd, for fd:NAME",
    ),
    (
        &["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"],
        "Set by systemd: where and how often to report the state",
    ),
];

pub(super) const EXIT_CODES: &[(&str, &str)] = &[
    ("0", "Success"),
    (
        "1",
        "Network error: ptunnel can't listen or connect, or the tunnel was cut",
    ),
    (
        "2",
        "Error in the command line, an environment variable or a file that they name",
    ),
    ("3", "The proxy refused (--stdio and --test)"),
    (
        "4",
        "The proxy requires credentials, or rejected them (--stdio and --test)",
    ),
    ("101", "Bug in ptunnel; please report its message"),
];

pub(super) const SIGNALS: &[(&str, &str)] = &[
    (
        "SIGTERM, SIGINT",
        "Accept no more clients, let open tunnels finish for --drain-timeout, and exit; a second \
         signal cuts them. --stdio ignores SIGINT and exits at once on SIGTERM.",
    ),
    (
        "SIGHUP",
        "With --config, read the file again, and all files that it names; without it, exit",
    ),
];

pub(super) const FILES: &[(&str, &str)] = &[
    (
        "/etc/ptunnel/ptunnel.toml",
        "Configuration of the systemd service; ptunnel reads it only if --config names it",
    ),
    (
        "/etc/ptunnel/environment",
        "Environment variables of the systemd service, such as PTUNNEL_SERVE_PASSWORD",
    ),
    (
        "/dev/log",
        "Socket of the syslog daemon, for --log-to syslog",
    ),
];

pub(super) const EXAMPLES: &[&str] = &[
    "ptunnel -p proxy.example:3128 8993:imap.example.org:993",
    "ssh -o ProxyCommand='ptunnel -p proxy.example:3128 -W %h:%p' user@example.org",
    "ptunnel -p proxy.example:3128 -D 1080",
    "ptunnel --demo",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_file::words_of_text;
    use crate::flags::{self, TUNNEL};

    #[test]
    fn the_example_of_a_file_is_valid() {
        assert_eq!(words_of_text(CONFIG_EXAMPLE).unwrap().len(), 8);
    }

    #[test]
    fn each_variable_of_an_option_is_described() {
        let is_known = |name: &&str| VARIABLES.iter().any(|(names, _)| names.contains(name));
        for flag in flags::all().chain(Some(TUNNEL)) {
            assert!(flag.variables.iter().all(is_known), "{}", flag.name);
        }
    }
}
