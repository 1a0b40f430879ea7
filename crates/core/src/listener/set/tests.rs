use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

use super::*;
use crate::config::{Keepalive, TunnelSpec};
use crate::inbound::Inbound;
use crate::listener::kind::ListenerKind;
use crate::listener::socket_activation::InheritedSocket;
use crate::observe::access_log::{LogContext, Origin};
use ptunnel_proto::values::{CidrList, Credentials, Secret};
use ptunnel_proto::Step;

/// A socket that isn't bound. Port 9 is in use; for port 0 each gets a different one.
#[derive(Debug)]
struct FakeSocket(SocketAddr);

impl Listen for FakeSocket {
    fn bind(address: &SocketAddr, _: bool, _: Option<Keepalive>) -> io::Result<FakeSocket> {
        thread_local!(static NEXT: Cell<u16> = Cell::new(50_000));
        let mut address = *address;
        match address.port() {
            0 => NEXT.with(|next| address.set_port(next.replace(next.get() + 1))),
            9 => return Err(io::ErrorKind::AddrInUse.into()),
            _ => {}
        }
        Ok(FakeSocket(address))
    }

    fn bind_path(_: &Path) -> io::Result<FakeSocket> {
        unreachable!("there is no Unix socket")
    }

    fn listen(&self) -> io::Result<()> {
        unreachable!("there is no Unix socket")
    }

    fn adopt(_: InheritedSocket, _: Option<Keepalive>) -> io::Result<FakeSocket> {
        unreachable!("nothing is passed")
    }

    fn try_clone(&self) -> io::Result<FakeSocket> {
        unreachable!("there is no Unix socket")
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0)
    }
}

fn config(tunnels: &[&str]) -> Config {
    let tunnel = |text: &&str| TunnelSpec::of(text.parse().unwrap(), &None).unwrap();
    Config {
        tunnels: tunnels.iter().map(tunnel).collect(),
        threads: 2,
        ..Config::default()
    }
}

fn open(tunnels: &[&str]) -> (ListenerSet, Vec<ListenerHandle>) {
    open_all(&config(tunnels))
}

fn open_all(config: &Config) -> (ListenerSet, Vec<ListenerHandle>) {
    let mut set = ListenerSet {
        threads: 2,
        turned_away: TurnedAway::default(),
        logins: Logins::default(),
        own: OwnSockets::new(),
        registry: None,
        listeners: Vec::new(),
        serving: Weak::new(),
        selector: None,
    };
    // As `ListenerSet::open`, without the printed lines and the status server.
    let (plan, threads) = set.prepare::<FakeSocket>(config).unwrap();
    set.commit(plan, config, None);
    assert_eq!(threads.len(), 2);
    let handles = threads.into_iter().map(|listeners| {
        let handles = listeners.into_iter().map(|listener| listener.handle);
        handles.collect::<Vec<ListenerHandle>>()
    });
    (set, handles.last().unwrap())
}

fn follow(set: &mut ListenerSet, tunnels: &[&str]) -> String {
    let mut threads = Vec::new();
    let register = |listeners| {
        threads = listeners;
        Ok(())
    };
    let change = set
        .follow::<FakeSocket, _>(&config(tunnels), register)
        .unwrap();
    for listeners in threads {
        let opened: Vec<String> = listeners
            .iter()
            .map(|listener| listener.listening.0.to_string())
            .collect();
        assert_eq!(opened, change.opened, "each thread has its own");
        assert!(listeners
            .iter()
            .all(|listener| listener.handle.settings().limits.is_some()));
        assert!(listeners
            .iter()
            .all(|listener| has_started(&listener.handle)));
    }
    assert_eq!(
        change.lines.len(),
        change.opened.len() + change.changed.len()
    );
    change.to_string()
}

fn destination(handle: &ListenerHandle) -> String {
    match &handle.settings().kind {
        ListenerKind::Tunnel(tunnel) => tunnel.destination().to_string(),
        other => unreachable!("{:?}", other),
    }
}

fn is_closed(handle: &ListenerHandle) -> bool {
    let (sender, called) = mpsc::channel();
    handle.on_close(move || {
        let _ = sender.send(());
    });
    called.try_recv().is_ok()
}

fn has_started(handle: &ListenerHandle) -> bool {
    let (sender, called) = mpsc::channel();
    handle.on_start(move || {
        let _ = sender.send(());
    });
    called.try_recv().is_ok()
}

#[test]
fn a_listener_at_the_same_address_keeps_its_sockets() {
    let (mut set, handles) = open(&["1:a:1", "2:b:2", "3:c:3", "0:d:4"]);
    let summary = follow(&mut set, &["5:e:5", "0:d:4", "2:f:6", "1:a:1"]);
    assert_eq!(
        summary,
        "opened 127.0.0.1:5; changed 127.0.0.1:2; closed 127.0.0.1:3; kept 2"
    );
    let destinations: Vec<String> = handles.iter().map(destination).collect();
    assert_eq!(destinations, ["a:1", "f:6", "c:3", "d:4"]);
    let closed: Vec<bool> = handles.iter().map(is_closed).collect();
    assert_eq!(closed, [false, false, true, false]);
    assert!(
        handles[0].settings().limits.is_some(),
        "for the next client"
    );
}

/// Clients got the port together with the destination.
#[test]
fn a_port_that_the_system_picked_keeps_its_destination() {
    let (mut set, handles) = open(&["0:a:1", "0:b:2"]);
    let summary = follow(&mut set, &["0:b:2", "0:c:3"]);
    assert!(
        summary.ends_with("; kept 1") && !summary.contains("changed"),
        "{}",
        summary
    );
    assert!(is_closed(&handles[0]) && !is_closed(&handles[1]));
    assert_eq!(destination(&handles[1]), "b:2");
}

/// Regression: the ACL and the kind were two values, and between their changes a client was served
/// without a password.
#[test]
fn the_acl_and_the_required_user_change_at_once() {
    let by_user = Config {
        dynamic: vec!["*:1".parse().unwrap()],
        dynamic_user: Credentials::new("joe", Secret::new("x")).ok(),
        ..config(&[])
    };
    let by_address = Config {
        dynamic_user: None,
        allow_from: "10.0.0.0/8".parse::<CidrList>().unwrap().0,
        ..by_user.clone()
    };
    let (mut set, handles) = open_all(&by_user);
    let admits_any_client = |handle: &ListenerHandle| {
        let settings = handle.settings();
        let dynamic = match &settings.kind {
            ListenerKind::Dynamic(dynamic) => dynamic,
            other => unreachable!("{:?}", other),
        };
        let client = Origin::Address("192.0.2.1:1".parse().unwrap());
        let client = LogContext::new(client, None);
        let step = dynamic
            .handshake(None)
            .feed(b"CONNECT a:1 HTTP/1.1\r\n\r\n");
        settings.acl.admits(&client) && matches!(step, Ok(Step::Done(_)))
    };
    let (handle, (sender, done)) = (handles[0].clone(), mpsc::channel::<()>());
    let watching = thread::spawn(move || {
        (0..20_000).for_each(|_| assert!(!admits_any_client(&handle)));
        drop(sender);
    });
    while done.try_recv() == Err(TryRecvError::Empty) {
        for config in &[&by_address, &by_user] {
            set.follow::<FakeSocket, _>(config, |_| Ok(())).unwrap();
        }
    }
    watching.join().unwrap();
}

#[test]
fn a_bind_that_fails_changes_nothing() {
    let (mut set, handles) = open(&["1:a:1", "2:b:2"]);
    let wrong = config(&["1:c:3", "4:d:4", "9:e:5"]);
    let failed = set.follow::<FakeSocket, _>(&wrong, |_| unreachable!("one can't be bound"));
    let text = failed.unwrap_err().to_string();
    assert!(
        text.starts_with("cannot listen on 127.0.0.1:9 for e:5: "),
        "{}",
        text
    );
    assert_eq!(destination(&handles[0]), "a:1");
    assert!(!handles.iter().any(is_closed));
    assert_eq!(follow(&mut set, &["1:a:1", "2:b:2"]), "kept 2");
}

/// Regression: the other threads and the summary treated the listener as open.
#[test]
fn a_thread_that_cannot_register_a_new_listener_changes_nothing() {
    let (mut set, handles) = open(&["1:a:1", "2:b:2"]);
    let mut new = Vec::new();
    let failed = set.follow::<FakeSocket, _>(&config(&["1:c:3", "4:d:4"]), |threads| {
        let listeners = threads.into_iter().flatten();
        new = listeners.map(|listener| listener.handle).collect();
        Err(Error::usage("no room"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "no room");
    assert_eq!(new.len(), 2);
    assert!(new.iter().all(is_closed) && !new.iter().any(has_started));
    assert_eq!(destination(&handles[0]), "a:1");
    assert!(!handles.iter().any(is_closed));
    assert_eq!(follow(&mut set, &["1:a:1", "2:b:2"]), "kept 2");
}

#[test]
fn an_address_in_another_notation_is_the_same() {
    let (mut set, handles) = open(&["1:a:1", "localhost:2:b:2"]);
    let summary = follow(&mut set, &["localhost:1:a:1", "127.0.0.1:2:c:3"]);
    assert_eq!(summary, "changed 127.0.0.1:2; kept 1");
    assert!(!handles.iter().any(is_closed));
}
