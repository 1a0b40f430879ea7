//! clap's parser, made from the flag table, and the text of `--help` around the flags.

use clap::{App, AppSettings, Arg, ArgMatches};

use super::flags::{self, Flag, TUNNEL};

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

/// Parses the arguments, the first of which is the program's name. [`Options`](super::options::Options)
/// checks what options require of their values and of each other.
///
/// # Errors
///
/// Also for `--help` and `--version`: the message is their text.
pub(super) fn parse(words: &[String]) -> clap::Result<ArgMatches<'static>> {
    let tunnel = TUNNEL.help();
    let helps: Vec<String> = flags::all().map(Flag::help).collect();
    let app = App::new("ptunnel")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(AFTER)
        .setting(AppSettings::UnifiedHelpMessage)
        .setting(AppSettings::DeriveDisplayOrder)
        .setting(AppSettings::ColorNever)
        .max_term_width(100)
        .arg(
            Arg::with_name(TUNNEL.name)
                .value_name("TUNNEL")
                .multiple(true)
                .help(&tunnel),
        );
    // clap adds its own --help and --version.
    let flags = flags::all().take_while(|flag| flag.name != "help");
    let args = flags.zip(&helps).map(|(flag, help)| arg(flag, help));
    app.args(&args.collect::<Vec<_>>())
        .get_matches_from_safe(words)
}

fn arg<'a>(flag: &Flag, help: &'a str) -> Arg<'static, 'a> {
    let mut arg = Arg::with_name(flag.name).long(flag.name).help(help);
    if let Some(short) = flag.short {
        arg = arg.short(short);
    }
    let value = match flag.value {
        Some(value) => value,
        None => return arg.multiple(flag.is_repeated),
    };
    let arg = arg.takes_value(true).value_name(value);
    if flag.is_split {
        return arg.min_values(1).max_values(2);
    }
    let arg = arg.allow_hyphen_values(true);
    if flag.is_repeated {
        arg.multiple(true).number_of_values(1)
    } else {
        arg
    }
}
