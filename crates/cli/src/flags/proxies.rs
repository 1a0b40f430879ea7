//! Flags about proxies and the requests to them.

use super::authentication::PASSWORD_SOURCES;
use super::{Flag, PasswordPart};
use crate::env;
use ptunnel_core::config::PacFetch;
use ptunnel_proto::values::{FailoverOn, ProxyProtocol};

pub(super) const PROXIES: &[Flag] = &[
    Flag::option(
        "proxy",
        "PROXY",
        "Proxy to connect through: HOST:PORT or a URL",
    )
    .short("p")
    .repeated()
    .default_words("from the environment")
    .password(PasswordPart::Url, PASSWORD_SOURCES)
    .variables(env::PROXY)
    .described(
        "PROXY is `HOST:PORT` or `SCHEME://[USER[:PASSWORD]@]HOST[:PORT]`. SCHEME is `http` (port \
         80), `https` (TLS to the proxy, port 443), `socks5h` or `socks4a` (the proxy resolves the \
         name of the destination, port 1080), or `socks5` or `socks4` (ptunnel resolves it, port \
         1080). USER and PASSWORD are percent-encoded.\n\n\
         Several proxies are tried in order for each new connection. ptunnel tries the next one if \
         a proxy can't be reached, doesn't reply, or sends an invalid reply. A refusal is final, \
         except for the statuses of `--failover-on`. A proxy that failed isn't tried first again \
         before a probe in the background finds it up.\n\n\
         Without this option, ptunnel uses `https_proxy`, then `all_proxy`, each in lower case \
         before upper case. It reads `socks://` there as `socks5h://`. It doesn't use \
         `http_proxy`, whose proxy may not support CONNECT.",
    )
    .example("ptunnel -p proxy.example:3128 8993:imap.example.org:993"),
    Flag::option(
        "pac",
        "FILE",
        "PAC file or URL that chooses the proxy",
    )
    .conflicts(&["proxy"])
    .password(PasswordPart::PathOrUrl, "--config")
    .described(
        "FILE is a path, or a URL `http[s]://[USER[:PASSWORD]@]HOST[:PORT]/PATH` with USER and \
         PASSWORD percent-encoded. The file is JavaScript with the function `FindProxyForURL`, such \
         as `proxy.pac` or `wpad.dat`, of up to 1 MiB. ptunnel evaluates it for each client. The \
         file replaces the proxy of the environment. With `--config`, SIGHUP reads it again.\n\n\
         ptunnel fetches a URL at the start, and again after each `--pac-interval`, never through a \
         proxy. It follows no redirect, gives up after 10 seconds, and verifies an `https://` server \
         as it does proxies (`--proxy-cacert`, `--proxy-insecure`). While a fetch fails, the script \
         of the last good one stays in force. Until the first good one, clients get no \
         tunnel.\n\n\
         ptunnel sends `--user` and its password to every HTTP proxy that the file names. To \
         choose the credentials per proxy, use `--proxy-netrc` instead. SOCKS proxies get their \
         credentials only from there.\n\n\
         The file runs in separate processes that have almost no rights. An answer that takes more \
         than 5 seconds fails.",
    )
    .example("ptunnel --pac corp.pac 8993:imap.example.org:993"),
    Flag::option(
        "pac-interval",
        "SECONDS",
        "Time between fetches of the URL of --pac",
    )
    .requires("pac")
    .replaced_by(&["proxy"])
    .default_time(Some(PacFetch::INTERVAL))
    .described(
        "Fractions are allowed. With 0, ptunnel fetches the file only at the start and, with \
         `--config`, at SIGHUP. After a failed fetch it tries again earlier: after 1 second, then \
         after twice as long each time, up to a minute. A new script applies to new clients; open \
         tunnels keep their path.",
    )
    .example(
        "ptunnel --pac http://wpad.example/proxy.pac --pac-interval 300 \
         8993:imap.example.org:993",
    ),
    Flag::option(
        "via",
        "PROXY",
        "Next proxy of a chain, reached through the first",
    )
    .repeated()
    .password(PasswordPart::Url, "--proxy-netrc or --config")
    .described(
        "ptunnel connects to the first proxy, of `--proxy` or `--pac`, and through it to this one. \
         Given several times, the proxies form a chain in this order. PROXY has the forms of \
         `--proxy`, and the proxies can be of different kinds. TLS to an `https://` proxy starts \
         at ptunnel, so the proxies before it can't read it.\n\n\
         The user is in the URL; the password is there or in `--proxy-netrc`, or ptunnel prompts \
         for it. ptunnel never sends `--user` and its password to this proxy.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --via https://gateway.example 15432:db.example.org:5432",
    ),
    Flag::option(
        "no-proxy",
        "LIST",
        "Destinations to connect to without a proxy",
    )
    .default_words("from the environment")
    .variables(env::NO_PROXY)
    .described(
        "LIST is separated by commas. `example.org` covers the name and its subdomains, \
         `10.1.2.3` an address, `10.0.0.0/8` a block of addresses, `example.org:22` one port, and \
         `*` everything. Addresses cover only destinations that are given as addresses: ptunnel \
         resolves no names for this.\n\n\
         The option replaces `no_proxy` and `NO_PROXY`, which otherwise apply even with `--proxy`. \
         `--no-proxy ''` covers nothing. An invalid entry is an error in the option; in the \
         environment, ptunnel skips it with a warning.",
    )
    .example("ptunnel -p proxy.example:3128 --no-proxy localhost,10.0.0.0/8 -D 1080"),
    Flag::switch(
        "direct-fallback",
        "Connect directly if no proxy can be reached",
    )
    .described(
        "ptunnel logs a warning for each direct connection. Only the first client waits for a proxy \
         that can't be reached, until a probe in the background reaches it. ptunnel never bypasses a \
         proxy that refused, an `https://` proxy whose certificate is invalid, or a later proxy of a chain. \
         The option also lets ptunnel start without any proxy.",
    )
    .example("ptunnel -p proxy.example:3128 --direct-fallback 8993:imap.example.org:993"),
    Flag::option(
        "failover-on",
        "STATUS",
        "Also try the next proxy after these HTTP statuses",
    )
    .default_words("none, every refusal is final")
    .suggesting(FailoverOn::NAMES)
    .described(
        "STATUS is 502, 503, 504, or a list of them. ptunnel logs a warning each time. Name only \
         statuses that your proxies send for their own faults, because many proxies also send them \
         when the destination is down or forbidden.\n\n\
         The option has risks. A destination that is down is requested once through each proxy. The next proxy can allow \
         what the first forbids with such a status. A 504 costs the time that the proxy waited; \
         it includes a destination for which the proxy waits longer than `--handshake-timeout`, while it \
         replies to others.\n\n\
         All other statuses stay final, as do refusals by `--via` proxies and SOCKS proxies. No \
         refusal leads to a direct connection.",
    )
    .example(
        "ptunnel -p a.example:3128 -p b.example:3128 --failover-on 502,503 \
         8993:imap.example.org:993",
    ),
    Flag::option(
        "header",
        "NAME: VALUE",
        "Add a header field to CONNECT requests",
    )
    .short("H")
    .repeated()
    .described(
        "Some proxies require a certain `User-Agent` or a tag. `Host`, `Proxy-Authorization`, \
         `Content-Length` and `Transfer-Encoding` can't be set. The option applies to all HTTP \
         proxies, including those of `--via`, and not to SOCKS proxies.",
    )
    .example("ptunnel -p proxy.example:3128 -H 'User-Agent: ptunnel' 8993:imap.example.org:993"),
    Flag::option(
        "send-proxy-protocol",
        "VERSION",
        "Send destinations the client's address in a PROXY header",
    )
    .one_of(ProxyProtocol::NAMES)
    .default_words("no header")
    .described(
        "VERSION of the PROXY protocol is `v1` (text) or `v2` (binary). The header is the first in \
         the tunnel, before TLS of `tls://`. It has the client's address and the address that the \
         client connected to: those of the connection, or those that a balancer of \
         `--accept-proxy-protocol` named. Clients without an address, which are those of Unix \
         sockets and `--stdio`, and the checks of ptunnel itself get `UNKNOWN` or `LOCAL`.\n\n\
         A destination that doesn't expect the header reads it as data and fails. \
         `--proxy-protocol-to` restricts the destinations.",
    )
    .example("ptunnel -p proxy.example:3128 --send-proxy-protocol v2 8443:www.example.org:443"),
    Flag::option(
        "proxy-protocol-to",
        "HOST[:PORT]",
        "Send PROXY headers to these destinations only",
    )
    .default_words("all destinations")
    .repeated()
    .requires("send-proxy-protocol")
    .described(
        "Entries have the forms of `--no-proxy`, one for each use of the option. Clients of \
         `--dynamic`, `--redirect` and `--serve-proxy` choose the name of their destination: by \
         another name of the same server, they get no header, and can send a forged one.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --send-proxy-protocol v2 \
         --proxy-protocol-to www.example.org 8443:www.example.org:443 15432:db.example.org:5432",
    ),
    Flag::option(
        "send-proxy-protocol-to-proxy",
        "VERSION",
        "Send the proxy the client's address in a PROXY header",
    )
    .one_of(ProxyProtocol::NAMES)
    .default_words("no header")
    .described(
        "As `--send-proxy-protocol`, but as the first bytes of each connection to a proxy of \
         `--proxy` or `--pac`, before TLS and CONNECT. Proxies of `--via` get no header. A proxy \
         that doesn't expect the header refuses the connection.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --send-proxy-protocol-to-proxy v1 \
         8993:imap.example.org:993",
    ),
    Flag::switch("ipv4", "Connect over IPv4 only")
        .short("4")
        .conflicts(&["ipv6"])
        .default_words("IPv4 and IPv6")
        .described(
            "Applies to connections to proxies, and to destinations that tunnels reach directly. \
             By default ptunnel tries the addresses of both versions in the order of the resolver, \
             alternating, the next one after 250 ms (RFC 8305).",
        )
        .example("ptunnel -4 -p proxy.example:3128 8993:imap.example.org:993"),
    Flag::switch("ipv6", "Connect over IPv6 only")
        .short("6")
        .default_words("IPv4 and IPv6")
        .described("See `--ipv4`.")
        .example("ptunnel -6 -p proxy.example:3128 8993:imap.example.org:993"),
];
