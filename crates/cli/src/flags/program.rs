//! Flags about the program: config file, tests, log, help.

use super::{Flag, GENERATED};
use ptunnel_proto::values::{LogFormat, LogTarget};

pub(super) const MODES: &[Flag] = &[
    Flag::option("config", "FILE", "Read options from a TOML file")
        .typed_only()
        .described(
            "The command line overrides the file; the file overrides the environment. SIGHUP reads \
             the file again, and all files that it names. See the section on the configuration \
             file.",
        )
        .example("ptunnel --config /etc/ptunnel/ptunnel.toml"),
    Flag::switch(
        "check-config",
        "Check the options, print what they do, and exit",
    )
    .typed_only()
    .described(
        "Prints a line for each listener and exits with code 0, or prints the error and exits with \
         code 2. ptunnel opens no port, contacts no proxy and prints no password. It fetches a PAC \
         file that is given by its URL. A password that is missing is only a warning. The option \
         works with and without `--config`.",
    )
    .example("ptunnel --config /etc/ptunnel/ptunnel.toml --check-config"),
    Flag::switch("test", "Test the path to each destination, and exit")
        .typed_only()
        .conflicts(&["demo", "check-config"])
        .described(
            "ptunnel connects to the destination of each tunnel, or of `--stdio`, as it would for a \
             client. It prints each step with its time, the step that fails, and what to try. It \
             opens no listener, so it can run beside another ptunnel.\n\n\
             The exit code is that of the first destination that ptunnel can't reach: 3 if the \
             proxy refused, 4 if it requires or rejected credentials, 1 for all other errors.",
        )
        .example("ptunnel --test -p proxy.example:3128 8993:imap.example.org:993"),
    Flag::switch("demo", "Run a server, a proxy and a tunnel on loopback")
        .brings(&[
            "forward",
            "stdio",
            "dynamic",
            "redirect",
            "serve-proxy",
            "proxy",
            "pac",
            "via",
        ])
        .described(
            "Runs a server, the embedded proxy, a tunnel and a client in one process, on loopback, \
             and prints each step with its time. It needs no network and no proxy.",
        )
        .example("ptunnel --demo"),
    Flag::option(
        "generate",
        "KIND",
        "Print the man page, the option reference or completions",
    )
    .typed_only()
    .one_of(GENERATED)
    .described(
        "`man` prints the manual page and `reference` the option reference in Markdown. \
         `complete-bash`, `complete-zsh` and `complete-fish` print the completions of a shell. For \
         bash, add `eval \"$(ptunnel --generate complete-bash)\"` to `~/.bashrc`.",
    )
    .example("ptunnel --generate man"),
];

pub(super) const LOGGING: &[Flag] = &[
    Flag::switch(
        "verbose",
        "Log each closed tunnel; -vv also logs each phase",
    )
    .short("v")
    .repeated()
    .default_words("errors and warnings")
    .described(
        "With `-v`, ptunnel logs the bytes, the duration and the end of each tunnel. With `-vv`, it \
         also logs the phases of each connection, with the number of the connection. In the \
         configuration file, the value is `true`, `false` or a number.",
    )
    .example("ptunnel -v -p proxy.example:3128 8993:imap.example.org:993"),
    Flag::switch("quiet", "Log errors only")
        .short("q")
        .conflicts(&["verbose"])
        .described("Suppresses warnings, such as those about clients that can't be served.")
        .example("ptunnel -q -p proxy.example:3128 8993:imap.example.org:993"),
    Flag::option("log-format", "FORMAT", "Format of log lines: text or json")
        .default(LogFormat::NAMES[0])
        .one_of(LogFormat::NAMES)
        .described(
            "With `json`, each line is a JSON object with `time`, `level`, `message` and fields \
             such as `client`, `destination`, `proxy` and `cause`. Errors of the command line are \
             always text.",
        )
        .example(
            "ptunnel -v --log-format json -p proxy.example:3128 8993:imap.example.org:993",
        ),
    Flag::option(
        "log-to",
        "TARGET",
        "Log destination: stderr, syslog or syslog:SOCKET",
    )
    .default(LogTarget::NAMES[0])
    .suggesting(LogTarget::NAMES)
    .described(
        "`syslog` sends lines to `/dev/log`, `syslog:SOCKET` to another socket with an absolute \
         path. The facility is `daemon` and the tag `ptunnel[PID]`. ptunnel never waits for the \
         log: if the reader is slow or absent, it drops lines and logs their number later. Under \
         systemd, use stderr: the journal reads it.",
    )
    .example("ptunnel --log-to syslog -p proxy.example:3128 8993:imap.example.org:993"),
    Flag::switch(
        "log-time",
        "Start text lines on stderr with the time (UTC)",
    )
    .described(
        "The form is `2026-11-21T14:13:37.123Z`. JSON lines always contain the time. The journal \
         and syslog daemons add it themselves.",
    )
    .example("ptunnel --log-time -v -p proxy.example:3128 8993:imap.example.org:993"),
];

pub(super) const INFORMATION: &[Flag] = &[
    Flag::switch("help", "Print help: -h a summary, --help all options")
        .short("h")
        .typed_only()
        .described("`ptunnel --generate man` prints the manual page.")
        .example("ptunnel --help"),
    Flag::switch("version", "Print the version")
        .short("V")
        .typed_only()
        .described("The form is `ptunnel 1.0.0`.")
        .example("ptunnel --version"),
];
