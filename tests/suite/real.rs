//! Real proxies, a real origin and real clients, each through a tunnel of the program.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread;

use support::parts::{command, curl, described, output, Login};
use support::parts::{Nginx, Squid, Sshd, Tinyproxy, SMALL};
use support::sys::SIGKILL;
use support::{Pattern, Peer, Ptunnel, Running, TempDir};

const LOGIN: Login<'static> = Some(("joe", "p:w d%"));

/// A proxy of each kind, with its URL and the credentials that it requires.
enum Proxy {
    Squid(Squid),
    Tinyproxy(Tinyproxy),
    Embedded(Running),
}

impl Proxy {
    fn address(&self) -> SocketAddr {
        match self {
            Proxy::Squid(squid) => squid.address(),
            Proxy::Tinyproxy(tinyproxy) => tinyproxy.address(),
            Proxy::Embedded(program) => program.proxy(),
        }
    }

    fn url(&self, login: Login) -> String {
        match login {
            Some(_) => format!("http://joe:p%3Aw%20d%25@{}", self.address()),
            None => self.address().to_string(),
        }
    }
}

/// Calls `check` with each kind in turn.
fn for_each_proxy(login: Login, check: impl Fn(&str, &Proxy)) {
    check("squid", &Proxy::Squid(Squid::start(login)));
    check(
        "tinyproxy",
        &Proxy::Tinyproxy(Tinyproxy::start(login.map(|_| ("joe", "secret")))),
    );
    let mut embedded = Ptunnel::new().serving();
    if let Some((user, password)) = login {
        embedded = embedded
            .args(&["--serve-user", user])
            .env("PTUNNEL_SERVE_PASSWORD", password);
    }
    check("embedded", &Proxy::Embedded(embedded.start()));
}

/// Fetches both files of the origin through the tunnel, over plain HTTP and over TLS.
fn fetch_all(plain: SocketAddr, tls: SocketAddr, nginx: &Nginx) {
    let trust = nginx.certificate();
    let secure = format!("https://localhost:{}", tls.port());
    for url in &[format!("http://{}", plain), secure] {
        let get = |file: &str| {
            let url = format!("{}/{}", url, file);
            curl(&["--noproxy", "*", "--cacert", &trust, &url])
        };
        assert_eq!(get("small"), SMALL.as_bytes());
        Nginx::big().check(0, &get("big"));
    }
}

#[test]
fn curl_fetches_from_nginx_through_each_proxy() {
    let nginx = Nginx::start();
    for_each_proxy(None, |_, proxy| {
        let program = Ptunnel::through(proxy.url(None))
            .to(nginx.address())
            .to(nginx.tls())
            .start();
        fetch_all(program.address_of(0), program.address_of(1), &nginx);
        assert_eq!(program.stderr(), "");
    });
}

#[test]
fn many_curls_at_once_through_each_proxy() {
    let nginx = Nginx::start();
    for_each_proxy(None, |name, proxy| {
        let program = Ptunnel::through(proxy.url(None))
            .to(nginx.address())
            .start();
        let url = format!("http://{}/small", program.address());
        let all: Vec<_> = (0..20)
            .map(|_| {
                let url = url.clone();
                thread::spawn(move || curl(&["--noproxy", "*", &url]))
            })
            .collect();
        for one in all {
            assert_eq!(one.join().unwrap(), SMALL.as_bytes(), "{}", name);
        }
    });
}

#[test]
fn squid_and_the_embedded_proxy_accept_credentials() {
    let nginx = Nginx::start();
    for_each_proxy(LOGIN, |name, proxy| {
        if name == "tinyproxy" {
            return; // its configuration can't contain this password
        }
        let program = Ptunnel::through(proxy.url(LOGIN))
            .to(nginx.address())
            .start();
        let url = format!("http://{}/small", program.address());
        assert_eq!(
            curl(&["--noproxy", "*", &url]),
            SMALL.as_bytes(),
            "{}",
            name
        );
    });
}

#[test]
fn tinyproxy_accepts_credentials() {
    let nginx = Nginx::start();
    let proxy = Tinyproxy::start(Some(("joe", "secret")));
    let folder = TempDir::new();
    let file = folder.file_with_mode("password", 0o600, "secret\n");
    let program = Ptunnel::through(proxy.address())
        .to(nginx.address())
        .args(&["-U", "joe", "--password-file", &file])
        .start();
    let url = format!("http://{}/small", program.address());
    assert_eq!(curl(&["--noproxy", "*", &url]), SMALL.as_bytes());
}

#[test]
fn wrong_or_missing_credentials_end_with_exit_code_4() {
    let nginx = Nginx::start();
    for_each_proxy(LOGIN, |name, proxy| {
        for url in &[
            proxy.address().to_string(),
            format!("http://joe:wrong@{}", proxy.address()),
        ] {
            let destination = nginx.address().to_string();
            let finished = Ptunnel::through(url).args(&["-W", &destination]).run();
            // tinyproxy 1.11 answers wrong credentials with 401.
            let odd = name == "tinyproxy" && finished.stderr.contains("401");
            let told = finished
                .stderr
                .contains("tinyproxy send for a wrong password");
            assert_eq!(odd, told, "{}", finished.stderr);
            finished.expect_code(if odd { 3 } else { 4 });
            assert!(
                odd || finished.stderr.contains("Basic"),
                "{}: {}",
                name,
                finished.stderr
            );
        }
    });
}

#[test]
fn each_proxys_refusal_is_reported() {
    for_each_proxy(None, |name, proxy| {
        let dead = support::closed_address().to_string();
        let finished = Ptunnel::through(proxy.url(None)).args(&["-W", &dead]).run();
        finished.expect_code(3);
        let told = &finished.stderr;
        assert_eq!(told.lines().count(), 1, "{}: {}", name, told);
        let status = told.contains("502") || told.contains("503") || told.contains("500");
        assert!(told.contains("connect to"), "{}: {}", name, told);
        assert!(!told.contains("URL"), "{}: {}", name, told);
        assert!(
            status && told.contains(&proxy.address().to_string()),
            "{}: {}",
            name,
            told
        );
    });
}

#[test]
fn openssl_uses_tls_through_each_proxy() {
    let nginx = Nginx::start();
    for_each_proxy(None, |name, proxy| {
        let program = Ptunnel::through(proxy.url(None)).to(nginx.tls()).start();
        let mut client = command("openssl");
        client.args(&[
            "s_client",
            "-connect",
            &program.address().to_string(),
            "-quiet",
        ]);
        client.args(&[
            "-servername",
            "localhost",
            "-verify_return_error",
            "-ign_eof",
        ]);
        client.args(&["-CAfile", &nginx.certificate()]);
        let folder = TempDir::new();
        let request = "GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let request = folder.file("request", request);
        let output = client
            .stdin(std::fs::File::open(request).unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n"),
            "{}: {}",
            name,
            described(&output)
        );
        assert!(text.ends_with(SMALL), "{}: {}", name, text);
    });
}

fn ssh(sshd: &Sshd, program: &Ptunnel) -> Command {
    let options = sshd.client_options(&format!("{} -W %h:%p", program.words()));
    let mut command = command("ssh");
    command.args(options).arg("127.0.0.1");
    command
}

#[test]
fn ssh_works_and_copies_through_each_proxy() {
    let sshd = Sshd::start();
    for_each_proxy(None, |name, proxy| {
        let program = Ptunnel::through(proxy.url(None));
        let output = ssh(&sshd, &program)
            .arg("exit 7")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(7),
            "{}: {}",
            name,
            described(&output)
        );
        let content = Pattern::new(9).take(3 << 20);
        let folder = TempDir::new();
        let file = folder.file("file", &content);
        let mut cat = ssh(&sshd, &program);
        let cat = cat.arg("cat").stdin(std::fs::File::open(file).unwrap());
        assert!(cat.output().unwrap().stdout == content, "{}", name);
    });
}

#[test]
fn ssh_reaches_a_listening_tunnel_through_squid() {
    let (sshd, squid) = (Sshd::start(), Squid::start(LOGIN));
    let proxy = Proxy::Squid(squid);
    let program = Ptunnel::through(proxy.url(LOGIN))
        .to(sshd.address())
        .start();
    let options = sshd.client_options(&format!("socat - TCP:{}", program.address()));
    let mut words: Vec<&str> = options.iter().map(|word| &word[..]).collect();
    words.extend_from_slice(&["127.0.0.1", "echo there"]);
    let output = output("ssh", &words);
    assert_eq!(output.stdout, b"there\n", "{}", described(&output));
}

/// As docs/security.md states: the system ends the connections of a process that is killed.
#[test]
fn a_proxy_that_is_killed_looks_like_an_orderly_end() {
    let origin = Peer::start(|mut connection| connection.echo());
    let proxy = Ptunnel::new().serving().start();
    let program = Ptunnel::through(proxy.proxy()).to(origin.address()).start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    proxy.signal(SIGKILL);
    client.expect_end();
}
