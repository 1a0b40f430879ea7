//! Flags about TLS, to proxies, to destinations and with clients.

use super::Flag;

/// The variables in which OpenSSL finds the CA certificates, instead of the system's.
const CA_VARIABLES: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR"];

pub(super) const PROXIES: &[Flag] = &[
    Flag::option(
        "proxy-cacert",
        "FILE",
        "CA certificates to trust for https:// proxies (PEM)",
    )
    .default_words("the system's")
    .variables(CA_VARIABLES)
    .described(
        "ptunnel trusts only the certificates in FILE. For a self-signed proxy, FILE is the \
         certificate of the proxy. The proxy's certificate must be valid and contain the host of \
         its URL in its subjectAltName. The option applies to all `https://` proxies, including \
         those of `--via` and `--pac`. With `--config`, SIGHUP reads the file again.",
    )
    .example(
        "ptunnel -p https://proxy.example --proxy-cacert /etc/ptunnel/ca.pem \
         8993:imap.example.org:993",
    ),
    Flag::option(
        "proxy-cert",
        "FILE",
        "Client certificate for https:// proxies (PEM)",
    )
    .described(
        "For proxies that require a client certificate. FILE contains the certificate, then the \
         intermediate CA certificates. It can also contain the private key; otherwise add \
         `--proxy-key`.",
    )
    .example(
        "ptunnel -p https://proxy.example --proxy-cert /etc/ptunnel/client.pem \
         8993:imap.example.org:993",
    ),
    Flag::option("proxy-key", "FILE", "Private key of --proxy-cert (PEM)")
        .default_words("in the same file")
        .requires("proxy-cert")
        .described(
            "The key must not have a passphrase. ptunnel warns if other users can read the file.",
        )
        .example(
            "ptunnel -p https://proxy.example --proxy-cert /etc/ptunnel/client.pem --proxy-key \
             /etc/ptunnel/client.key 8993:imap.example.org:993",
        ),
    Flag::option(
        "proxy-sni",
        "NAME",
        "Name to send (SNI) to https:// proxies and to verify",
    )
    .default_words("the host of the proxy's URL")
    .described(
        "ptunnel sends NAME in the handshake (SNI), and the proxy's certificate must contain NAME \
         instead of the host of its URL. Use it for a proxy that is given by its address, or that is \
         reached under another name, such as that of a load balancer. The option applies to all \
         `https://` proxies, including those of `--via` and `--pac`.",
    )
    .example(
        "ptunnel -p https://192.0.2.7 --proxy-sni proxy.example 8993:imap.example.org:993",
    ),
    Flag::switch(
        "proxy-insecure",
        "Skip verification of the proxy's certificate (warns on every connection)",
    )
    .described(
        "Use it only for tests: an attacker on the network can impersonate the proxy and read the \
         credentials. Each warning names the fault of the certificate.",
    )
    .example("ptunnel -p https://proxy.example --proxy-insecure 8993:imap.example.org:993"),
];

pub(super) const DESTINATIONS: &[Flag] = &[
    Flag::option(
        "cacert",
        "FILE",
        "CA certificates to trust for tls:// destinations (PEM)",
    )
    .default_words("the system's")
    .variables(CA_VARIABLES)
    .described(
        "ptunnel trusts only the certificates in FILE. For a self-signed server, FILE is the \
         certificate of the server. The server's certificate must be valid and contain HOST of the \
         tunnel in its subjectAltName. The option applies to all `tls://` destinations. With \
         `--config`, SIGHUP reads the file again.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --cacert /etc/ptunnel/ca.pem \
         1143:tls://imap.example.org:993",
    ),
    Flag::option(
        "cert",
        "FILE",
        "Client certificate for tls:// destinations (PEM)",
    )
    .described(
        "For servers that require a client certificate. FILE contains the certificate, then the \
         intermediate CA certificates. It can also contain the private key; otherwise add `--key`. \
         Every client of the listener uses this certificate.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --cert /etc/ptunnel/client.pem \
         1143:tls://imap.example.org:993",
    ),
    Flag::option("key", "FILE", "Private key of --cert (PEM)")
        .default_words("in the same file")
        .requires("cert")
        .described(
            "The key must not have a passphrase. ptunnel warns if other users can read the file.",
        )
        .example(
            "ptunnel -p proxy.example:3128 --cert /etc/ptunnel/client.pem --key \
             /etc/ptunnel/client.key 1143:tls://imap.example.org:993",
        ),
    Flag::option(
        "sni",
        "NAME",
        "Name to send (SNI) to tls:// destinations and to verify",
    )
    .default_words("HOST of the tunnel")
    .described(
        "ptunnel sends NAME in the handshake (SNI), and the server's certificate must contain NAME \
         instead of HOST of the tunnel. Use it for a server that is given by its address, or that \
         serves several names. The option applies to all `tls://` destinations.",
    )
    .example("ptunnel -p proxy.example:3128 --sni imap.example.org 1143:tls://192.0.2.8:993"),
    Flag::switch(
        "insecure",
        "Skip verification of the destination's certificate (warns on every connection)",
    )
    .described(
        "Use it only for tests: the proxy, or an attacker on the network, can impersonate the \
         server. Each warning names the fault of the certificate.",
    )
    .example("ptunnel -p proxy.example:3128 --insecure 1143:tls://imap.example.org:993"),
    Flag::switch(
        "ignore-unexpected-eof",
        "Accept a tls:// stream that ends without close_notify; it may be truncated",
    )
    .described(
        "Some servers close a connection without TLS's close_notify. By default ptunnel delivers \
         everything that arrived and then resets the client's connection, because an attacker \
         could have cut the stream. With this option, such an end is an ordinary one. Use it only \
         if the protocol itself marks the end, as HTTP does with `Content-Length`. The option \
         applies to all `tls://` destinations.",
    )
    .example("ptunnel -p proxy.example:3128 --ignore-unexpected-eof 8080:tls://server.example:443"),
];

pub(super) const CLIENTS: &[Flag] = &[
    Flag::option(
        "listen-cert",
        "FILE",
        "Certificate of --dynamic and --serve-proxy listeners (PEM)",
    )
    .default_words("no TLS")
    .replaced_by(&["stdio"])
    .described(
        "All clients of these listeners must speak TLS 1.2 or 1.3, and then SOCKS or HTTP, e.g. `curl \
         -x https://gateway.example:1080`. FILE contains the certificate, then the intermediate CA \
         certificates. It can also contain the private key; otherwise add `--listen-key`.\n\n\
         Tunnels carry the bytes of their clients as they are; put stunnel in front of a tunnel that \
         must have TLS with its clients. With `--config`, SIGHUP reads the files again: new clients \
         get the new certificate.",
    )
    .example(
        "ptunnel -p proxy.example:3128 -D '*:1080' --users /etc/ptunnel/users --listen-cert \
         /etc/ptunnel/server.pem",
    ),
    Flag::option("listen-key", "FILE", "Private key of --listen-cert (PEM)")
        .default_words("in the same file")
        .requires("listen-cert")
        .replaced_by(&["stdio"])
        .described(
            "The key must not have a passphrase. ptunnel warns if other users can read the file.",
        )
        .example(
            "ptunnel -p proxy.example:3128 -D '*:1080' --users /etc/ptunnel/users --listen-cert \
             /etc/ptunnel/server.pem --listen-key /etc/ptunnel/server.key",
        ),
];
