//! The options of other programs, such as curl, ssh and HAProxy, and what ptunnel has in their place.
//!
//! For errors only: ptunnel accepts none of them, since many have another meaning elsewhere.

use super::{find, Flag};

/// Returns what to use instead of an option that ptunnel doesn't have, if other programs have it.
pub(crate) fn instead_of(option: &str) -> Option<String> {
    let mut flags = FLAGS.iter();
    if let Some((name, _)) = flags.find(|(_, others)| others.contains(&option)) {
        let flag = find(name)?;
        let spelling = format!("--{} {}", flag.name, flag.value.unwrap_or_default());
        return Some(format!(
            "use {}; e.g. {}",
            spelling.trim_end(),
            flag.example
        ));
    }
    let mut advice = ADVICE.iter();
    let (_, text) = advice.find(|(others, _)| others.contains(&option))?;
    Some(text.to_string())
}

/// Returns whether an error may name the option as the one that was meant. To skip the verification of
/// a certificate must be the user's own idea.
pub(crate) fn may_be_suggested(flag: &Flag) -> bool {
    !flag.name.ends_with("insecure")
}

/// Names for an option of ptunnel.
const FLAGS: &[(&str, &[&str])] = &[
    (
        "proxy",
        &[
            "-x",
            "--http-proxy",
            "--https-proxy",
            "--proxy-server",
            "--proxy-url",
            "--upstream",
        ],
    ),
    ("via", &["-J", "--preproxy"]),
    (
        "user",
        &["-u", "--proxy-user", "--proxy-username", "--username"],
    ),
    (
        "password-file",
        &["--pass", "--proxy-pass", "--proxy-password"],
    ),
    (
        "proxy-auth",
        &[
            "--proxy-anyauth",
            "--proxy-basic",
            "--proxy-digest",
            "--proxy-negotiate",
            "--proxy-ntlm",
        ],
    ),
    ("header", &["--proxy-header"]),
    ("pac", &["--pac-file", "--pac-url", "--proxy-pac-url"]),
    (
        "config",
        &["-c", "-F", "-K", "--conf", "--config-file", "--conf-file"],
    ),
    (
        "listen",
        &[
            "-b",
            "-g",
            "--bind",
            "--bind-address",
            "--listen-address",
            "--listen-host",
            "--local-address",
        ],
    ),
    ("sni", &["--server-name", "--servername"]),
    ("ipv4", &["--inet4-only"]),
    ("ipv6", &["--inet6-only"]),
    ("tcp-keepalive", &["--keepalive", "--keepalive-time"]),
    ("max-connections", &["--max-clients", "--maxconn"]),
    ("threads", &["--nbthread", "--workers"]),
    ("quiet", &["-s", "--silent"]),
    ("verbose", &["--debug", "--log-level", "--verbosity"]),
];

/// Advice where no single option is the answer.
const ADVICE: &[(&[&str], &str)] = &[
    (
        &[
            "-k",
            "--allow-insecure",
            "--ca-cert",
            "--ca-certificate",
            "--ca-file",
            "--cafile",
            "--no-check-certificate",
            "--no-verify",
            "--skip-verify",
        ],
        "to trust a private CA, use --proxy-cacert FILE for an https:// proxy, --cacert FILE for a \
         tls:// destination",
    ),
    (
        &[
            "--socks",
            "--socks4",
            "--socks4a",
            "--socks5",
            "--socks5-hostname",
            "--socks5h",
        ],
        "use --proxy with a URL; e.g. -p socks5h://proxy.example:1080",
    ),
    (
        &["--max-time", "--timeout"],
        "use --connect-timeout SECONDS to reach a proxy, --idle-timeout SECONDS for a tunnel without \
         traffic",
    ),
    (
        &[
            "--dest",
            "--destination",
            "--host",
            "--listen-port",
            "--local",
            "--local-port",
            "--port",
            "--target",
            "--tunnel",
        ],
        "a tunnel has its port, the destination and that one's port; e.g. ptunnel -p \
         proxy.example:3128 8993:imap.example.org:993",
    ),
    (
        &["-N", "-T", "-n", "--proxytunnel"],
        "leave it out: ptunnel only opens tunnels",
    ),
    (
        &["-R", "--remote-forward"],
        "ptunnel has no tunnels from a remote host to this one",
    ),
    (
        &["-f"],
        "use --config FILE to read options from a file; to run in the background, start ptunnel as a \
         service, or with & at the end",
    ),
    (
        &["-d", "--background", "--daemon", "--daemonize", "--fork"],
        "to run in the background, start ptunnel as a service, or with & at the end; to see more in \
         the log, use -vv",
    ),
    (
        &["-o", "--log", "--log-file", "--logfile"],
        "ptunnel has its own names of options, see --help; to write the log to a file, add 2>FILE, or \
         use --log-to syslog",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags;

    fn all() -> impl Iterator<Item = &'static str> {
        let of_flags = FLAGS.iter().flat_map(|(_, others)| others.iter());
        let others = ADVICE.iter().flat_map(|(others, _)| others.iter());
        of_flags.chain(others).copied()
    }

    #[test]
    fn a_name_is_unknown_to_ptunnel_and_listed_once() {
        for name in all() {
            let is_own = |flag: &Flag| flag.spellings().any(|spelling| spelling == name);
            assert!(!flags::all().any(is_own), "{}", name);
            assert_eq!(all().filter(|other| *other == name).count(), 1, "{}", name);
            assert!(instead_of(name).is_some(), "{}", name);
        }
    }

    #[test]
    fn each_option_in_an_advice_exists() {
        for name in all() {
            let advice = instead_of(name).unwrap();
            let words = advice.split(|c: char| !c.is_alphanumeric() && c != '-');
            for word in words.filter(|word| word.starts_with('-')) {
                let is_own = |flag: &Flag| flag.spellings().any(|spelling| spelling == word);
                assert!(flags::all().any(is_own) || word == "-vv", "{}", advice);
            }
            assert!(!advice.contains("insecure"), "{}", advice);
        }
    }
}
