//! What is said on stderr, and what isn't.

use crate::ends::{Ends, Gate};
use crate::support::{closed_address, eventually, Peer, Ptunnel, Running};

fn start(gate: &Gate, args: &[&str]) -> Running {
    Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(args)
        .start()
}

#[test]
fn by_default_tunnels_that_work_leave_no_line() {
    let gate = Gate::open();
    let program = start(&gate, &[]);
    for _ in 0..3 {
        let mut ends = gate.join(&program);
        ends.check();
        let Ends { mut client, server } = ends;
        drop(server);
        client.expect_end();
    }
    let Ends { client, mut server } = gate.join(&program);
    client.reset();
    server.expect_nothing();
    program.signal(crate::support::sys::SIGTERM);
    assert_eq!(program.finish().stderr, "");
}

#[test]
fn a_client_that_cannot_be_served_is_one_line() {
    let dead = closed_address();
    let program = Ptunnel::through(dead).to("example.org:22").start();
    let mut client = program.connect();
    let from = client.local().to_string();
    client.expect_nothing();
    let line = program.says(&[&from, &dead.to_string()]);
    assert!(line.starts_with("warning"), "{}", line);
    assert_eq!(program.stderr().lines().count(), 1, "{}", program.stderr());
}

#[test]
fn quiet_leaves_out_warnings() {
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .args(&["-q", "-U", "joe:secret"])
        .start();
    program.connect().expect_nothing();
    program.signal(crate::support::sys::SIGTERM);
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
}

#[test]
fn quiet_keeps_the_error_that_ends_the_program() {
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address()).args(&["-q", "-W", "example.org:22"]);
    let finished = program.run();
    finished.expect_code(3);
    assert!(
        finished.stderr.contains("403 Forbidden"),
        "{}",
        finished.stderr
    );
}

/// Client, destination, proxy, bytes up and down, seconds, and why.
#[test]
fn verbose_has_a_line_for_each_tunnel_when_it_ends() {
    let gate = Gate::open();
    let program = start(&gate, &["-v"]);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let from = client.local().to_string();
    client.send(vec![b'u'; 12_345]);
    server.receive(12_345);
    server.send(vec![b'd'; 54_321]);
    client.receive(54_321);
    assert!(!program.stderr().contains(&from), "{}", program.stderr());
    client.finish_sending();
    server.expect_end();
    drop(server);
    client.expect_end();
    let proxy = gate.address().to_string();
    let words = [
        &from,
        "example.org:22",
        &proxy,
        "12345",
        "54321",
        "s, ",
        "closed by both sides",
    ];
    let line = program.says(&words);
    assert!(line.find("12345") < line.find("54321"), "{}", line);
    let lines = program
        .stderr()
        .lines()
        .filter(|line| line.contains(&from))
        .count();
    assert_eq!(lines, 1, "{}", program.stderr());
}

#[test]
fn verbose_tells_who_broke_a_tunnel() {
    let gate = Gate::open();
    let program = start(&gate, &["-v"]);
    let mut ends = gate.join(&program);
    ends.check();
    let from = ends.client.local().to_string();
    ends.client.reset();
    program.says(&[&from, "client", "reset"]);
    let mut ends = gate.join(&program);
    ends.check();
    let from = ends.client.local().to_string();
    ends.server.reset();
    program.says(&[&from, "upstream", "reset"]);
}

#[test]
fn verbose_counts_the_banner() {
    let proxy = Peer::proxy(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n");
        connection.finish_sending();
        connection.drain();
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .arg("-v")
        .start();
    let mut client = program.connect();
    client.expect("SSH-2.0-x\r\n");
    client.finish_sending();
    client.expect_end();
    program.says(&["0 bytes up", "11 down"]);
}

#[test]
fn verbose_tells_of_direct_connections() {
    let origin = Peer::start(|mut connection| connection.echo());
    let program = Ptunnel::new()
        .to(origin.address())
        .args(&["--no-proxy", "*", "-v"])
        .start();
    let mut client = program.connect();
    client.send("x");
    client.finish_sending();
    assert_eq!(client.rest(), b"x");
    program.says(&[&origin.address().to_string(), "directly", "1 bytes up"]);
}

#[test]
fn twice_verbose_tells_the_phases() {
    let gate = Gate::open();
    let program = start(&gate, &["-vv"]);
    let proxy = gate.address().to_string();
    let client = program.connect();
    program.says(&[&proxy, "connecting"]);
    let mut server = gate.accept();
    server.read_head();
    program.says(&[&proxy, "connected", "example.org:22"]);
    server.send("HTTP/1.1 200 OK\r\n\r\n");
    program.says(&[&client.local().to_string(), "example.org:22", "open"]);
}

/// A terminal obeys what it is shown: colours at best, keystrokes at worst.
#[test]
fn control_characters_from_the_network_are_escaped() {
    let replies = [
        "HTTP/1.1 403 Forb\u{1b}[31midden\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\n\r\n\u{1b}]0;title\u{7}\u{9b}2J\u{8}\r\nINJECTED: line",
        "HTTP/1.1 403 Forbidden\r\n\r\n<title>\u{1b}[2J\u{202e}</title>",
        "HTTP/1.1 407 Who\u{7f}?\r\nProxy-Authenticate: \u{1b}[31m, Basic\u{9b}\r\n\r\n",
        "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\t\u{8}\u{85}\r\n\r\n",
        "\u{1b}[31mSSH-2.0\r\n\r\n",
        "HTTP/1.1 \u{1b}\u{1b}\u{1b} OK\r\n\r\n",
    ];
    for reply in &replies {
        let proxy = Peer::replying(*reply);
        let program = Ptunnel::through(proxy.address())
            .to("example.org:22")
            .arg("-vvv")
            .start();
        program.connect().expect_nothing();
        program.says(&["warning", &proxy.address().to_string()]);
        let told = program.stderr();
        let bad = told
            .chars()
            .find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}');
        assert_eq!(bad, None, "{:?}", told);
        assert!(
            !told.lines().any(|line| line.starts_with("INJECTED")),
            "{:?}",
            told
        );
    }
}

#[test]
fn stdout_has_nothing_but_the_lines_about_addresses() {
    let gate = Gate::open();
    let program = start(&gate, &["-vvv"]);
    let mut ends = gate.join(&program);
    ends.check();
    drop(ends);
    program.says(&["bytes up"]);
    program.signal(crate::support::sys::SIGTERM);
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.text(), "");
}

/// Whoever reads the log is gone: no reason to go, too.
#[test]
fn a_log_that_nobody_reads_ends_nothing() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .arg("-vv")
        .after("exec 2> /dev/full")
        .start();
    for _ in 0..3 {
        let mut ends = gate.join(&program);
        ends.check();
    }
    let mut program = program;
    program.signal(crate::support::sys::SIGTERM);
    eventually("the program ends", || program.has_ended());
    program.finish().expect_code(0);
}
