//! `--listen-cert`: clients of `-D` and of the embedded proxy that speak TLS with ptunnel.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Stdio;

use crate::dynamic::listening;
use crate::reload::Site;
use crate::serve::echo;
use support::parts::{command, curl, described, output, run, Nginx, SMALL};
use support::temp::free_port;
use support::tls::{Authority, Identity};
use support::{Connection, Ptunnel, TempDir};

const NAMES: &str = "DNS:localhost,IP:127.0.0.1";

fn secured(program: Ptunnel, identity: &Identity) -> Ptunnel {
    program.args(&[
        "--listen-cert",
        &identity.certificate,
        "--listen-key",
        &identity.key,
    ])
}

/// Returns what a TLS client of socat gets for these bytes.
fn said_over_tls(to: SocketAddr, authority: &Authority, bytes: &[u8]) -> Vec<u8> {
    let to = format!(
        "OPENSSL:127.0.0.1:{},cafile={}",
        to.port(),
        authority.certificate()
    );
    let mut socat = command("socat");
    socat
        .args(&["-t", "20", "-", &to])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = socat.spawn().expect("socat");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(bytes)
        .expect("it reads");
    child.wait_with_output().expect("its output").stdout
}

#[test]
fn curl_uses_each_listener_as_an_https_proxy() {
    let (nginx, authority, folder) = (Nginx::start(), Authority::new(), TempDir::new());
    let identity = authority.issue("gateway", NAMES);
    let hash = run(
        "openssl",
        &["passwd", "-6", "-salt", "rounds=1000$saltsalt", "x"],
    );
    let users = format!("ann:{}", String::from_utf8(hash).unwrap());
    let users = folder.file_with_mode("users", 0o600, users);
    let program = listening(Ptunnel::new().arg("--direct-fallback").serving());
    let program = secured(program, &identity)
        .args(&["--users", &users, "-v"])
        .start();
    assert!(program.listening()[0]
        .line
        .contains(" for SOCKS5 and HTTP over TLS "));
    let embedded = format!("serving proxy on {} over TLS", program.proxy());
    assert_eq!(program.listening()[1].line, embedded);
    let plain = format!("http://{}", nginx.address());
    let https = format!("https://localhost:{}", nginx.tls().port());
    let (ca, trust) = (authority.certificate(), nginx.certificate());
    for (proxy, url, version) in &[
        (program.address_of(0), &plain, "1.2"),
        (program.address_of(0), &https, "1.3"),
        (program.proxy(), &https, "1.2"),
    ] {
        let proxy = format!("https://ann:x@localhost:{}", proxy.port());
        let get = |file: &str| {
            let url = format!("{}/{}", url, file);
            let last = [
                "--proxy-cacert",
                &ca,
                "--cacert",
                &trust,
                "--noproxy",
                "",
                &url,
            ];
            // The maximum version for the proxy follows that for the server.
            curl(&[&["-x", &proxy, "--tls-max", version], &last[..]].concat())
        };
        assert_eq!(get("small"), SMALL.as_bytes());
        Nginx::big().check(0, &get("big"));
    }
    program.says(&["info: ann at 127.0.0.1:", "closed by both sides"]);
    let wrong = format!("https://ann:y@localhost:{}", program.proxy().port());
    let words = [
        "-sS",
        "-x",
        &wrong,
        "--proxy-cacert",
        &ca,
        "--noproxy",
        "",
        &https,
    ];
    let said = output("curl", &words);
    assert!(
        String::from_utf8_lossy(&said.stderr).contains("407"),
        "{}",
        described(&said)
    );
}

/// The first byte inside TLS decides the protocol, as it does without.
#[test]
fn socks_works_inside_tls() {
    let (nginx, authority) = (Nginx::start(), Authority::new());
    let program = listening(Ptunnel::new().arg("--direct-fallback"));
    let program = secured(program, &authority.issue("gateway", NAMES)).start();
    let port = nginx.address().port().to_be_bytes();
    let get = b"GET /small HTTP/1.0\r\nHost: localhost\r\n\r\n";
    let address = [127, 0, 0, 1];
    let five = [&[5, 1, 0, 5, 1, 0, 1][..], &address, &port, get].concat();
    let four = [&[4, 1][..], &port, &address, b"\0", get].concat();
    for (bytes, begin) in &[(five, &[5, 0, 5, 0][..]), (four, &[0, 90])] {
        let said = said_over_tls(program.address(), &authority, bytes);
        assert!(
            said.starts_with(begin) && said.ends_with(SMALL.as_bytes()),
            "{:?}",
            said
        );
    }
}

/// ptunnel as the client: with `https://` proxies it verifies the listener's name.
#[test]
fn ptunnel_itself_connects_through_it() {
    let (origin, authority) = (echo(), Authority::new());
    let program = secured(Ptunnel::new().serving(), &authority.issue("gateway", NAMES)).start();
    let client = Ptunnel::through(format!("https://localhost:{}", program.proxy().port()))
        .to(origin.address())
        .args(&["--proxy-cacert", &authority.certificate()])
        .start();
    let mut connection = client.connect();
    connection.send("ping");
    connection.expect("ping");
    connection.finish_sending();
    connection.expect_end();
}

#[test]
fn clients_without_tls_are_rejected() {
    let authority = Authority::new();
    let program = listening(Ptunnel::through("a.example:1").args(&["--handshake-timeout", "1"]));
    let program = secured(program, &authority.issue("gateway", NAMES))
        .arg("-v")
        .start();
    for said in &[
        "CONNECT a.example:1 HTTP/1.1\r\n\r\n",
        "\x05\x01\0",
        "GET / HTTP/1.1\r\n\r\n",
    ] {
        let mut client = program.connect();
        client.send(said);
        client.finish_sending();
        client.rest_or_reset();
        let from = client.local().to_string();
        if said.len() > 3 {
            program.says(&[
                "warning",
                &from,
                "denied: no TLS: the client doesn't speak TLS on this",
            ]);
        }
    }
    // A port scanner or a health check, and a client that is silent.
    let left = program.connect();
    let from = left.local().to_string();
    drop(left);
    program.says(&["info", &from, "client disconnected without a request"]);
    let mut silent = program.connect();
    let from = silent.local().to_string();
    silent.expect_end();
    program.says(&[&from, "no request within the handshake timeout"]);
    let to = program.address().to_string();
    let words = [
        "s_client",
        "-connect",
        &to,
        "-tls1_1",
        "-cipher",
        "ALL:@SECLEVEL=0",
    ];
    assert!(!output("openssl", &words).status.success());
    program.says(&["denied: no TLS: no common version of TLS"]);
    let words = [
        &words[..3],
        &["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"],
    ]
    .concat();
    assert!(!output("openssl", &words).status.success());
    program.says(&["denied: no TLS: no common cipher; use a certificate with another kind of key"]);
}

/// A tunnel that is open keeps its connection.
#[test]
fn a_reload_changes_the_certificate() {
    let (nginx, folder, port) = (Nginx::start(), TempDir::new(), free_port());
    let (before, after) = (Authority::new(), Authority::new());
    let install = |authority: &Authority| {
        let identity = authority.issue("gateway", NAMES);
        let (cert, key) = (fs::read(identity.certificate), fs::read(identity.key));
        // The key may be in the same file.
        let pem = [cert.unwrap(), key.unwrap()].concat();
        folder.file_with_mode("server.pem", 0o600, pem)
    };
    let path = install(&before);
    let text = format!("serve-proxy = {}\nlisten-cert = '{}'\n", port, path);
    let mut site = Site::start_as(Ptunnel::new(), &text, 1);
    let get = |authority: &Authority| {
        let (proxy, ca) = (
            format!("https://localhost:{}", port),
            authority.certificate(),
        );
        let url = format!("http://{}/small", nginx.address());
        let words = [
            "-sSpx",
            &proxy,
            "--proxy-cacert",
            &ca,
            "--noproxy",
            "",
            &url,
        ];
        output("curl", &words).stdout == SMALL.as_bytes()
    };
    assert!(get(&before) && !get(&after));
    assert_eq!(site.reload(&text).1, "kept 1");
    install(&after);
    assert!(site.reload(&text).1.starts_with("changed "));
    assert!(get(&after) && !get(&before));
    fs::write(&path, "nothing").unwrap();
    let why = site.refuse(&text);
    assert!(
        why.contains("FILE:2: --listen-cert '") && why.contains("no certificate"),
        "{}",
        why
    );
    assert!(get(&after));
    let open = format!("serve-proxy = {}\n", port);
    assert!(site.reload(&open).1.starts_with("changed "));
    let mut client = Connection::open(([127, 0, 0, 1], port).into());
    client.send("GET / HTTP/1.1\r\n\r\n");
    assert!(client.rest().starts_with(b"HTTP/1.1 405 "));
}

#[test]
fn the_options_are_checked() {
    let authority = Authority::new();
    let (one, other) = (
        authority.issue("one", NAMES),
        authority.issue("other", NAMES),
    );
    let run = |args: &[&str]| Ptunnel::through("a.example:1").args(args).run();
    let (cert, key) = (&one.certificate[..], &other.key[..]);
    for (args, words) in &[
        (
            &["1:a:1", "--listen-cert", cert, "--listen-key", &one.key][..],
            "is for -D and --serve-proxy",
        ),
        (&["-D", "1", "--listen-cert", cert], "--listen-cert '"),
        (
            &["-D", "1", "--listen-cert", cert, "--listen-key", key],
            "the key doesn't match the certificate",
        ),
        (
            &["-D", "1", "--listen-cert", "/nowhere"],
            "--listen-cert '/nowhere': No such file",
        ),
        (
            &["-D", "1", "--listen-key", key],
            "--listen-key requires --listen-cert FILE",
        ),
    ] {
        let finished = run(args);
        finished.expect_code(2);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
    }
    let listen = ["-D", "*:1", "--dynamic-user", "joe:x", "--check-config"];
    let clear = run(&listen);
    assert!(clear
        .text()
        .contains("warning: passwords for *:1 cross the network unencrypted; add"));
    let tls = [
        "--listen-cert",
        cert,
        "--listen-key",
        &one.key,
        "--serve-proxy",
        "3128",
    ];
    let told = run(&[&listen[..], &tls].concat()).text();
    assert!(!told.contains("unencrypted"), "{}", told);
    assert!(
        told.contains("*:1 for SOCKS5 and HTTP over TLS by joe"),
        "{}",
        told
    );
    assert!(
        told.contains("would serve a proxy on 127.0.0.1:3128 over TLS to all"),
        "{}",
        told
    );
}
