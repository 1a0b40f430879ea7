//! Connections of ptunnel to its own listeners: each would be served by the next one, until no
//! descriptor is left. Those that a rule of the kernel redirects are in `redirect`.

use crate::names::with_hosts;
use crate::pac::saying;
use crate::reload::Site;
use crate::serve::{echo, granted, request};
use support::namespace::Namespace;
use support::parts::run;
use support::temp::free_port;
use support::{closed_address, Connection, Ptunnel, Running, TempDir};

/// Far fewer than a loop takes.
const FEW: usize = 60;

/// Checks that a client which has sent `bytes` gets nothing but this, and that the log says why.
#[track_caller]
pub fn expect_loop(program: &Running, mut client: Connection, bytes: &str, reply: &str) {
    client.send(bytes);
    client.expect(reply);
    program.says(&["loop: "]);
    let descriptors = program.process().descriptors();
    assert!(descriptors < FEW, "{} descriptors", descriptors);
    assert_eq!(program.stderr().matches("loop: ").count(), 1);
}

#[test]
fn a_loop_that_the_configuration_shows_is_refused() {
    let port = free_port().to_string();
    let with_port = |text: &str| text.replace("PORT", &port);
    for (args, told) in &[
        (
            "-p 127.0.0.1:PORT -D PORT",
            "loop: the proxy 127.0.0.1:PORT leads to ptunnel's own listener 127.0.0.1:PORT; \
             name another with -p, or unset https_proxy",
        ),
        ("-p a.test:1 -p localhost:PORT -D PORT", "localhost:PORT"),
        (
            "-p socks5h://[::1]:PORT -D [::1]:PORT",
            "listener [::1]:PORT",
        ),
        ("-p 127.0.0.1:PORT PORT:a.test:1", "127.0.0.1:PORT"),
        (
            "-p 127.0.0.1:PORT -D *:PORT --allow-from 127.0.0.1",
            "listener *:PORT",
        ),
        (
            "--no-proxy * PORT:localhost:PORT",
            "loop: the destination localhost:PORT leads to ptunnel's own listener \
             127.0.0.1:PORT; change one of them",
        ),
        (
            "-p a.test:1 --no-proxy localhost 0:localhost:PORT -D PORT",
            "the destination localhost:PORT",
        ),
    ] {
        for check in &["", " --check-config"] {
            let args = with_port(args) + check;
            let args: Vec<&str> = args.split_whitespace().collect();
            let finished = Ptunnel::new().args(&args).run();
            finished.expect_code(2);
            let told = with_port(told);
            assert!(finished.stderr.contains(&told), "{}", finished.stderr);
            assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
        }
    }
    let of_environment = Ptunnel::new().args(&["-D", &port]);
    let proxy = with_port("http://127.0.0.1:PORT");
    let finished = of_environment.env("https_proxy", proxy).run();
    finished.expect_code(2);
    let told = with_port("loop: the proxy 127.0.0.1:PORT ");
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
}

#[test]
fn what_only_looks_like_a_loop_is_accepted() {
    let port = free_port().to_string();
    let with_port = |text: &str| text.replace("PORT", &port);
    for args in &[
        // As with ssh -L: the address is the proxy's own.
        "-p a.test:1 PORT:127.0.0.1:PORT",
        "-p 127.0.0.2:PORT -D PORT",
        // The embedded proxy connects directly.
        "-p 127.0.0.1:PORT --serve-proxy PORT 0:a.test:1",
    ] {
        let args = with_port(args) + " --check-config";
        let args: Vec<&str> = args.split_whitespace().collect();
        Ptunnel::new().args(&args).run().expect_code(0);
    }
}

#[test]
fn a_reload_to_a_loop_changes_nothing() {
    let (port, proxy) = (free_port(), closed_address());
    let file = |proxy: &str| format!("dynamic = '{}'\nproxy = '{}'\n", port, proxy);
    let site = Site::start_as(Ptunnel::new(), &file(&proxy.to_string()), 1);
    let refused = site.refuse(&file(&format!("localhost:{}", port)));
    assert!(refused.contains("loop: the proxy localhost"), "{}", refused);
    let mut client = site.program().connect();
    client.send(request("a.test:1"));
    client.expect("HTTP/1.1 502 ");
    site.program().says(&[&proxy.to_string()]);
}

#[test]
fn a_loop_that_only_a_lookup_shows_is_cut_at_the_first_round() {
    let folder = TempDir::new();
    folder.file("hosts", "127.0.0.1 self.test\n");
    let connect = request("a.test:443");
    let get = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n";
    for (args, count, bytes, reply) in &[
        (
            "-p self.test:PORT -D PORT",
            1,
            &connect[..],
            "HTTP/1.1 502 ",
        ),
        ("-p self.test:PORT -D PORT", 1, get, "HTTP/1.1 502 "),
        (
            "-p socks5h://self.test:PORT -D PORT",
            1,
            &connect,
            "HTTP/1.1 502 ",
        ),
        ("-p self.test:PORT PORT:a.test:1", 1, "", ""),
        ("--no-proxy * PORT:self.test:PORT", 1, "", ""),
        // Each leads to the other.
        (
            "--no-proxy * PORT:self.test:NEXT NEXT:self.test:PORT",
            2,
            "",
            "",
        ),
        ("-p CLOSED --direct-fallback PORT:127.0.0.1:PORT", 1, "", ""),
        ("--pac PAC -D PORT", 1, &connect, "HTTP/1.1 502 "),
        ("--no-proxy * -D PORT", 1, "CONNECT", "HTTP/1.1 403 "),
    ] {
        let port = free_port().to_string();
        let pac = saying(&format!("return 'PROXY 127.0.0.1:{}';", port));
        let args = args
            .replace("PORT", &port)
            .replace("NEXT", &free_port().to_string())
            .replace("CLOSED", &closed_address().to_string())
            .replace("PAC", &folder.file("loop.pac", pac));
        let args: Vec<&str> = args.split_whitespace().collect();
        let program = Ptunnel::new().args(&args).more_lines(*count);
        let program = with_hosts(program, &folder).start();
        let bytes = match *bytes {
            "CONNECT" => request(format!("self.test:{}", port)),
            bytes => bytes.to_string(),
        };
        expect_loop(&program, program.connect(), &bytes, reply);
    }
}

#[test]
fn a_listener_at_all_addresses_is_known_by_those_of_this_machine() {
    Namespace::new().run(|| {
        run("ip", &["address", "add", "192.0.2.7/32", "dev", "lo"]);
        let port = free_port();
        for bind in &["*", "0.0.0.0"] {
            let program = Ptunnel::through(format!("192.0.2.7:{}", port))
                .args(&["-D", &format!("{}:{}", bind, port)])
                .args(&["--allow-from", "127.0.0.1"])
                .more_lines(1)
                .start();
            let client = Connection::open(([127, 0, 0, 1], port).into());
            expect_loop(&program, client, &request("a.test:1"), "HTTP/1.1 502 ");
        }
    });
}

/// The embedded proxy is no part of a loop, unless it is asked for the tunnel that asks it.
#[test]
fn the_embedded_proxy_leads_to_no_tunnel_of_its_program() {
    let (proxy, port) = (free_port(), free_port());
    let program = Ptunnel::through(format!("127.0.0.1:{}", proxy))
        .serving_on(&format!("127.0.0.1:{}", proxy))
        .tunnel(&format!("{0}:127.0.0.1:{0}", port))
        .start();
    program.connect().expect_nothing();
    program.says(&["denied: 403 Forbidden (cannot connect to ", "loop: "]);
    assert_eq!(program.stderr().lines().count(), 2);
    assert!(program.process().descriptors() < FEW);
}

/// E.g. a program that reaches everything through -D, and its database by a tunnel.
#[test]
fn a_client_can_be_led_from_one_listener_to_a_tunnel() {
    let server = echo();
    let program = Ptunnel::new()
        .args(&["--no-proxy", "*"])
        .to(server.address())
        .args(&["-D", "0"])
        .more_lines(1)
        .start();
    let client = program.connect_to(1);
    let mut client = granted(client, program.address());
    client.send("ping");
    client.expect("ping");
    assert_eq!(program.stderr(), "");
}

/// Another program can have the same port at another address.
#[test]
fn a_proxy_at_the_port_of_a_listener_is_no_loop() {
    let proxy = crate::names::listener_on("127.0.0.2", free_port());
    let proxy = support::Peer::proxy_from(proxy, |mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\n");
        connection.echo();
    });
    let program = Ptunnel::through(proxy.address())
        .tunnel(&format!("{}:a.test:1", proxy.port()))
        .start();
    let mut client = program.connect();
    client.send("ping");
    client.expect("ping");
}
