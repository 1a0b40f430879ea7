//! `http://` requests of local programs on `-D`: ptunnel forwards each to the URL's host in the
//! form for a server.

use std::io::Read;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crate::dynamic::{answered, listening, of_joe};
use crate::status::eventually_is;
use support::ends::Gate;
use support::parts::{command, curl, run, Nginx, Squid, Tinyproxy, SMALL};
use support::tls::{Authority, Stunnel};
use support::{closed_address, Blackhole, Connection, Pattern, Peer, Ptunnel, Running};

const MIB: u64 = 1 << 20;

/// The fields that ptunnel adds to a request.
const OURS: &str = "Connection: close\r\n\r\n";

/// Returns a listener that connects directly.
fn direct() -> Running {
    listening(Ptunnel::new().args(&["--direct-fallback", "-v"])).start()
}

/// Returns a request without a body.
fn get(at: SocketAddr, path: &str) -> String {
    format!("GET http://{}{} HTTP/1.1\r\nHost: x\r\n\r\n", at, path)
}

/// Returns the forwarded form of that request.
fn asked(at: SocketAddr, path: &str) -> String {
    format!("GET {} HTTP/1.1\r\nHost: {}\r\n{}", path, at, OURS)
}

/// Reads a body to its end, as its framing states it; returns its bytes on the wire.
fn body(head: &str, connection: &mut Connection) -> Vec<u8> {
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    if let Some(length) = length {
        return connection.receive(length.parse().unwrap());
    }
    assert!(head.contains("Transfer-Encoding: chunked\r\n"), "{}", head);
    let mut all = Vec::new();
    loop {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.extend(connection.receive(1));
        }
        let size = String::from_utf8(line).unwrap();
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        all.extend(connection.receive(size));
        connection.expect("\r\n");
        if size == 0 {
            return all;
        }
    }
}

/// A web server that returns the body of its request, and requires the origin form.
fn web() -> Peer {
    Peer::start(|mut connection| {
        let head = String::from_utf8(connection.read_head()).unwrap();
        let first = head.lines().next().unwrap();
        assert!(first.ends_with(" /up?load HTTP/1.1"), "{}", head);
        assert!(!head.to_lowercase().contains("proxy"), "{}", head);
        if head.contains("Expect: 100-continue\r\n") {
            connection.send("HTTP/1.1 100 Continue\r\n\r\n");
        }
        let body = body(&head, &mut connection);
        connection.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
            body.len()
        ));
        connection.send(body);
        connection.finish_sending();
    })
}

#[test]
fn curl_fetches_from_nginx_through_squid_and_tinyproxy() {
    let nginx = Nginx::start();
    let (squid, tinyproxy) = (Squid::start(None), Tinyproxy::start(None));
    for proxy in &[squid.address(), tinyproxy.address()] {
        let program = listening(Ptunnel::through(proxy).arg("-v")).start();
        let at = format!("http://{}", program.address());
        let fetch = |file: &str| {
            let url = format!("http://localhost:{}/{}", nginx.address().port(), file);
            curl(&["--noproxy", "", "-x", &at, &url])
        };
        assert_eq!(fetch("small"), SMALL.as_bytes());
        Nginx::big().check(0, &fetch("big"));
        let through = format!("through {}", proxy);
        program.says(&["info", "to localhost:", &through, "closed by both sides"]);
    }
}

#[test]
fn replies_without_a_body_and_ranges_are_passed_on() {
    let (nginx, program) = (Nginx::start(), direct());
    let at = format!("http://{}", program.address());
    let url = format!("http://{}/small", nginx.address());
    let fetch = |args: &[&str]| {
        let all = [&["--noproxy", "", "-x", &at, &url], args].concat();
        String::from_utf8(curl(&all)).unwrap()
    };
    assert!(fetch(&["-I"]).starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!(fetch(&["-r", "2-6"]), "small");
    assert!(fetch(&["-o", "-", "-w", "%{http_code}", "-X", "PUT"]).ends_with("405"));
    assert_eq!(fetch(&["--http1.0"]), SMALL);
    assert_eq!(
        fetch(&["-w", "%{num_connects}", &url]),
        format!("{}1{}1", SMALL, SMALL)
    );
}

#[test]
fn curl_sends_bodies_of_either_kind() {
    let (web, program) = (web(), direct());
    let at = format!("http://{}", program.address());
    let url = format!("http://{}/up?load", web.address());
    let folder = support::TempDir::new();
    let file = folder.file("body", Pattern::new(1).take(3 * MIB as usize));
    let data = format!("@{}", file);
    for way in &[
        &["--data-binary", &data][..],
        &["--data-binary", &data, "-H", "Expect: 100-continue"],
        &["-T", &file],
        &["-T", &file, "-H", "Transfer-Encoding: chunked"],
        &[
            "-T",
            &file,
            "-H",
            "Transfer-Encoding: chunked",
            "-H",
            "Expect:",
        ],
        &["-d", "short"],
    ] {
        let got = curl(&[&["--noproxy", "", "-x", &at, &url], *way].concat());
        if way[0] == "-d" {
            assert_eq!(got, b"short");
        } else {
            assert_eq!(got.len() as u64, 3 * MIB, "{:?}", way);
            Pattern::new(1).check(0, &got);
        }
    }
}

/// The client's second request can be for another host: the first one must not get it.
#[test]
fn a_second_request_reaches_no_server() {
    let (gate, program) = (Gate::open(), direct());
    let next = get("192.0.2.1:80".parse().unwrap(), "/secret");
    let post = |fields: &str, body: &str| {
        let head = |target: &str, host: &str, end: &str| {
            format!(
                "POST {} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n{}",
                target, host, fields, end
            )
        };
        let at = gate.address();
        let ours = format!(
            "POST /a HTTP/1.1\r\nHost: {}\r\n{}\r\n{}{}",
            at, fields, OURS, body
        );
        (head(&format!("http://{}/a", at), "x", body), ours)
    };
    for (said, expected) in &[
        (get(gate.address(), "/a"), asked(gate.address(), "/a")),
        post("Content-Length: 5", "hello"),
        post(
            "Transfer-Encoding: chunked",
            "5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
        ),
    ] {
        // Pipelined, later, and byte by byte.
        for manner in 0..3 {
            let mut client = program.connect();
            match manner {
                0 => client.send(format!("{}{}", said, next)),
                1 => client.send(said),
                _ => client.send_bytewise(format!("{}{}", said, next)),
            }
            let mut server = gate.accept();
            server.expect(expected);
            server.send("HTTP/1.1 200 OK\r\n\r\n");
            client.read_head();
            if manner == 1 {
                client.send(&next);
            }
            // Nor is the client's end passed on.
            client.finish_sending();
            assert!(server.is_quiet());
            server.send("late");
            server.finish_sending();
            client.expect("late");
            client.expect_end();
        }
    }
    assert!(gate.try_accept().is_none());
}

#[test]
fn the_destination_gets_only_end_to_end_fields() {
    let (gate, program) = (Gate::open(), direct());
    let mut client = program.connect();
    client.send(format!(
        "PUT HTTP://{}?q HTTP/1.0\r\nHost: other.example\r\nProxy-Connection: keep-alive\r\n\
         X-A: 1\r\nConnection: keep-alive, X-B\r\nX-B: 2\r\nTE: trailers\r\n\
         Proxy-Authorization: Basic am9lOng=\r\nAuthorization: Basic am9lOng=\r\n\
         Content-Length: 2\r\nVia: 1.1 before\r\n\r\nab",
        gate.address()
    ));
    let mut server = gate.accept();
    server.expect(format!(
        "PUT /?q HTTP/1.0\r\nHost: {}\r\nX-A: 1\r\nAuthorization: Basic am9lOng=\r\n\
         Content-Length: 2\r\nVia: 1.1 before\r\nConnection: close\r\n\r\nab",
        gate.address()
    ));
    // The server's own fields and body are passed on unchanged.
    server.send("HTTP/1.0 200 OK\r\nContent-Type: a\r\n\r\nany\nthing");
    client.expect("HTTP/1.0 200 OK\r\nContent-Type: a\r\nConnection: close\r\n\r\nany\nthing");
    server.reset();
    client.expect_reset();
}

/// Fields of `--header` are for proxies.
#[test]
fn a_forwarded_request_uses_a_tunnel_to_port_80() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address()).args(&["--header", "X-Tag: 1"]);
    let program = listening(program.watched()).start();
    let mut client = program.connect();
    client.send("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n");
    let mut server = gate.accept();
    let head = String::from_utf8(server.read_head()).unwrap();
    let connect = "CONNECT a.example:80 HTTP/1.1\r\nHost: a.example:80\r\nX-Tag: 1\r\n\r\n";
    assert_eq!(head, connect);
    assert!(server.is_quiet());
    server.send("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 early\r\n\r\n");
    server.expect(format!("GET /x HTTP/1.1\r\nHost: a.example\r\n{}", OURS));
    client.expect("HTTP/1.1 200 early\r\nConnection: close\r\n\r\n");
    eventually_is(&program, "ptunnel_clients", &["destination=\"*\""], 1.0);
}

#[test]
fn no_proxy_applies_to_forwarded_requests() {
    let (proxy, nginx) = (Peer::echoing(), Nginx::start());
    let program = Ptunnel::through(proxy.address()).args(&["--no-proxy", "127.0.0.0/8"]);
    let program = listening(program.arg("-v")).start();
    let at = format!("http://{}", program.address());
    let url = format!("http://{}/small", nginx.address());
    let got = curl(&["--noproxy", "", "-x", &at, &url]);
    assert_eq!(got, SMALL.as_bytes());
    assert_eq!(proxy.accepted(), 0);
    program.says(&["info", &nginx.address().to_string(), "directly"]);
}

/// squid ends a tunnel when one side ends, so passing on netcat's end lost the reply.
#[test]
fn netcat_gets_its_reply_after_its_end() {
    let (nginx, squid) = (Nginx::start(), Squid::start(None));
    let through = listening(Ptunnel::through(squid.address())).start();
    for program in &[direct(), through] {
        let mut netcat = command("nc.openbsd");
        let at = program.address();
        netcat.args(&["-N", &at.ip().to_string(), &at.port().to_string()]);
        let got = answered(netcat, get(nginx.address(), "/small").as_bytes());
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{}", got);
        assert!(got.ends_with(SMALL), "{}", got);
    }
}

#[test]
fn the_end_of_an_incomplete_request_is_passed_on() {
    let (gate, program) = (Gate::open(), direct());
    for fields in &["Content-Length: 5", "Transfer-Encoding: chunked"] {
        let mut client = program.connect();
        client.send(format!(
            "PUT http://{}/ HTTP/1.1\r\n{}\r\n\r\n5",
            gate.address(),
            fields
        ));
        client.finish_sending();
        let mut server = gate.accept();
        server.read_head();
        server.expect("5");
        server.expect_end();
        server.send("HTTP/1.1 400 Half\r\n\r\n");
        server.finish_sending();
        client.read_head();
        client.expect_end();
    }
}

#[test]
fn bulk_data_flows_both_ways_at_once() {
    let origin = Peer::start(|mut connection| {
        connection.read_head();
        let mut reader = connection.handle();
        // The other handle doesn't have the bytes that were read together with the head.
        let mut first = vec![0; MIB as usize];
        connection.read_exact(&mut first).unwrap();
        Pattern::new(1).check(0, &first);
        let reading = thread::spawn(move || {
            let rest = reader.receive(31 * MIB as usize);
            Pattern::new(1).check(MIB, &rest);
            reader
        });
        connection.send("HTTP/1.1 200 OK\r\n\r\n");
        Pattern::new(2).write(&mut connection, 32 * MIB).unwrap();
        // As in `tls`: stunnel discards unread bytes once both sides have ended.
        let mut reader = reading.join().unwrap();
        connection.finish_sending();
        reader.expect_end();
    });
    let authority = Authority::new();
    let identity = authority.issue("proxy", "DNS:localhost,IP:127.0.0.1");
    let proxy = Ptunnel::new().serving().start();
    let stunnel = Stunnel::start(&identity, proxy.proxy());
    let secure = Ptunnel::through(format!("https://{}", stunnel.address()));
    let secure = secure.args(&["--proxy-cacert", &authority.certificate()]);
    let plain = Ptunnel::new().arg("--direct-fallback");
    for program in vec![listening(plain).start(), listening(secure).start()] {
        let mut client = program.connect();
        let mut writer = client.handle();
        let at = origin.address();
        let writing = thread::spawn(move || {
            let length = 32 * MIB;
            writer.send(format!(
                "PUT http://{}/ HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
                at, length
            ));
            Pattern::new(1).write(&mut writer, length).unwrap();
            writer.send("GET http://192.0.2.1/ HTTP/1.1\r\n\r\n");
            writer
        });
        client.read_head();
        Pattern::new(2).read(&mut client, 32 * MIB);
        writing.join().unwrap().finish_sending();
        client.expect_end();
    }
}

#[test]
fn a_request_with_an_ambiguous_end_is_cut() {
    let gate = Gate::open();
    let program = direct();
    for chunk in &[
        "five\r\n",
        "5 5\r\n",
        "5 x\r\n",
        "5;a\0b\r\n",
        "00000000000000005\r\n",
    ] {
        let mut client = program.connect();
        client.send(format!(
            "PUT http://{}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            gate.address()
        ));
        let mut server = gate.accept();
        server.read_head();
        server.expect("5\r\nhello\r\n");
        client.send(chunk);
        server.expect_reset();
        client.expect_reset();
        program.says(&["info", "cut: client: the request has an invalid chunk"]);
    }
}

/// A server that replies to one request of a connection with this body, and doesn't close it before
/// the client does; then, or when nothing has arrived for a moment, it sends more bytes.
fn keeping(body: &'static str) -> Peer {
    Peer::proxy(move |mut connection| {
        let reply = |body: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
                body.len(),
                body
            )
        };
        connection.send(reply(body));
        let moment = Some(Duration::from_millis(500));
        connection.stream().set_read_timeout(moment).unwrap();
        let _ = connection.read(&mut [0]);
        let _ = connection.try_send(reply("of another server"));
        connection.stream().set_read_timeout(None).unwrap();
        connection.drain();
    })
}

/// Requests URLs on one connection, as long as it lasts.
const REUSE: &str = "
import http.client, sys
connection = http.client.HTTPConnection(sys.argv[1], timeout=20)
for url in sys.argv[2:]:
    connection.request('GET', url)
    print(connection.getresponse().read().decode())
";

/// Regression: a client sent its next request, for another host, on the same connection. The
/// request was discarded, and later bytes of the first server passed for its reply.
#[test]
fn no_server_replies_for_another() {
    let (first, second) = (keeping("first"), keeping("second"));
    let program = direct();
    let at = program.address().to_string();
    let url = |server: &Peer| format!("http://{}/", server.address());
    let (a, b) = (url(&first), url(&second));
    let proxy = format!("http://{}", at);
    let urls = ["--noproxy", "", "-x", &proxy, "-w", "\n", &a, &b, &a];
    let said = String::from_utf8(curl(&urls)).unwrap();
    assert_eq!(said, "first\nsecond\nfirst\n");
    let said = run("python3", &["-c", REUSE, &at, &a, &b, &a]);
    assert_eq!(String::from_utf8(said).unwrap(), "first\nsecond\nfirst\n");
    assert_eq!((first.accepted(), second.accepted()), (4, 2));
}

/// Regression: a page of 30 images took 25 s, because each request waited for the end of the
/// previous connection.
#[test]
fn an_origin_that_ignores_close_causes_no_delay() {
    let origin = Peer::proxy(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nimage");
        connection.drain();
    });
    let program = direct();
    let at = program.address().to_string();
    let urls: Vec<String> = (0..30)
        .map(|number| format!("http://{}/{}", origin.address(), number))
        .collect();
    let mut args = vec!["-c", REUSE, &at];
    args.extend(urls.iter().map(String::as_str));
    let said = run("python3", &args);
    assert_eq!(String::from_utf8(said).unwrap(), "image\n".repeat(30));
    assert_eq!(origin.accepted(), 30);
    let heads = origin.heads();
    let paths: Vec<&str> = heads
        .iter()
        .filter_map(|head| head.split(' ').nth(1))
        .collect();
    let expected: Vec<String> = (0..30).map(|number| format!("/{}", number)).collect();
    assert_eq!(paths, expected);
}

#[test]
fn a_reply_ends_where_its_framing_ends() {
    let (gate, program) = (Gate::open(), direct());
    let length = "Content-Length: 5\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    let chunks = "5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n";
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
    for (method, interim, status, fields, body) in &[
        ("GET", "", "200 OK", length, "hello"),
        ("GET", "", "200 OK", "Content-Length: 0\r\n", ""),
        ("GET", "", "404 No", chunked, chunks),
        ("GET", interim, "200 OK", length, "hello"),
        ("HEAD", "", "200 OK", length, ""),
        ("HEAD", interim, "200 OK", chunked, ""),
        ("GET", "", "204 No Content", "", ""),
        ("GET", "", "304 Not Modified", length, ""),
    ] {
        for is_cut in &[false, true] {
            let mut client = program.connect();
            client.send(format!(
                "{} http://{}/ HTTP/1.1\r\n\r\n",
                method,
                gate.address()
            ));
            let mut server = gate.accept();
            server.read_head();
            let next = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
            let hops = "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\n";
            let head = format!("HTTP/1.1 {}\r\nX-A: b\r\n{}", status, fields);
            let said = format!("{}{}{}\r\n{}", interim, head, hops, body);
            if *is_cut {
                server.send_apart(said.as_bytes().chunks(23));
                let _ = server.try_send(next);
            } else {
                server.send(said + next);
            }
            // The reply has `Connection: close`, though neither side has closed.
            let expected = format!("{}{}Connection: close\r\n\r\n{}", interim, head, body);
            assert_eq!(String::from_utf8(client.rest()).unwrap(), expected);
            server.expect_end();
        }
    }
}

/// A client that speaks HTTP/1.0 takes an interim reply for the final one (RFC 9110 §15.2).
#[test]
fn an_http_1_0_client_gets_no_interim_reply() {
    let (gate, program) = (Gate::open(), direct());
    let mut client = program.connect();
    client.send(format!("GET http://{}/ HTTP/1.0\r\n\r\n", gate.address()));
    let mut server = gate.accept();
    server.read_head();
    server.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
    let expected = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    assert_eq!(String::from_utf8(client.rest()).unwrap(), expected);
}

#[test]
fn an_invalid_reply_is_a_bad_gateway() {
    let (gate, program) = (Gate::open(), direct());
    for (said, words) in &[
        ("220 mail.example ESMTP\r\n", "not HTTP/1"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
            "'5, 6'",
        ),
        (
            "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
            "unexpected 101",
        ),
        ("HTTP/1.1 200 OK\r\nContent-", "ended before"),
        ("", "ended before"),
    ] {
        let mut client = program.connect();
        client.send(get(gate.address(), "/"));
        let mut server = gate.accept();
        server.read_head();
        server.send(said);
        server.finish_sending();
        let reply = String::from_utf8(client.rest_or_reset()).unwrap();
        let status = reply.lines().next();
        assert_eq!(status, Some("HTTP/1.1 502 Bad Gateway"), "{}", reply);
        let told = "cannot forward the server's reply: ";
        assert!(reply.contains(told) && reply.contains(words), "{}", reply);
        program.says(&["info", "cut: upstream: ", told, words]);
    }
}

/// Regression: the client got a 502.
#[test]
fn fields_of_a_reply_with_an_invalid_name_are_removed() {
    let (gate, program) = (Gate::open(), direct());
    for (line, forwarded) in &[
        ("Two Words: x", ""),
        (": no name", ""),
        ("X-A : x", "X-A: x\r\n"),
        ("X: a\x01b", "X: a\x01b\r\n"),
    ] {
        let mut client = program.connect();
        client.send(get(gate.address(), "/"));
        let mut server = gate.accept();
        server.read_head();
        let length = "Content-Length : 2\r\n";
        server.send_apart(
            format!("HTTP/1.1  200 OK\r\n{}\r\n{}\r\nok", line, length)
                .as_bytes()
                .chunks(9),
        );
        let expected = format!(
            "HTTP/1.1 200 OK\r\n{}Content-Length: 2\r\nConnection: close\r\n\r\nok",
            forwarded
        );
        assert_eq!(String::from_utf8(client.rest()).unwrap(), expected);
        server.expect_end();
    }
}

#[test]
fn a_reply_with_an_ambiguous_end_is_cut() {
    let (gate, program) = (Gate::open(), direct());
    let mut client = program.connect();
    client.send(get(gate.address(), "/"));
    let mut server = gate.accept();
    server.read_head();
    server.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    client.read_head();
    client.expect("5\r\nhello\r\n");
    server.send("5 5\r\nhello");
    client.expect_reset();
    server.expect_reset();
    program.says(&["info", "cut: upstream: ", "the body has an invalid chunk"]);
}

/// The server rejects an upload and closes the connection, while the client is still sending.
#[test]
fn a_reply_before_the_end_of_the_request_arrives() {
    let (gate, program) = (Gate::open(), direct());
    let mut client = program.connect();
    client.send(format!(
        "PUT http://{}/ HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
        gate.address(),
        8 * MIB
    ));
    let mut server = gate.accept();
    server.read_head();
    server.send("HTTP/1.1 413 Too much\r\nContent-Length: 0\r\n\r\n");
    client.read_head();
    client.expect_end();
    server.reset();
    client.send(vec![0; 8 * MIB as usize]);
    client.finish_sending();
    program.says(&["info", "closed by both sides"]);
}

/// nginx doesn't compress replies to requests with `Via`.
#[test]
fn the_server_compresses_as_it_does_without_a_proxy() {
    let (nginx, program) = (Nginx::compressing(), direct());
    let at = format!("http://{}", program.address());
    let url = format!("http://{}/small", nginx.address());
    let encoding = |way: &[&str]| {
        let asked = [
            "-o",
            "/dev/null",
            "-D",
            "-",
            "-H",
            "Accept-Encoding: gzip",
            &url,
        ];
        let head = String::from_utf8(curl(&[way, &asked].concat())).unwrap();
        head.contains("\r\nContent-Encoding: gzip\r\n")
    };
    assert!(encoding(&["--noproxy", "*"]));
    assert!(encoding(&["--noproxy", "", "-x", &at]));
}

/// Checks a reply of ptunnel itself.
#[track_caller]
fn refused(program: &Running, said: &str, status: &str, told: &[&str]) -> String {
    let mut client = program.connect();
    let from = client.local().to_string();
    client.send(said);
    let reply = String::from_utf8(client.rest()).unwrap();
    assert!(
        reply.starts_with(&format!("HTTP/1.1 {} ", status)),
        "{}",
        reply
    );
    let logged = program.says(&[&["warning", &from[..]], told].concat());
    for words in told {
        assert!(reply.contains(words), "{:?} isn't in {}", words, reply);
    }
    for text in &[&reply, &logged] {
        assert!(!text.contains("secret"), "{}", text);
    }
    reply
}

#[test]
fn a_request_that_cannot_be_forwarded_gets_a_reason() {
    let program = listening(Ptunnel::through("proxy.example:1")).start();
    let fields = |fields: &str| format!("POST http://a/ HTTP/1.1\r\n{}\r\n\r\n", fields);
    let target = |target: &str| format!("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", target);
    for (said, words) in &[
        (target("/"), "http_proxy"),
        (target("/x?secret"), "not /x"),
        (target("*"), "http_proxy"),
        (target("https://a/"), "CONNECT"),
        (target("ftp://a/"), "ftp://"),
        (target("a:80"), "a:80"),
        (target("http://joe:secret@a/"), "or a password"),
        (target("http:///x"), "the host is missing"),
        (target("http://a:0/"), "port 0"),
        (target("http://a:b/"), "'a:b'"),
        (
            fields("Content-Length: 1\r\nTransfer-Encoding: chunked"),
            "both",
        ),
        (fields("Content-Length: 1\r\nContent-Length: 2"), "'1, 2'"),
        (fields("Transfer-Encoding: gzip"), "'gzip'"),
        (
            fields("Transfer-Encoding: identity, chunked"),
            "'identity, chunked'",
        ),
        (fields("Transfer_Encoding: chunked"), "'Transfer_Encoding'"),
        (fields("A: b\r\n folded"), "not HTTP/1"),
        (fields("Host: a\r\nHost: b"), "more than one Host"),
    ] {
        refused(&program, said, "400", &[words]);
    }
}

#[test]
fn an_unreachable_destination_gets_a_reason() {
    let (closed, hole) = (closed_address(), Blackhole::start());
    let program = listening(Ptunnel::new().args(&["--direct-fallback", "-w", "1"])).start();
    let told = ["refused", &closed.to_string()];
    refused(&program, &get(closed, "/"), "502", &told);
    refused(
        &program,
        &get(hole.address(), "/"),
        "504",
        &["timed out after 1s"],
    );
    let at = "192.0.2.1:80".parse().unwrap();
    for (status, told) in &[("403", "403 No"), ("407", "407"), ("503", "503 No")] {
        let reply = format!("HTTP/1.1 {} No\r\nContent-Length: 0\r\n\r\n", status);
        let proxy = Peer::replying(reply);
        let program = listening(Ptunnel::through(proxy.address())).start();
        let passed_on = if *status == "407" { "502" } else { status };
        let told = ["192.0.2.1:80", told];
        let reply = refused(&program, &get(at, "/"), passed_on, &told);
        let is_advised = reply.contains("only to port 443");
        assert_eq!(is_advised, *status == "403", "{}", reply);
    }
}

#[test]
fn other_machines_cannot_reach_this_machine() {
    let nginx = Nginx::start();
    let program = Ptunnel::new()
        .args(&["-D", "*:0", "--allow-from", "127.0.0.1", "--no-proxy", "*"])
        .more_lines(1)
        .start();
    let port = program.address().port();
    let mut client = Connection::open(([127, 0, 0, 1], port).into());
    client.send(get(nginx.address(), "/small"));
    let reply = String::from_utf8(client.rest()).unwrap();
    assert!(reply.starts_with("HTTP/1.1 403 "), "{}", reply);
    assert!(!reply.contains(SMALL), "{}", reply);
}

#[test]
fn curl_authenticates_and_the_destination_gets_no_credentials() {
    let origin = Peer::replying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let program = of_joe(Ptunnel::new().arg("--direct-fallback")).start();
    let at = format!("http://{}", program.address());
    let url = format!("http://{}/x", origin.address());
    let fetch = |more: &[&str]| {
        let all = ["--noproxy", "", "-w", " %{http_code}", "-x", &at, &url];
        String::from_utf8(curl(&[&all, more].concat())).unwrap()
    };
    let right = "joe:p:w \u{e4}d";
    assert_eq!(fetch(&["--proxy-user", right]), "ok 200");
    // After a 407.
    assert_eq!(fetch(&["--proxy-anyauth", "--proxy-user", right]), "ok 200");
    program.says(&["denied", "a username and a password"]);
    assert!(fetch(&["--proxy-user", "joe:wrong"]).ends_with(" 407"));
    assert!(fetch(&[]).ends_with(" 407"));
    let heads = origin.heads();
    assert_eq!(heads.len(), 2, "{:?}", heads);
    for head in heads {
        assert!(head.starts_with("GET /x HTTP/1.1\r\n"), "{}", head);
        assert!(!head.contains("uthorization"), "{}", head);
    }
}
