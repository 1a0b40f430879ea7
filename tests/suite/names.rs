//! Names and addresses of proxies: resolved late, tried in turn, of the chosen family.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use crate::dynamic::listening;
use crate::serve::{echo, granted, request};
use support::parts::preloadable;
use support::temp::free_port;
use support::{steadily, Blackhole, Connection, Peer, Ptunnel, Running, TempDir};

/// Gives the program its own hosts file, which the test can rewrite at any time.
pub fn with_hosts(program: Ptunnel, folder: &TempDir) -> Ptunnel {
    program.after_mounting(&format!("mount --bind {} /etc/hosts", folder.at("hosts")))
}

pub fn listener_on(address: &str, port: u16) -> TcpListener {
    let address: SocketAddr = SocketAddr::new(address.parse().unwrap(), port);
    TcpListener::bind(address).unwrap_or_else(|e| panic!("{}: {}", address, e))
}

fn greeting_proxy(listener: TcpListener, name: &'static str) -> Peer {
    Peer::proxy_from(listener, move |mut connection: Connection| {
        connection.send(format!("HTTP/1.1 200 OK\r\n\r\n{}", name));
        connection.echo();
    })
}

/// Returns the name in the greeting of a new client.
#[track_caller]
fn greeting(program: &Running) -> String {
    String::from_utf8(program.connect().receive(3)).unwrap()
}

#[test]
fn does_not_resolve_the_proxy_at_start() {
    let program = Ptunnel::through("nowhere.invalid:3128")
        .to("example.org:22")
        .start();
    assert_eq!(program.stderr(), "");
    program.connect().expect_nothing();
    program.says(&["nowhere.invalid:3128"]);
}

/// A laptop that moves: the same name has another address an hour later.
#[test]
fn resolves_the_proxys_name_at_each_connect() {
    let folder = TempDir::new();
    let one = greeting_proxy(listener_on("127.0.0.2", 0), "one");
    let two = greeting_proxy(listener_on("127.0.0.3", one.port()), "two");
    folder.file("hosts", "127.0.0.2 proxy.test\n");
    let program = Ptunnel::through(format!("proxy.test:{}", two.port())).to("example.org:22");
    let program = with_hosts(program, &folder).start();
    assert_eq!(greeting(&program), "one");
    folder.file("hosts", "127.0.0.3 proxy.test\n");
    assert_eq!(greeting(&program), "two");
}

#[test]
fn tries_every_address_of_a_name() {
    let folder = TempDir::new();
    folder.file("hosts", "127.0.0.2 proxy.test\n127.0.0.3 proxy.test\n");
    // The resolver can return them in any order.
    for alive in &["127.0.0.2", "127.0.0.3"] {
        let proxy = greeting_proxy(listener_on(alive, free_port()), "one");
        let program = Ptunnel::through(format!("proxy.test:{}", proxy.port()));
        let program = with_hosts(program.to("example.org:22"), &folder).start();
        assert_eq!(greeting(&program), "one", "{}", alive);
    }
}

/// RFC 8305: an address that doesn't answer delays the next one by a quarter of a second, not
/// by the connect timeout.
#[test]
fn races_the_addresses_of_a_name() {
    let folder = TempDir::new();
    let hole = Blackhole::start();
    let proxy = greeting_proxy(listener_on("127.0.0.2", hole.address().port()), "one");
    // In either order, the address that answers wins.
    for hosts in &[
        "127.0.0.1 proxy.test\n127.0.0.2 proxy.test\n",
        "127.0.0.2 proxy.test\n127.0.0.1 proxy.test\n",
    ] {
        folder.file("hosts", hosts);
        let program = Ptunnel::through(format!("proxy.test:{}", proxy.port()))
            .to("example.org:22")
            .args(&["-w", "50"]);
        let program = with_hosts(program, &folder).start();
        let start = Instant::now();
        assert_eq!(greeting(&program), "one");
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
    }
}

#[test]
fn the_option_selects_the_family() {
    let folder = TempDir::new();
    folder.file("hosts", "::1 proxy.test\n127.0.0.1 proxy.test\n");
    let six = greeting_proxy(listener_on("::1", free_port()), "six");
    let four = greeting_proxy(listener_on("127.0.0.1", six.port()), "one");
    let name = format!("proxy.test:{}", four.port());
    for (args, expected) in &[(&["-4"][..], "one"), (&["-6"], "six"), (&[], "six")] {
        let program = Ptunnel::through(&name).to("example.org:22").args(args);
        let program = with_hosts(program, &folder).start();
        assert_eq!(greeting(&program), *expected, "{:?}", args);
    }
}

#[test]
fn an_address_of_the_other_family_is_not_tried() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .arg("-6")
        .start();
    program.connect().expect_nothing();
    program.says(&[&proxy.address().to_string()]);
    steadily("no connection", Duration::from_millis(100), || {
        proxy.accepted() == 0
    });
}

/// Lookups of names in `.hang` don't end.
const HANGING: &str = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    while (node && strstr(node, \".hang\"))
        pause();
    real = dlsym(RTLD_NEXT, \"getaddrinfo\");
    return real(node, service, hints, found);
}
";

/// A client of `-D` and one of the embedded proxy choose names whose lookups hang. Regression: with
/// socks4:// and socks5:// they held the threads that look up the proxy's own name.
#[track_caller]
fn assert_not_delayed(route: &[&str]) {
    let (folder, origin) = (TempDir::new(), echo());
    let program = Ptunnel::new()
        .args(route)
        .args(&["-w", "600"])
        .env("LD_PRELOAD", preloadable(&folder, HANGING))
        .to(format!("localhost:{}", origin.port()));
    let program = listening(program).serving().start();
    let clients: Vec<Connection> = (0..40)
        .map(|number| {
            let mut client = match number % 2 {
                0 => program.connect_to(1),
                _ => Connection::open(program.proxy()),
            };
            client.send(request(format!("a{}.hang:1", number)));
            client.wait_until_read();
            client
        })
        .collect();
    let mut client = program.connect();
    client.send("ping");
    client.expect("ping");
    // A PAC file can look up the name of any destination that a client chooses.
    if route[0] != "--pac" {
        let mut client = granted(program.connect_to(1), origin.address());
        client.send("ping");
        client.expect("ping");
        assert!(clients.iter().all(Connection::is_quiet));
    }
}

#[test]
fn names_of_clients_that_hang_do_not_delay_those_of_the_configuration() {
    let proxy = listening(Ptunnel::new().arg("--direct-fallback")).start();
    let port = proxy.address().port();
    assert_not_delayed(&["--direct-fallback"]);
    for scheme in &["socks4", "socks5"] {
        assert_not_delayed(&["-p", &format!("{}://localhost:{}", scheme, port)]);
    }
    let folder = TempDir::new();
    let found = format!("dnsResolve(host); return 'PROXY localhost:{}';", port);
    let text = format!("function FindProxyForURL(url, host) {{ {} }}", found);
    assert_not_delayed(&["--pac", &folder.file("corp.pac", text)]);
}

/// Regression: from rung r3 on, the tunnel panicked, and its client got no reply.
#[test]
fn a_client_is_answered_though_no_thread_can_look_its_destination_up() {
    const NO_ANSWER: u8 = 1;
    const UNREACHABLE: u8 = 4;
    let folder = TempDir::new();
    let pac = "function FindProxyForURL(url, host) { return 'DIRECT'; }";
    let pac = folder.file("proxy.pac", pac);
    for (args, code, cause) in &[
        (["--no-proxy", "*"], UNREACHABLE, "cannot resolve"),
        (
            ["--pac", &pac],
            NO_ANSWER,
            "cannot start a thread to evaluate",
        ),
    ] {
        let program = Ptunnel::new().args(args).args(&["-D", "0"]).more_lines(1);
        let program = program.by_nobody().start();
        // The thread that writes the log starts with the first line.
        program.connect().send("?\r\n\r\n");
        program.says(&["warning: "]);
        program.forbid_threads();
        for (name, request, reply) in &[
            (
                "a.test",
                &b"\x05\x01\0\x05\x01\0\x03\x06a.test\0\x50"[..],
                &[5, 0, 5, *code][..],
            ),
            (
                "b.test",
                b"CONNECT b.test:80 HTTP/1.1\r\n\r\n",
                b"HTTP/1.1 502 ",
            ),
        ] {
            let mut client = program.connect();
            client.send(request);
            client.expect(reply);
            let address = client.local().to_string();
            drop(client); // which would be waited for
            program.says(&[&address, name, cause]);
        }
    }
}
