//! Flags about the services beside the tunnels: the embedded proxy and the status page.

use super::{Flag, PasswordPart, LOOPBACK, SERVE_PASSWORD};

pub(super) const SERVICES: &[Flag] = &[
    Flag::option(
        "serve-proxy",
        "[BIND:]PORT",
        "Also run an HTTP CONNECT proxy",
    )
    .replaced_by(&["stdio"])
    .described(
        "The embedded proxy connects directly to the destinations that its clients request, \
         without another proxy. It works with or without tunnels beside it.\n\n\
         An address beyond loopback requires `--users`, `--serve-user`, `--serve-allow` or \
         `--allow-from`. \
         Clients of such a listener can't reach this machine or its link-local addresses, unless \
         `--serve-allow` allows it. The option can't be combined with `--stdio`, except with \
         `--test`.",
    )
    .example("ptunnel --serve-proxy 127.0.0.1:3128"),
    Flag::option(
        "serve-user",
        "USER[:PASSWORD]",
        "Require this username on --serve-proxy",
    )
    .default_words("none required")
    .requires("serve-proxy")
    .password(PasswordPart::Login, SERVE_PASSWORD)
    .variables(&[SERVE_PASSWORD])
    .replaced_by(&["stdio"])
    .described(
        "Clients send Basic credentials. Give only the user and set the password in \
         `PTUNNEL_SERVE_PASSWORD`: other users can read the command line. Both can also be in the \
         configuration file. `--users` describes the limit on wrong passwords.",
    )
    .example("ptunnel --serve-proxy '*:3128' --serve-user ann"),
    Flag::option(
        "serve-password-command",
        "CMD",
        "Command that prints the password of --serve-user",
    )
    .requires("serve-user")
    .replaced_by(&["stdio", "serve-user"])
    .described(
        "ptunnel runs CMD at the start and at each reload, as it runs that of `--password-command`. \
         If CMD fails, ptunnel doesn't start, and a reload changes nothing. It overrides \
         `PTUNNEL_SERVE_PASSWORD`; with a password in `--serve-user`, it is an error.",
    )
    .example(
        "ptunnel --serve-proxy '*:3128' --serve-user ann --serve-password-command 'pass show ann'",
    ),
    Flag::option(
        "serve-allow",
        "HOST[:PORT]",
        "Destinations that --serve-proxy allows",
    )
    .default_words("all")
    .repeated()
    .requires("serve-proxy")
    .replaced_by(&["stdio"])
    .described(
        "The embedded proxy replies 403 to requests for all other destinations. Entries have the \
         forms of `--no-proxy`; a block is written with its first address. A name that resolves to \
         this machine or to a link-local address works only if the list contains `localhost`, too. \
         An address in the list works for requests with that address. `*` allows everything.\n\n\
         Without a list, all destinations are allowed on loopback. Beyond loopback, this machine \
         and its link-local addresses aren't.",
    )
    .example("ptunnel --serve-proxy '*:3128' --serve-allow example.org:443"),
    Flag::option(
        "status",
        "[HOST:]PORT",
        "Serve a status page and Prometheus metrics",
    )
    .default_of("HOST", LOOPBACK)
    .conflicts(&["stdio"])
    .described(
        "The paths are `/`, a page for browsers; `/metrics` for Prometheus; `/status.json`; \
         `/healthz`, which replies `ok` while ptunnel runs; and `/healthz/probe`, which opens a \
         connection to the destination of the first tunnel.\n\n\
         The page needs no password. It shows no credentials, but the destinations and the \
         addresses of the clients. ptunnel warns if HOST is beyond loopback. A reload doesn't \
         change the address.",
    )
    .example("ptunnel -p proxy.example:3128 --status 9090 8993:imap.example.org:993"),
];
