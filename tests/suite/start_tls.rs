//! STARTTLS with destinations: PostgreSQL, stunnel's server mode for IMAP, SMTP and PostgreSQL, and
//! servers that refuse, lie or insert bytes.

use std::net::SocketAddr;

use crate::tls::assert_said;
use support::parts::{command, described, Squid};
use support::services::Postgres;
use support::tls::{Authority, Stunnel};
use support::{Connection, Finished, Peer, Ptunnel};

/// Returns the program, direct, with this authority trusted for its destination.
fn program(scheme: &str, server: SocketAddr, authority: &Authority) -> Ptunnel {
    let program = Ptunnel::new().args(&["--cacert", &authority.certificate()]);
    let program = program.args(&["--no-proxy", "*"]);
    program.to(format!("starttls-{}://{}", scheme, server))
}

/// The client speaks without TLS. It gets a greeting, and then speaks with the server in TLS.
#[test]
fn a_client_without_tls_speaks_through_starttls() {
    let authority = Authority::new();
    let identity = authority.issue("origin", "IP:127.0.0.1");
    let squid = Squid::start(None);
    for (scheme, protocol, greeting) in &[
        ("imap", "imap", "* OK ready"),
        ("smtp", "smtp", "220 mail.example ESMTP"),
        ("postgres", "pgsql", ""),
    ] {
        let greets = *greeting;
        let server = Peer::start(move |mut connection: Connection| {
            let greeting = format!("{}\r\n", greets);
            // The look whether stunnel listens ends at once.
            if greets.is_empty() || connection.try_send(greeting).is_ok() {
                connection.echo();
            }
        });
        let options = format!("protocol = {}\n", protocol);
        let stunnel = Stunnel::start_with(&identity, server.address(), &options);
        let program = Ptunnel::through(squid.address())
            .args(&["--cacert", &authority.certificate(), "-v"])
            .to(format!("starttls-{}://{}", scheme, stunnel.address()))
            .start();
        for _ in 0..2 {
            let mut client = program.connect();
            if !greeting.is_empty() {
                // stunnel adds its own words.
                client.expect(greeting.split(' ').next().unwrap());
                let mut line = Vec::new();
                while line.last() != Some(&b'\n') {
                    line.extend(client.receive(1));
                }
            }
            client.send("hello\r\n");
            client.expect("hello\r\n");
            client.finish_sending();
            client.expect_end();
        }
        let url = format!("starttls-{}://{}", scheme, stunnel.address());
        program.says(&[&url, "7 bytes up"]);
    }
}

/// The server is Debian's PostgreSQL, and its client speaks without TLS.
#[test]
fn postgresql_itself_sees_a_connection_over_tls() {
    let server = Postgres::start_over_tls("joe", "inventory");
    let program = Ptunnel::new()
        .args(&["--cacert", &server.certificate(), "--no-proxy", "*"])
        .to(format!("starttls-postgres://{}", server.address()))
        .start();
    let port = program.address().port().to_string();
    let output = command("psql")
        .args(&["-h", "127.0.0.1", "-p", &port, "-U", "joe", "-At", "-c"])
        .arg("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        .arg("dbname=inventory sslmode=disable")
        .output()
        .expect("psql");
    assert_eq!(output.stdout, b"t\n", "{}", described(&output));
}

/// A server that sends these lines, each after a line of the client.
fn scripted(lines: &'static [&'static str]) -> Peer {
    Peer::start(move |mut connection: Connection| {
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                while connection.receive(1) != b"\n" {}
            }
            connection.send(line);
        }
        connection.drain();
    })
}

#[track_caller]
fn fails(scheme: &str, server: &Peer) -> Finished {
    let authority = Authority::new();
    let server = format!("starttls-{}://{}", scheme, server.address());
    let program = Ptunnel::new().args(&["--cacert", &authority.certificate()]);
    let program = program.args(&["--no-proxy", "*", "--handshake-timeout", "1", "-W", &server]);
    let finished = program.run();
    finished.expect_code(1);
    assert_eq!(
        finished.text(),
        "",
        "no byte in plain text reaches the client"
    );
    finished
}

/// CVE-2011-0411: an attacker on the network adds lines, which the client would take for the
/// server's.
#[test]
fn bytes_before_tls_never_reach_the_client() {
    let imap = scripted(&["* OK ready\r\n", "ptunnel OK go\r\n* OK inserted\r\n"]);
    let said = fails("imap", &imap).stderr;
    assert_said(
        &said,
        &["TLS handshake with 127.0.0.1:", "an attacker inserted"],
    );
    let smtp = scripted(&[
        "220 a\r\n",
        "250-a\r\n250 STARTTLS\r\n",
        "220 go\r\n250 x\r\n",
    ]);
    assert_said(&fails("smtp", &smtp).stderr, &["an attacker inserted"]);
    // In another packet, the bytes are no TLS.
    let late = Peer::start(|mut connection: Connection| {
        connection.send("* OK ready\r\n");
        while connection.receive(1) != b"\n" {}
        connection.send("ptunnel OK go\r\n");
        connection.receive(5);
        connection.send("* OK inserted\r\n");
        connection.drain();
    });
    assert_said(
        &fails("imap", &late).stderr,
        &["speak TLS on this port; remove starttls-imap://"],
    );
}

#[test]
fn a_refusal_says_what_the_server_said() {
    for (scheme, lines, expected) in &[
        (
            "imap",
            &["* OK ready\r\n", "ptunnel BAD no TLS\r\n"][..],
            "'ptunnel BAD no TLS'",
        ),
        (
            "imap",
            &["SSH-2.0-x\r\n"],
            "the server doesn't speak IMAP ('SSH-2.0-x')",
        ),
        (
            "smtp",
            &["220 a\r\n", "250-a\r\n250 HELP\r\n"],
            "doesn't offer STARTTLS",
        ),
        (
            "smtp",
            &["554 go away\r\n"],
            "refused STARTTLS ('554 go away')",
        ),
        ("postgres", &["N"], "refused STARTTLS ('N')"),
    ] {
        let server = scripted(lines);
        let said = fails(scheme, &server).stderr;
        assert_said(&said, &["TLS handshake with 127.0.0.1:", expected]);
    }
    let closing = Peer::start(|mut connection: Connection| connection.send("* OK"));
    let said = fails("imap", &closing).stderr;
    assert_said(&said, &["closed the connection before STARTTLS"]);
}

/// A wrong scheme mostly shows as silence: each side waits for the other.
#[test]
fn a_test_names_the_schemes_when_the_server_is_silent() {
    let silent = Peer::start(|mut connection| connection.drain());
    let authority = Authority::new();
    let program = program("imap", silent.address(), &authority);
    let finished = program
        .args(&["--handshake-timeout", "0.5", "--test"])
        .run();
    finished.expect_code(1);
    let text = finished.text();
    assert_said(
        &text,
        &[
            "testing starttls-imap://",
            "TLS",
            "no reply from 127.0.0.1:",
        ],
    );
    assert_said(&text, &["check that the scheme fits the port"]);
}
