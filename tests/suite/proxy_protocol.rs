//! The PROXY protocol: from a balancer in front, to destinations and to proxies; with scripted peers,
//! and with HAProxy and nginx on either side, configured as the guide prints it.

use std::fs;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;

use crate::examples::blocks;
use crate::reload::Site;
use crate::serve::{echo, granted};
use support::parts::{curl, Balancer, Squid};
use support::repository::text_of;
use support::temp::free_port;
use support::tls::Authority;
use support::{eventually, Connection, Peer, Ptunnel, Running, TempDir, TIMEOUT};

/// A header of version 1, and the same in version 2.
const HEADERS: [&[u8]; 2] = [
    b"PROXY TCP4 203.0.113.7 192.0.2.1 51234 993\r\n",
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\x00\x71\x07\xc0\x00\x02\x01\xc8\x22\x03\xe1",
];

/// The client in [`HEADERS`].
const CLIENT: &str = "203.0.113.7:51234";

/// A header with which a balancer checks whether a server is up.
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

/// Returns the program without a proxy, with 127.0.0.1 as its balancer.
fn balanced() -> Ptunnel {
    let program = Ptunnel::new().args(&["--no-proxy", "*", "-v"]);
    program.args(&["--accept-proxy-protocol", "127.0.0.1"])
}

/// Returns a server that sends back the header of its connection, in version 1, and then all else.
fn naming() -> Peer {
    Peer::start(|mut connection| {
        let header = read_line(&mut connection);
        connection.send(header);
        connection.echo()
    })
}

/// Reads a header of version 1.
fn read_line(connection: &mut Connection) -> Vec<u8> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        line.extend(connection.receive(1));
    }
    line
}

/// Returns the header of version 1 of the connection itself.
fn own(client: &Connection, listener: SocketAddr) -> String {
    let (from, to) = (client.local(), listener);
    let ports = (from.port(), to.port());
    format!(
        "PROXY TCP4 {} {} {} {}\r\n",
        from.ip(),
        to.ip(),
        ports.0,
        ports.1
    )
}

#[test]
fn a_balancer_names_the_client() {
    let origin = echo();
    for splice in &["auto", "always"] {
        let program = balanced().args(&["--allow-from", "203.0.113.0/24", "--splice", splice]);
        let program = program.to(origin.address()).start();
        for header in &HEADERS {
            let mut client = program.connect();
            client.send([header, &b"hello"[..]].concat());
            client.expect("hello");
            let mut client = program.connect();
            client.send_bytewise(header);
            client.send("hello");
            client.expect("hello");
            client.finish_sending();
            client.expect_end();
        }
        eventually("each is logged by its address", || {
            let log = program.stderr();
            let lines = log.lines().filter(|line| line.contains("5 bytes up"));
            lines.filter(|line| line.contains(CLIENT)).count() == 4
        });
        assert!(!program.stderr().contains("127.0.0.1:5123"));
    }
}

#[test]
fn no_byte_is_lost_behind_a_header() {
    let sent: Vec<u8> = (0..3_000_000u32).map(|number| number as u8).collect();
    let expected = sent.clone();
    let origin = Peer::start(move |mut connection| {
        assert!(connection.rest() == expected, "other bytes");
        connection.send("all");
    });
    for splice in &["never", "always"] {
        let program = balanced().args(&["--splice", splice]);
        let program = program.to(origin.address()).start();
        for header in &HEADERS {
            let mut client = program.connect();
            client.send([header, &sent[..]].concat());
            client.finish_sending();
            client.expect("all");
        }
    }
}

#[test]
fn the_acl_checks_the_named_client() {
    let origin = echo();
    let program = balanced().args(&["--allow-from", "198.51.100.0/24"]);
    let program = program.to(origin.address()).start();
    let mut client = program.connect();
    client.send(HEADERS[1]);
    client.expect_nothing();
    program.says(&[CLIENT, "turned away"]);
    // A check of the balancer itself has the balancer's address.
    let mut check = program.connect();
    check.send(LOCAL);
    check.expect_nothing();
    program.says(&["127.0.0.1:", "turned away"]);
    assert_eq!(origin.accepted(), 0);
}

#[test]
fn another_peer_cannot_name_a_client() {
    let origin = echo();
    let from =
        |program: &Running| Connection::open_from("127.0.0.2".parse().unwrap(), program.address());
    let program = balanced().to(origin.address()).start();
    for header in &HEADERS {
        let mut client = from(&program);
        client.send(header);
        client.expect(header);
        client.finish_sending();
        client.expect_end();
    }
    program.says(&["127.0.0.2:", "bytes up"]);
    assert!(!program.stderr().contains("203.0.113.7"));
    let restricted = balanced().args(&["--allow-from", "203.0.113.0/24"]);
    let restricted = restricted.to(origin.address()).start();
    let mut client = from(&restricted);
    let _ = client.try_send(HEADERS[0]);
    assert_eq!(client.rest_or_reset(), b"");
    restricted.says(&["127.0.0.2:", "turned away"]);
    assert_eq!(origin.accepted(), 2);
}

#[test]
fn a_wrong_header_is_reported_once_and_closes_the_connection() {
    let origin = echo();
    let program = balanced().args(&["--handshake-timeout", "0.3"]);
    let program = program.to(origin.address()).start();
    for (bytes, why) in &[
        (&b"SSH-2.0-x\r\n"[..], "it begins with 'SSH-2.0-x\\r\\n'"),
        (
            b"PROXY TCP4 1.2.3.4 1.2.3.4 5 x\r\n",
            "its line is 'PROXY TCP4",
        ),
        (
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
            "it exceeds 4096 bytes",
        ),
        (b"PROXY TCP4 1.2", "within the handshake timeout"),
    ] {
        let mut client = program.connect();
        client.send(bytes);
        assert_eq!(client.rest_or_reset(), b"");
        program.says(&["warning: 127.0.0.1:", " on 127.0.0.1:", "denied: ", why]);
    }
    // As a balancer checks whether the port is open.
    drop(program.connect());
    program.says(&["client disconnected without a request"]);
    let log = program.stderr();
    assert_eq!(log.matches("PROXY header").count(), 4, "{}", log);
    assert_eq!(origin.accepted(), 0);
}

#[test]
fn a_destination_gets_the_clients_addresses_first() {
    let origin = naming();
    let proxy = Peer::granting(|mut connection| {
        let header = read_line(&mut connection);
        connection.send(header);
        connection.echo()
    });
    let directly = Ptunnel::new().args(&["--no-proxy", "*"]);
    let through = Ptunnel::through(proxy.address());
    for program in vec![directly, through] {
        let program = program.args(&["--send-proxy-protocol", "v1"]);
        let program = program.to(origin.address()).start();
        let mut client = program.connect();
        client.send("hello");
        client.expect(own(&client, program.address()) + "hello");
    }
    assert!(proxy.head().starts_with("CONNECT "), "{}", proxy.head());
}

#[test]
fn version_2_is_sent_as_the_specification_has_it() {
    let origin = Peer::start(|mut connection| {
        let header = connection.receive(28);
        assert_eq!(&header[..16], &HEADERS[1][..16]);
        let ports = [&header[24..26], &header[26..28]];
        assert_eq!(header[16..24], [127, 0, 0, 1, 127, 0, 0, 1]);
        connection.send([ports[0], ports[1]].concat());
    });
    let program = Ptunnel::new().args(&["--no-proxy", "*", "--send-proxy-protocol", "v2"]);
    let program = program.to(origin.address()).start();
    let mut client = program.connect();
    let ports = [client.local().port(), program.address().port()];
    client.expect([ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat());
}

/// On each connection: the second one, for the answer to a challenge, begins with it, too.
#[test]
fn a_proxy_gets_the_header_before_the_request() {
    let proxy = Peer::start(|mut connection| {
        let header = String::from_utf8(read_line(&mut connection)).unwrap();
        assert!(header.starts_with("PROXY TCP4 127.0.0.1 "), "{}", header);
        let head = String::from_utf8(connection.read_head()).unwrap();
        if !head.contains("Proxy-Authorization") {
            return connection.send(
                "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\
                 Connection: close\r\nContent-Length: 0\r\n\r\n",
            );
        }
        connection.send(format!("HTTP/1.1 200 OK\r\n\r\n{}", header));
        connection.echo()
    });
    let program = Ptunnel::through(format!("http://joe:x@{}", proxy.address()));
    let program = program.args(&["--send-proxy-protocol-to-proxy", "v1"]);
    let program = program
        .args(&["--send-proxy-protocol", "v1"])
        .to("a.example:1");
    let program = program.start();
    let mut client = program.connect();
    // The proxy's own, then the destination's, which this proxy echoes.
    let header = own(&client, program.address());
    client.send("hello");
    client.expect(format!("{0}{0}hello", header));
}

#[test]
fn a_named_client_is_passed_on_by_each_kind_of_listener() {
    let origin = naming();
    let program = balanced().args(&["--send-proxy-protocol", "v1", "-D", "127.0.0.1:0"]);
    let program = program.args(&["--dynamic-user", "joe:x", "--allow-from", "203.0.113.7"]);
    let program = program.args(&["--serve-allow", "127.0.0.1"]);
    let program = program.to(origin.address()).more_lines(1).serving().start();
    let header = &HEADERS[0];
    for header_version in &HEADERS {
        let mut client = program.connect();
        client.send(header_version);
        client.expect(header);
        let mut client = Connection::open(program.proxy());
        client.send(header_version);
        granted(client, origin.address()).expect(header);
    }
    // Also where the connection is refused later: the policy still holds.
    let mut client = Connection::open(program.address_of(1));
    client.send([HEADERS[1], b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n"].concat());
    let head = String::from_utf8(client.read_head()).unwrap();
    assert!(head.starts_with("HTTP/1.1 407 "), "{}", head);
    program.says(&[CLIENT, "denied: 407"]);
}

#[test]
fn clients_of_dynamic_listeners_are_named_to_chosen_destinations_only() {
    let (named, plain) = (naming(), echo());
    let proxy = Peer::granting(|mut connection| connection.echo());
    let program = Ptunnel::through(proxy.address());
    let program = program
        .args(&["--no-proxy", "127.0.0.1", "-D", "0"])
        .more_lines(1);
    let program = program.args(&["--send-proxy-protocol", "v1", "--proxy-protocol-to"]);
    let to = named.address().to_string();
    let program = program.args(&[&to[..], "--proxy-protocol-to", "a.example"]);
    let program = program.start();
    for (destination, is_named) in &[
        (named.address().to_string(), true),
        (plain.address().to_string(), false),
        ("a.example:1".to_string(), true),
        ("b.example:1".to_string(), false),
    ] {
        let mut client = granted(program.connect(), destination);
        let header = own(&client, program.address());
        client.send("hello");
        client.expect(if *is_named {
            header + "hello"
        } else {
            "hello".into()
        });
    }
}

#[test]
fn every_address_as_a_balancer_is_refused() {
    for block in &["0.0.0.0/0", "::/0"] {
        let balancers = format!("10.0.0.5,{}", block);
        let program = Ptunnel::new().args(&["--accept-proxy-protocol", &balancers]);
        let end = program.args(&["--no-proxy", "*", "-D", "0"]).run();
        end.expect_code(2);
        let said = format!(
            "--accept-proxy-protocol '{}' lets every client choose its address; name the balancers, \
             e.g. 10.0.0.5\n",
            block
        );
        assert!(end.stderr.contains(&said), "{}", end.stderr);
    }
}

#[test]
fn clients_without_an_address_are_unknown() {
    let (origin, folder) = (naming(), TempDir::new());
    let start = || Ptunnel::new().args(&["--no-proxy", "*", "--send-proxy-protocol", "v1"]);
    let to = origin.address().to_string();
    let end = start().args(&["-W", &to]).run_with(b"hello");
    end.expect_code(0);
    assert_eq!(end.text(), "PROXY UNKNOWN\r\nhello");

    let path = folder.at("sock");
    let balancer = ["--accept-proxy-protocol", "127.0.0.0/8"];
    let _program = start()
        .args(&balancer)
        .tunnel(&format!("{}:{}", path, to))
        .start();
    let mut client = UnixStream::connect(&path).unwrap();
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    client.write_all(HEADERS[0]).unwrap();
    let expected = [&b"PROXY UNKNOWN\r\n"[..], HEADERS[0]].concat();
    let mut answer = vec![0; expected.len()];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(answer, expected);
}

#[test]
fn a_reload_changes_both_for_the_next_client() {
    let origin = naming();
    let (tunnel, dynamic) = (free_port(), free_port());
    let text = |options: &str| {
        format!(
            "no-proxy = '*'\ntunnels = '{}:{}'\ndynamic = {}\ndynamic-user = 'joe:x'\n{}",
            tunnel,
            origin.address(),
            dynamic,
            options
        )
    };
    let address = SocketAddr::from(([127, 0, 0, 1], tunnel));
    let mut site = Site::start_as(Ptunnel::new(), &text(""), 2);
    // Nothing is read or added: the bytes are the client's.
    let mut old = Connection::open(address);
    old.send(HEADERS[0]);
    old.expect(HEADERS[0]);

    let both = "send-proxy-protocol = 'v1'\naccept-proxy-protocol = '127.0.0.1'\n";
    let (_, change) = site.reload(&text(both));
    assert!(change.starts_with("changed "), "{}", change);
    let mut client = Connection::open(address);
    client.send([HEADERS[1], b"hello"].concat());
    client.expect([HEADERS[0], b"hello"].concat());

    let (_, change) = site.reload(&text("send-proxy-protocol = 'v1'\n"));
    // `-D` may lead to this machine again; the tunnel is the same.
    assert_eq!(change, format!("changed 127.0.0.1:{}; kept 1", dynamic));
    let mut client = Connection::open(address);
    client.send("hello");
    client.expect(own(&client, address) + "hello");

    let (_, change) = site.reload(&text("accept-proxy-protocol = '127.0.0.2'\n"));
    assert!(change.starts_with("changed "), "{}", change);
    let mut client = Connection::open(address);
    client.send(HEADERS[0]);
    client.expect(HEADERS[0]);
    old.send("hello");
    old.expect("hello");

    let open = text("accept-proxy-protocol = '127.0.0.1'\n").replace("dynamic-user = 'joe:x'", "");
    let line = site.refuse(&open);
    assert!(line.contains("an open proxy behind a balancer"), "{}", line);
}

/// Returns the block of the guide in this language that contains `part`, with other addresses.
fn printed(language: &str, part: &str, addresses: &[(&str, &str)]) -> String {
    let text = text_of("docs/guide.md");
    let block = blocks(&text, language).find(|block| block.contains(part));
    let block = match block {
        Some(block) => format!("{}\n", block),
        None => panic!("no {} with {}", language, part),
    };
    addresses.iter().fold(block, |text, (one, other)| {
        assert!(text.contains(one), "{} in {}", one, text);
        text.replace(one, other)
    })
}

/// Returns HAProxy or nginx as a destination that requires a header, and replies with the client
/// that the header names.
fn behind(folder: &TempDir) -> [Balancer; 2] {
    let haproxy = |address: &str| {
        let bind = printed("haproxy", "accept-proxy", &[("192.0.2.3:8080", address)]);
        let reply = "http-request return content-type text/plain lf-string \"%[src]:%[src_port]\"";
        format!(
            "defaults\n mode http\n timeout client 1m\n{}\n {}\n",
            bind, reply
        )
    };
    let nginx = |address: &str| {
        let listen = printed("nginx", "proxy_protocol;", &[("192.0.2.3:8080", address)]);
        nginx_config(folder, listen.trim_end().trim_end_matches('}'))
    };
    [Balancer::haproxy_with(haproxy), Balancer::nginx_with(nginx)]
}

/// Returns a configuration of nginx with this server, which replies with the client in the header.
fn nginx_config(folder: &TempDir, server: &str) -> String {
    let names = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let paths = names
        .iter()
        .map(|name| format!("{}_temp_path {};\n", name, folder.at(name)));
    format!(
        "events {{ worker_connections 99; }}\nhttp {{\naccess_log off;\n{}{}\n\
         location / {{ return 200 $proxy_protocol_addr:$proxy_protocol_port; }}\n}}\n}}\n",
        paths.collect::<String>(),
        server
    )
}

/// A client, HAProxy or nginx, ptunnel, and HAProxy or nginx: the last one knows the first.
#[test]
fn haproxy_and_nginx_on_both_sides_keep_the_client() {
    let folder = TempDir::new();
    let behind = behind(&folder);
    for (version, behind) in ["v1", "v2"].iter().zip(&behind) {
        let program = balanced().args(&["--send-proxy-protocol", version]);
        let program = program.to(behind.address()).start();
        let to = program.address().to_string();
        let haproxy = |kind: &str, address: &str| {
            let addresses = [("192.0.2.9:8993", address), ("192.0.2.1:8993", &to[..])];
            let config = printed("haproxy", "send-proxy-v2", &addresses);
            config.replace("send-proxy-v2", kind)
        };
        let in_front = [
            Balancer::haproxy_with(|address| haproxy("send-proxy", address)),
            Balancer::haproxy_with(|address| haproxy("send-proxy-v2", address)),
            Balancer::nginx_with(|address| {
                let addresses = [("192.0.2.9:8993", address), ("192.0.2.1:8993", &to[..])];
                printed("nginx", "proxy_protocol on;", &addresses)
            }),
        ];
        for (number, balancer) in in_front.iter().enumerate() {
            // Another address than the balancer's own.
            let (ip, port) = (format!("127.0.0.{}", 7 + number), free_port());
            let url = format!("http://{}/", balancer.address());
            let from = format!("{}", port);
            let seen = curl(&[
                "--noproxy",
                "*",
                "--interface",
                &ip,
                "--local-port",
                &from,
                &url,
            ]);
            let expected = format!("{}:{}", ip, port);
            assert_eq!(
                String::from_utf8_lossy(&seen),
                expected,
                "{} {}",
                version,
                number
            );
            program.says(&[&expected, "bytes up"]);
        }
    }
}

/// Returns HAProxy in front of squid, with these options of `bind`. It admits one client, by the address in
/// the header.
fn balancer_of(squid: &Squid, options: &str) -> Balancer {
    Balancer::haproxy_with(|address| {
        format!(
            "defaults\n mode tcp\n timeout connect 1m\n timeout client 1m\n timeout server 1m\n\
             listen proxies\n bind {} accept-proxy {}\n\
             tcp-request session reject unless {{ src 127.0.0.9 }}\n server squid {}\n",
            address,
            options,
            squid.address()
        )
    })
}

/// Opens a tunnel to an echo server as the client that is admitted.
fn assert_admitted(program: &Running) {
    let mut client = Connection::open_from("127.0.0.9".parse().unwrap(), program.address());
    client.send("hello");
    client.expect("hello");
}

/// Both versions, with the text of the warning about a client that isn't admitted.
fn assert_only_one_is_admitted(proxy: SocketAddr, refusal: &str) {
    let origin = echo();
    for version in &["v1", "v2"] {
        let program = Ptunnel::through(proxy);
        let program = program.args(&["--send-proxy-protocol-to-proxy", version]);
        let program = program.to(origin.address()).start();
        assert_admitted(&program);
        program.connect().expect_nothing();
        program.says(&["warning: 127.0.0.1:", refusal]);
    }
}

#[test]
fn a_balancer_of_proxies_knows_the_client() {
    let squid = Squid::start(None);
    let haproxy = balancer_of(&squid, "");
    assert_only_one_is_admitted(haproxy.address(), "before it replied");
}

#[test]
fn squid_knows_the_client_by_its_own_rules() {
    let port = free_port();
    let _squid = Squid::with_rules(|_| {
        format!(
            "http_port 127.0.0.1:{} require-proxy-header\nproxy_protocol_access allow all\n\
             acl joe src 127.0.0.9\nhttp_access deny !joe\nhttp_access allow all\n",
            port
        )
    });
    assert_only_one_is_admitted(([127, 0, 0, 1], port).into(), "403");
}

/// HAProxy reads the header before TLS, and the second proxy of a chain gets none.
#[test]
fn an_https_proxy_gets_the_header_in_front_and_the_next_proxy_none() {
    let (squid, next, folder) = (Squid::start(None), Peer::echoing(), TempDir::new());
    let authority = Authority::new();
    let identity = authority.issue("haproxy", "IP:127.0.0.1");
    let read = |path: &str| fs::read_to_string(path).unwrap();
    let pem = read(&identity.certificate) + &read(&identity.key);
    let haproxy = balancer_of(&squid, &format!("ssl crt {}", folder.file("pem", pem)));
    let origin = echo();
    let through_haproxy = || {
        let program = Ptunnel::through(format!("https://{}", haproxy.address()));
        let program = program.args(&["--send-proxy-protocol-to-proxy", "v2"]);
        let program = program.args(&["--proxy-cacert", &authority.certificate()]);
        program.to(origin.address())
    };
    assert_admitted(&through_haproxy().start());
    let via = next.address().to_string();
    assert_admitted(&through_haproxy().args(&["--via", &via]).start());
    assert!(next.head().starts_with("CONNECT "), "{}", next.head());
}

/// A header precedes TLS: nginx reads it before the handshake that ptunnel begins.
#[test]
fn a_destination_with_tls_gets_the_header_in_front() {
    let (authority, folder) = (Authority::new(), TempDir::new());
    let identity = authority.issue("nginx", "IP:127.0.0.1");
    let nginx = Balancer::nginx_with(|address| {
        let server = format!(
            "server {{\nlisten {} ssl proxy_protocol;\nssl_certificate {};\n\
             ssl_certificate_key {};",
            address, identity.certificate, identity.key
        );
        nginx_config(&folder, &server)
    });
    let program = Ptunnel::new().args(&["--no-proxy", "*", "--send-proxy-protocol", "v2"]);
    let program = program.args(&["--cacert", &authority.certificate()]);
    let program = program.to(format!("tls://{}", nginx.address())).start();
    let port = free_port().to_string();
    let url = format!("http://{}/", program.address());
    let seen = curl(&["--noproxy", "*", "--local-port", &port, &url]);
    assert_eq!(
        String::from_utf8_lossy(&seen),
        format!("127.0.0.1:{}", port)
    );
}
