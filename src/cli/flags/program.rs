//! Flags about the program: modes, config file, log.

use super::{Flag, GENERATED};
use crate::config::{LogFormat, LogTarget};

pub(super) const MODES: &[Flag] = &[
    Flag::switch("demo", "Show it all, on this machine alone").brings(&[
        "forward",
        "stdio",
        "dynamic",
        "serve-proxy",
        "proxy",
        "pac",
        "via",
    ]),
    Flag::switch(
        "test",
        "Walk to each destination step by step, say what fails, and exit",
    )
    .typed_only()
    .conflicts(&["demo", "check-config"]),
    Flag::option(
        "config",
        "FILE",
        "Options by their long names, and tunnels = [...], in TOML; SIGHUP reads them again",
    )
    .typed_only(),
    Flag::switch(
        "check-config",
        "Say what would be done, or what is wrong, and exit",
    )
    .typed_only(),
    Flag::option(
        "generate",
        "KIND",
        "Print a manual page or a shell's completions: man, complete-bash, complete-zsh, \
         complete-fish",
    )
    .typed_only()
    .one_of(GENERATED),
];

pub(super) const LOGGING: &[Flag] = &[
    Flag::switch("verbose", "Log each tunnel's end; twice, its phases")
        .short("v")
        .repeated(),
    Flag::switch("quiet", "Log errors only")
        .short("q")
        .conflicts(&["verbose"]),
    Flag::option(
        "log-format",
        "FORMAT",
        "What log lines look like: text, json [default: {}]",
    )
    .default(LogFormat::NAMES[0])
    .one_of(LogFormat::NAMES),
    Flag::option(
        "log-to",
        "TARGET",
        "Where log lines go: stderr, syslog, syslog:SOCKET [default: {}]",
    )
    .default(LogTarget::NAMES[0])
    .suggesting(LogTarget::NAMES),
    Flag::switch(
        "log-time",
        "Start each text line on stderr with the time, in UTC",
    ),
];

pub(super) const INFORMATION: &[Flag] = &[
    Flag::switch("help", "Prints help information")
        .short("h")
        .typed_only(),
    Flag::switch("version", "Prints version information")
        .short("V")
        .typed_only(),
];
