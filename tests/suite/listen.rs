//! Listeners: addresses, several tunnels, limits, and what happens at them.

use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use support::ends::{Ends, Gate};
use support::temp::free_port;
use support::{eventually, steadily, sys, Connection, Peer, Ptunnel, Running};

/// Sends one message through a tunnel to an echo.
#[track_caller]
fn ping(program: &Running, tunnel: usize) {
    let mut client = program.connect_to(tunnel);
    client.send("ping");
    client.expect("ping");
}

#[test]
fn the_listening_line_names_address_destination_and_proxies() {
    let port = free_port();
    let program = Ptunnel::through("proxy.example:3128")
        .tunnel(&format!("{}:example.org:22", port))
        .start();
    assert_eq!(
        program.listening()[0].line,
        format!(
            "listening on 127.0.0.1:{} for example.org:22 through proxy.example:3128",
            port
        )
    );
}

#[test]
fn each_tunnel_leads_to_its_own_destination() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("a.example:1")
        .to("b.example:2")
        .to("[2001:db8::3]:3")
        .start();
    let destinations = ["a.example:1", "b.example:2", "[2001:db8::3]:3"];
    for (line, destination) in program.listening().iter().zip(&destinations) {
        assert!(
            line.line
                .contains(&format!(" for {} through ", destination)),
            "{}",
            line.line
        );
        assert_ne!(line.address().port(), 0);
    }
    for (tunnel, destination) in destinations.iter().enumerate() {
        ping(&program, tunnel);
        let head = proxy.heads().pop().unwrap();
        assert!(
            head.starts_with(&format!("CONNECT {} ", destination)),
            "{}",
            head
        );
    }
}

#[test]
fn tunnels_can_follow_an_l_flag_as_in_ssh() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .args(&["-L", "0:a.example:1", "-L", "127.0.0.1:0:b.example:2"])
        .more_lines(2)
        .to("c.example:3")
        .start();
    for tunnel in 0..3 {
        ping(&program, tunnel);
    }
}

#[test]
fn listens_only_on_loopback_by_default() {
    let program = Ptunnel::through("proxy.example:1")
        .to("example.org:22")
        .start();
    assert_eq!(program.address().ip().to_string(), "127.0.0.1");
}

#[test]
fn listens_on_the_given_address() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .args(&["--listen", "127.0.0.3"])
        .to("a.example:1")
        .tunnel("127.0.0.2:0:a.example:1")
        .tunnel("localhost:0:a.example:1")
        .tunnel("[::1]:0:a.example:1")
        .start();
    for (tunnel, ip) in ["127.0.0.3", "127.0.0.2", "127.0.0.1", "::1"]
        .iter()
        .enumerate()
    {
        assert_eq!(program.address_of(tunnel).ip().to_string(), *ip);
        ping(&program, tunnel);
    }
}

#[test]
fn a_star_and_an_empty_bind_are_all_interfaces() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .tunnel("*:0:a.example:1")
        .tunnel(":0:a.example:1")
        .start();
    for tunnel in 0..2 {
        let address = program.address_of(tunnel);
        assert!(address.ip().is_unspecified(), "{}", address);
        for ip in &["127.0.0.1", "127.0.0.9", "::1"] {
            let mut client = Connection::open(SocketAddr::new(ip.parse().unwrap(), address.port()));
            client.send("ping");
            client.expect("ping");
        }
    }
}

/// The public ptunnel only logs it and continues, or ends all tunnels with exit code 0.
#[test]
fn a_bind_that_fails_names_the_address_before_anything_is_served() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap();
    for args in &[&[][..], &["--threads", "2"]] {
        let finished = Ptunnel::through("proxy.example:1")
            .to("a.example:1")
            .tunnel(&format!("{}:b.example:1", taken.port()))
            .to("c.example:1")
            .args(args)
            .run();
        finished.expect_code(1);
        assert_eq!(finished.text(), "");
        assert!(
            finished.stderr.contains(&taken.to_string()),
            "{}",
            finished.stderr
        );
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    }
}

#[test]
fn an_address_of_another_machine_is_named() {
    let finished = Ptunnel::through("proxy.example:1")
        .tunnel("192.0.2.1:0:a.example:1")
        .run();
    finished.expect_code(1);
    assert!(finished.stderr.contains("192.0.2.1"), "{}", finished.stderr);
}

#[test]
fn the_same_port_twice_is_an_error() {
    let tunnel = format!("{}:a.example:1", free_port());
    for args in &[&[][..], &["--threads", "2"]] {
        let once = || {
            Ptunnel::through("proxy.example:1")
                .tunnel(&tunnel)
                .args(args)
        };
        let _there = once().start();
        let finished = once().run();
        finished.expect_code(1);
        assert_eq!(finished.text(), "");
        // Within one program, the conflict is found without a bind.
        let finished = once().tunnel(&tunnel).run();
        finished.expect_code(2);
        assert_eq!(finished.text(), "");
        assert!(finished.stderr.contains("twice"), "{}", finished.stderr);
    }
}

#[test]
fn a_client_that_fails_does_not_affect_another() {
    let proxy = Peer::proxy(|mut connection| match connection.number % 4 {
        0 => {
            connection.send("HTTP/1.1 200 OK\r\n\r\n");
            connection.echo();
        }
        1 => connection.send("HTTP/1.1 503 Busy\r\n\r\n"),
        2 => connection.reset(),
        _ => connection.send("nonsense\r\n\r\n"),
    });
    let program = Ptunnel::through(proxy.address()).to("a.example:1").start();
    let mut first = program.connect();
    first.send("one");
    first.expect("one");
    for _ in 0..3 {
        program.connect().expect_nothing();
    }
    first.send("two");
    first.expect("two");
    ping(&program, 0);
}

#[test]
fn clients_that_leave_before_they_are_accepted_are_skipped() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address()).to("a.example:1").start();
    program.signal(libc::SIGSTOP);
    for number in 0..60 {
        let client = program.connect();
        if number % 2 == 0 {
            client.reset();
        }
    }
    program.signal(libc::SIGCONT);
    for _ in 0..3 {
        ping(&program, 0);
    }
}

#[test]
fn further_clients_wait_in_the_backlog() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("a.example:1")
        .args(&["--max-connections", "2"])
        .start();
    let mut first = gate.join(&program);
    let mut second = gate.join(&program);
    let mut waiting = program.connect();
    waiting.send("patience");
    steadily(
        "nobody asks for the third",
        Duration::from_millis(400),
        || gate.try_accept().is_none(),
    );
    first.check();
    second.check();
    let Ends { client, mut server } = first;
    client.finish_sending();
    server.expect_end();
    drop((client, server));
    gate.grant().expect("patience");
    second.check();
}

#[test]
fn clients_that_fail_return_their_permits() {
    let proxy = Peer::proxy(|mut connection| {
        if connection.number < 6 {
            return connection.send("HTTP/1.1 503 Busy\r\n\r\n");
        }
        connection.send("HTTP/1.1 200 OK\r\n\r\n");
        connection.echo();
    });
    let program = Ptunnel::through(proxy.address())
        .to("a.example:1")
        .args(&["--max-connections", "1", "--threads", "2"])
        .start();
    for _ in 0..6 {
        program.connect().expect_nothing();
    }
    for _ in 0..6 {
        ping(&program, 0);
    }
}

/// The public ptunnel uses all processor time then, or exits.
#[test]
fn without_descriptors_it_waits_warns_once_and_recovers() {
    let gate = Gate::open();
    let begin = || Ptunnel::through(gate.address()).to("a.example:1");
    let idle = {
        // The shell can have other descriptors open than the test.
        let program = begin().after("ulimit -n 99").start();
        let mut ends = gate.join(&program);
        ends.check();
        program.process().descriptors_below(99) - 2
    };
    const TUNNELS: usize = 6;
    let limit = format!("ulimit -n {}", idle + 2 * TUNNELS);
    let program = begin().after(&limit).start();
    let mut all: Vec<Ends> = (0..TUNNELS).map(|_| gate.join(&program)).collect();
    let mut waiting = program.connect();
    waiting.send("patience");
    program.says(&["Too many open files"]);
    let before = program.process().cpu();
    steadily("idle", Duration::from_secs(2), || {
        program.process().cpu() - before < Duration::from_millis(200)
    });
    let told = program.stderr();
    let lines = told.lines().filter(|line| !line.contains("near a limit"));
    assert_eq!(lines.count(), 1, "{}", told);
    assert!(told.contains(&program.address().to_string()), "{}", told);
    for ends in &mut all {
        ends.check();
    }
    drop(all.pop());
    gate.grant().expect("patience");
    all[0].check();
}

#[test]
fn raises_the_limit_on_descriptors() {
    let program = Ptunnel::through("proxy.example:1")
        .to("a.example:1")
        .after("ulimit -Sn 64")
        .start();
    let (soft, hard) = program.process().descriptor_limits();
    assert_eq!(soft, hard);
    assert_ne!(soft, "64");
}

#[test]
fn serves_on_the_given_number_of_threads() {
    let proxy = Peer::echoing();
    let begin = || {
        Ptunnel::through(proxy.address())
            .to("a.example:1")
            .to("b.example:2")
    };
    let pinged = |args: &[&str]| {
        let program = begin().args(args).start();
        for count in 0..40 {
            ping(&program, count % 2);
        }
        program
    };
    // The first thread can serve all clients before another thread has started.
    let has = |args: &[&str], threads: usize| {
        let program = pinged(args);
        eventually("all threads have begun", || {
            program.process().threads() == threads
        });
    };
    let one = pinged(&[]).process().threads();
    // A reactor can have its own threads, as tokio-core's have from 0.1.13 on.
    let two = pinged(&["--threads", "2"]);
    eventually("the second has begun", || two.process().threads() > one);
    let reactor = two.process().threads() - one;
    has(&["--threads", "4"], one + 3 * reactor);
    has(&["-m"], one + (program_cores() - 1) * reactor);
}

/// Returns the number of processors that the scheduler lets this process use.
fn program_cores() -> usize {
    let output = std::process::Command::new("nproc").output().expect("nproc");
    String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .expect("a number")
}

#[test]
fn accepts_many_clients_at_once() {
    for args in &[&[][..], &["--threads", "2"]] {
        let proxy = Peer::echoing();
        let program = Ptunnel::through(proxy.address())
            .to("a.example:1")
            .args(args)
            .start();
        let mut clients: Vec<Connection> = (0..300).map(|_| program.connect()).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            client.send(format!("{:5}", number));
        }
        for (number, client) in clients.iter_mut().enumerate() {
            client.expect(format!("{:5}", number));
        }
    }
}

/// All ways in which a tunnel can end, many times.
#[test]
fn leaks_no_descriptor() {
    for setting in &["auto", "always"] {
        let proxy = Peer::proxy(|mut connection| match connection.number % 5 {
            0..=2 => {
                connection.send("HTTP/1.1 200 OK\r\n\r\n");
                connection.echo();
            }
            3 => connection.send("HTTP/1.1 503 Busy\r\n\r\n"),
            _ => connection.reset(),
        });
        let program = Ptunnel::through(proxy.address())
            .to("a.example:1")
            .args(&["--splice", setting])
            .start();
        let bytes = vec![1; 300_000];
        let round = || {
            for number in 0..5 {
                let mut client = program.connect();
                if number > 2 {
                    client.expect_nothing();
                    continue;
                }
                let mut sender = client.handle();
                let piece = bytes.clone();
                let sending = thread::spawn(move || drop(sender.try_send(&piece)));
                match number {
                    0 => {
                        client.receive(bytes.len());
                        client.finish_sending();
                        client.expect_end();
                    }
                    1 => drop(client.receive(100_000)),
                    _ => client.receive(100_000).truncate(0),
                }
                if number == 2 {
                    sys::reset_on_close(client.stream());
                }
                // The writer's remaining bytes are dropped with the connection.
                let _ = client.stream().shutdown(std::net::Shutdown::Both);
                sending.join().unwrap();
            }
        };
        for _ in 0..8 {
            round();
        }
        let before = program.process().descriptors();
        for _ in 0..40 {
            round();
        }
        // A few idle pipes are kept for the next bulk transfer; one lost in each round would be 40.
        eventually("about as few descriptors as before", || {
            program.process().descriptors() < before + 20
        });
    }
}

#[test]
fn a_port_is_free_again_as_soon_as_the_program_has_ended() {
    let proxy = Peer::echoing();
    let tunnel = format!("{}:a.example:1", free_port());
    for _ in 0..3 {
        let program = Ptunnel::through(proxy.address()).tunnel(&tunnel).start();
        // The program's side closes first, so its port would stay in TIME_WAIT for two minutes.
        let mut client = program.connect();
        client.send("x");
        client.expect("x");
        drop(program);
        client.rest_or_reset();
    }
}

/// Regression: the error named neither the option nor a fix.
#[test]
fn a_port_that_is_not_available_is_explained() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let hint = "find the program with ss -ltnp, or choose another port";
    for (option, rest, purpose) in &[
        ("-L", ":a.example:1", "a.example:1"),
        ("-D", "", "-D"),
        ("--serve-proxy", "", "--serve-proxy"),
    ] {
        let finished = Ptunnel::through("proxy.example:1")
            .args(&[option, &format!("{}{}", address, rest)])
            .run();
        finished.expect_code(1);
        let told = format!(
            "cannot listen on {} for {}: Address already in use",
            address, purpose
        );
        let stderr = &finished.stderr;
        assert!(
            stderr.contains(&told) && stderr.contains(hint),
            "{}",
            stderr
        );
    }
}

#[test]
fn a_low_port_without_permission_is_explained() {
    let program = Ptunnel::through("proxy.example:1").arg("127.0.0.1:1:a.example:1");
    let finished = program.by_nobody().run();
    finished.expect_code(1);
    for part in &[
        "cannot listen on 127.0.0.1:1 for a.example:1: Permission denied",
        "ports below 1024 require root or CAP_NET_BIND_SERVICE",
    ] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
}
