//! Flags about tunnels and the listeners of clients.

use super::{Flag, PasswordPart, DYNAMIC_PASSWORD, LOOPBACK};

pub(super) const TUNNEL: Flag = Flag::option(
    "tunnel",
    "TUNNEL",
    "Connect each client of PORT to HOST:HOSTPORT through the proxy",
)
.repeated()
.variables(&["LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID"])
.described(
    "Port 0 picks a free port. ptunnel prints a line with the address of each listener. IPv6 \
     addresses are written in brackets: `[::1]:8022:[2001:db8::1]:22`. Every host that can reach \
     the listener can use the tunnel, unless `--allow-from` restricts the clients.\n\n\
     PATH contains a `/`, no colon and at most 107 bytes. ptunnel creates the socket with mode \
     600: only its owner can connect. It replaces the socket of a program that has ended, and \
     removes its own socket when it ends.\n\n\
     NAME is the `FileDescriptorName=` of a socket that systemd has bound, or its number, from 3. \
     Sockets with the same name serve the same tunnel.\n\n\
     With `tls://`, ptunnel speaks TLS 1.2 or 1.3 to the destination, for programs that can't. The \
     proxy can't read the data. `starttls-imap://`, `starttls-smtp://` and `starttls-postgres://` do \
     the same with servers that start TLS on request (STARTTLS): ptunnel requests it, and the client \
     gets the server's greeting.",
)
.example("ptunnel -p proxy.example:3128 8993:imap.example.org:993");

pub(super) const LISTENERS: &[Flag] = &[
    Flag::option(
        "forward",
        "TUNNEL",
        "Add a tunnel, like the TUNNEL argument",
    )
    .short("L")
    .repeated()
    .other_key("tunnels")
    .replaced_by(&["tunnel", "stdio"])
    .described(
        "The option has the same form as the argument, and as `ssh -L`. In the configuration file, \
         the list `tunnels` contains the tunnels. Tunnels on the command line replace all tunnels \
         of the file.\n\n\
         Tunnels can't be combined with `--stdio`, except with `--test`.",
    )
    .example("ptunnel -p proxy.example:3128 -L 8993:imap.example.org:993"),
    Flag::option(
        "stdio",
        "HOST:PORT",
        "Connect stdin and stdout to HOST:PORT (for ssh)",
    )
    .short("W")
    .split()
    .replaced_by(&["tunnel", "forward", "dynamic", "redirect", "serve-proxy"])
    .described(
        "ptunnel opens one tunnel; standard input and output are its client. To use it with ssh: \
         `ssh -o ProxyCommand='ptunnel -p proxy.example:3128 -W %h:%p' user@example.org`. The \
         destination can also be two words, as in `-W %h %p`, which works for IPv6 addresses, too. \
         `tls://HOST:PORT` makes ptunnel speak TLS to the destination.\n\n\
         The exit code is 3 if the proxy refused, 4 if it requires or rejected credentials, and 1 if the \
         network failed or the tunnel was cut. SIGINT is ignored, because Ctrl-C belongs to the \
         session. SIGTERM ends the tunnel at once.\n\n\
         In inetd, or in a systemd socket unit with `Accept=yes`, add `--log-to syslog`: otherwise \
         the client can receive log lines. The option can't be combined with tunnels, \
         `--dynamic`, `--redirect` or `--serve-proxy`, except with `--test`. On the command line, it \
         replaces those of the configuration file.",
    )
    .example("ptunnel -p proxy.example:3128 -W example.org:22"),
    Flag::switch(
        "fdpass",
        "Hand the connection of --stdio to ssh and exit (ProxyUseFdpass)",
    )
    .requires("stdio")
    .replaced_by(&["tunnel", "forward", "dynamic", "serve-proxy"])
    .described(
        "With `ProxyUseFdpass yes`, ssh receives the connected socket over ptunnel's standard \
         output. ptunnel then exits: no process remains, and none copies the data. The timeouts of \
         open tunnels don't apply.\n\n\
         Where TLS is on the path, or where data came together with the proxy's reply, ssh \
         receives one end of a socket pair. ptunnel relays in the background until the connection \
         ends, and logs the reason with `-v`.",
    )
    .example("ptunnel -p proxy.example:3128 -W example.org:22 --fdpass"),
    Flag::option(
        "dynamic",
        "[BIND:]PORT",
        "Listen for SOCKS and HTTP clients on this port",
    )
    .short("D")
    .repeated()
    .replaced_by(&["stdio"])
    .variables(&["LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID"])
    .described(
        "Each client names its destination, as with `ssh -D`. ptunnel opens it like a tunnel: \
         through the proxies, with their credentials, or directly if `--no-proxy` covers it. One \
         port accepts SOCKS5, SOCKS4, SOCKS4a, HTTP CONNECT and requests for `http://` URLs. PATH \
         and `fd:NAME` are possible, too, as in a tunnel.\n\n\
         An address beyond loopback requires `--allow-from`, `--users` or `--dynamic-user`. Clients of such a \
         listener can't directly reach this machine, its link-local addresses or the metadata \
         addresses of clouds, even if `--no-proxy` covers them. On loopback, every user of this \
         machine can connect.\n\n\
         The option can't be combined with `--stdio`, except with `--test`.",
    )
    .example("ptunnel -p proxy.example:3128 -D 1080"),
    Flag::option(
        "dynamic-user",
        "USER[:PASSWORD]",
        "Require this username on --dynamic listeners",
    )
    .default_words("none required")
    .requires("dynamic")
    .password(PasswordPart::Login, DYNAMIC_PASSWORD)
    .variables(&[DYNAMIC_PASSWORD])
    .replaced_by(&["stdio"])
    .described(
        "SOCKS5 clients send the user and the password as in RFC 1929, HTTP clients as Basic \
         credentials. SOCKS4 has no password: its clients are rejected. The user applies to every \
         `--dynamic` listener. Without `--listen-cert`, the credentials travel unencrypted. The \
         proxy doesn't receive them.\n\n\
         Give only the user and set the password in `PTUNNEL_DYNAMIC_PASSWORD`: other users can \
         read the command line. Both can also be in the configuration file. SOCKS5 allows 255 \
         bytes each. For several users, see `--users`, which also describes the limit on wrong \
         passwords.",
    )
    .example("ptunnel -p proxy.example:3128 -D 1080 --dynamic-user ann"),
    Flag::option(
        "dynamic-password-command",
        "CMD",
        "Command that prints the password of --dynamic-user",
    )
    .requires("dynamic-user")
    .replaced_by(&["stdio", "dynamic-user"])
    .described(
        "ptunnel runs CMD at the start and at each reload, as it runs that of `--password-command`. \
         If CMD fails, ptunnel doesn't start, and a reload changes nothing. It overrides \
         `PTUNNEL_DYNAMIC_PASSWORD`; with a password in `--dynamic-user`, it is an error.",
    )
    .example(
        "ptunnel -p proxy.example:3128 -D 1080 --dynamic-user ann --dynamic-password-command \
         'pass show ann'",
    ),
    Flag::option(
        "redirect",
        "[BIND:]PORT",
        "Listen for connections that nftables redirects to this port",
    )
    .repeated()
    .replaced_by(&["stdio"])
    .described(
        "Programs need no configuration: a rule of nftables or iptables (REDIRECT) sends their \
         connections to the listener. ptunnel asks the kernel for the destination, and opens it \
         like one of a `--dynamic` client. Linux only, TCP only; the rule must be in the network \
         namespace of the listener.\n\n\
         Many proxies refuse addresses. So ptunnel requests the name that the client sends first, \
         in TLS (SNI) or as the `Host` of an HTTP/1 request, with the port of the connection. It \
         requests the address if there is no name, if the client is silent for 0.3 s, or if the \
         address is reached directly.\n\n\
         The rule must leave out ptunnel's own connections, e.g. by its user, and those of a proxy \
         on this machine, or they would lead to ptunnel again. ptunnel refuses its own, and \
         connections to the listener itself.\n\n\
         An address beyond loopback requires `--allow-from`, and has the limits of `--dynamic`. \
         The option can't be combined with `--stdio`, except with `--test`.",
    )
    .example("ptunnel -p proxy.example:3128 --redirect 8443"),
    Flag::option(
        "users",
        "FILE",
        "Require a user of FILE on --dynamic and --serve-proxy listeners",
    )
    .default_words("none required")
    .conflicts(&["dynamic-user", "serve-user"])
    .replaced_by(&["stdio"])
    .described(
        "FILE has a line `NAME:HASH` for each user, and at most 64 KiB. HASH is a hash of crypt(5): \
         SHA-512 (`$6$`), SHA-256 (`$5$`), bcrypt (`$2y$`) or yescrypt (`$y$`). `htpasswd -B` and \
         `mkpasswd` write such hashes, and `openssl passwd -6` prints one. ptunnel refuses plain \
         passwords and MD5. Empty lines and lines that start with `#` are ignored.\n\n\
         SOCKS5 clients send the name and the password as in RFC 1929, HTTP clients as Basic \
         credentials. SOCKS4 has no password: its clients are rejected. The log and the status page \
         show the name.\n\n\
         After ten wrong passwords within a minute, ptunnel refuses all passwords of the client's \
         address (of an IPv6 client, its /64 network) for the rest of the minute. This limit \
         includes those for `--dynamic-user` and `--serve-user`, at all listeners. ptunnel remembers \
         right passwords for five minutes, in memory and hashed. With `--config`, SIGHUP reads the \
         file again.",
    )
    .example("ptunnel -p proxy.example:3128 -D '*:1080' --users /etc/ptunnel/users"),
    Flag::option("listen", "ADDR", "Listen address of tunnels without BIND")
        .default(LOOPBACK)
        .short("l")
        .described(
            "ADDR is an address, a name, `localhost` (127.0.0.1 only), or `*` for all interfaces, \
             IPv4 and IPv6. It also applies to `--dynamic`, `--redirect` and `--serve-proxy` without \
             BIND. Every host that can reach a listener can use it. ptunnel warns at the start about tunnels \
             that are open to other hosts; `--allow-from` restricts the clients.",
        )
        .example(
            "ptunnel -p proxy.example:3128 --listen '*' --allow-from 10.1.0.0/16 \
             15432:db.example.org:5432",
        ),
    Flag::option(
        "allow-from",
        "CIDR",
        "Accept only clients from these addresses",
    )
    .default_words("all addresses")
    .repeated()
    .described(
        "CIDR is an address or a block, or a list of them separated by commas. A block is written \
         with its first address: `10.1.0.0/16`. The option applies to every listener, including \
         those of `--dynamic`, `--redirect` and `--serve-proxy`, but not to Unix sockets.\n\n\
         ptunnel closes other connections at once. They don't count for `--max-connections`. A \
         warning names each address once a minute, for 256 addresses at most. The option doesn't \
         replace the password of the server: the network may not stop forged addresses.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --listen '*' --allow-from 10.1.0.0/16,::1 \
         15432:db.example.org:5432",
    ),
    Flag::option(
        "accept-proxy-protocol",
        "CIDR",
        "Read a PROXY header from balancers with these addresses",
    )
    .default_words("none")
    .repeated()
    .described(
        "CIDR has the forms of `--allow-from`. Each connection from such an address must begin \
         with a header of the PROXY protocol, version 1 or 2. The client that it names counts for \
         `--allow-from`, the log and the status page. Connections from other addresses are \
         clients: a header in them is data. The option applies to tunnels, `--dynamic` and \
         `--serve-proxy`, but not to `--redirect` or to Unix sockets.\n\n\
         ptunnel logs a warning and closes the connection if the header is invalid, longer than 107 \
         bytes (version 1) or 4096 bytes (version 2), or not complete within \
         `--handshake-timeout`. For a header without an address (`UNKNOWN`, `LOCAL`), the client \
         is the balancer itself; allow its address with `--allow-from` if it checks whether \
         ptunnel is up in this way.\n\n\
         ptunnel trusts every header from these addresses. Name only machines whose users may take \
         any address.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --accept-proxy-protocol 10.0.0.5 \
         10.0.0.7:15432:db.example.org:5432",
    ),
];
