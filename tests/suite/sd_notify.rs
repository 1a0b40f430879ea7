//! Notifications to a service manager, which the test replaces.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::process;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use support::ends::Gate;
use support::process::is_listening;
use support::{steadily, sys, Peer, Ptunnel, TempDir, TIMEOUT};

/// A service manager's socket, and its name in NOTIFY_SOCKET.
struct Manager {
    socket: UnixDatagram,
    name: String,
    _folder: TempDir,
}

impl Manager {
    fn at_a_path() -> Manager {
        let folder = TempDir::new();
        let name = folder.at("notify");
        Manager {
            socket: UnixDatagram::bind(&name).expect("a path"),
            name,
            _folder: folder,
        }
    }

    fn in_the_abstract_namespace() -> Manager {
        let name = format!("ptunnel-test-{}", process::id());
        let address = SockAddr::unix(format!("\0{}", name)).expect("a name");
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None).expect("a socket");
        socket.bind(&address).expect("a name that is free");
        Manager {
            socket: socket.into(),
            name: format!("@{}", name),
            _folder: TempDir::new(),
        }
    }

    /// Returns the next notification.
    #[track_caller]
    fn receive(&self) -> String {
        self.receive_within(TIMEOUT).expect("a notification")
    }

    fn receive_within(&self, limit: Duration) -> io::Result<String> {
        let mut buffer = [0; 1024];
        self.socket.set_read_timeout(Some(limit)).expect("a limit");
        let count = self.socket.recv(&mut buffer)?;
        Ok(String::from_utf8(buffer[..count].to_vec()).expect("text"))
    }

    /// Returns whether no notification is pending.
    fn is_silent(&self) -> bool {
        self.receive_within(Duration::from_millis(1)).is_err()
    }

    fn of(&self, program: Ptunnel) -> Ptunnel {
        program.env("NOTIFY_SOCKET", &self.name)
    }
}

fn tunnels(gate: &Gate) -> Ptunnel {
    Ptunnel::through(gate.address())
        .to("a.example:1")
        .to("b.example:2")
}

#[test]
fn it_notifies_when_it_is_ready_and_when_it_stops() {
    for manager in &[Manager::at_a_path(), Manager::in_the_abstract_namespace()] {
        for args in &[&[][..], &["--threads", "2"]] {
            let gate = Gate::open();
            let program = manager.of(tunnels(&gate)).args(args).start();
            assert_eq!(manager.receive(), "READY=1\nSTATUS=listening");
            for listening in program.listening() {
                assert!(is_listening(listening.address()), "{}", listening.line);
            }
            let mut ends = gate.join(&program);
            assert!(manager.is_silent());
            program.signal(sys::SIGTERM);
            assert_eq!(manager.receive(), "STOPPING=1");
            ends.check();
            drop(ends);
            program.finish().expect_code(0);
            assert!(manager.is_silent());
        }
    }
}

#[test]
fn it_is_not_ready_when_it_cannot_listen() {
    let manager = Manager::at_a_path();
    let (gate, other) = (Gate::open(), Gate::open());
    let program = tunnels(&gate).tunnel(&format!("{}:c.example:3", other.address().port()));
    manager.of(program).run().expect_code(1);
    assert!(manager.is_silent());
}

/// Measures the average of three, because the machine can be busy.
#[test]
fn the_watchdog_is_notified_twice_per_interval() {
    const INTERVAL: Duration = Duration::from_secs(2);
    let manager = Manager::at_a_path();
    for args in &[&[][..], &["--threads", "3"]] {
        let gate = Gate::open();
        let program = manager
            .of(tunnels(&gate))
            .env("WATCHDOG_USEC", INTERVAL.as_micros().to_string())
            .args(args)
            .start();
        assert!(manager.receive().starts_with("READY=1"));
        let begin = Instant::now();
        for _ in 0..3 {
            assert_eq!(manager.receive(), "WATCHDOG=1");
        }
        // A rung sends its first notification at once.
        let (least, most) = (INTERVAL - INTERVAL / 10, 3 * INTERVAL);
        assert!((least..most).contains(&begin.elapsed()));
        drop(program);
        while !manager.is_silent() {}
    }
}

/// E.g. of a program that started ptunnel and didn't clear its environment.
#[test]
fn the_watchdog_of_another_process_is_not_notified() {
    let manager = Manager::at_a_path();
    let gate = Gate::open();
    let _program = manager
        .of(tunnels(&gate))
        .env("WATCHDOG_USEC", "20000")
        .env("WATCHDOG_PID", "1")
        .start();
    assert!(manager.receive().starts_with("READY=1"));
    steadily("nothing is told", Duration::from_millis(300), || {
        manager.is_silent()
    });
}

#[test]
fn a_missing_or_unknown_manager_does_not_stop_the_program() {
    for (name, said) in &[
        ("/nonexistent/notify", "cannot notify the service manager: "),
        (
            "vsock:2:1234",
            "NOTIFY_SOCKET is neither an absolute path nor @NAME: 'vsock:2:1234'",
        ),
        ("", "NOTIFY_SOCKET is neither"),
    ] {
        let gate = Gate::open();
        let program = tunnels(&gate).env("NOTIFY_SOCKET", *name).start();
        gate.join(&program).check();
        program.says(&["warning: ", said]);
    }
}

/// Otherwise every loop that beats would stall for it, and the start would hang for ever.
#[test]
fn a_manager_that_does_not_read_delays_nothing() {
    let manager = Manager::at_a_path();
    let flood = UnixDatagram::unbound().expect("a socket");
    flood.set_nonblocking(true).expect("a mode");
    while flood.send_to(b"x", &manager.name).is_ok() {}
    let proxy = Peer::echoing();
    let program = manager
        .of(Ptunnel::through(proxy.address()).to("a.example:1"))
        .env("WATCHDOG_USEC", "20000")
        .start();
    let mut client = program.connect();
    let mut ping = || {
        client.send("ping");
        client.expect("ping");
    };
    ping();
    let begin = Instant::now();
    (0..20).for_each(|_| ping());
    // Regression: it waited for a second at each beat.
    assert!(begin.elapsed() < Duration::from_secs(10));
    program.says(&["warning: cannot notify the service manager: "]);
}

/// ssh can be part of a service, but its ProxyCommand isn't.
#[test]
fn stdio_mode_sends_no_notification() {
    let manager = Manager::at_a_path();
    let gate = Gate::open();
    let mut program = manager
        .of(Ptunnel::through(gate.address()))
        .env("WATCHDOG_USEC", "20000")
        .args(&["-W", "a.example:1"])
        .spawn();
    let mut server = gate.grant();
    server.send("x");
    steadily("nothing is told", Duration::from_millis(300), || {
        manager.is_silent()
    });
    drop((server, program.stdin()));
    program.finish().expect_code(0);
    assert!(manager.is_silent());
}
