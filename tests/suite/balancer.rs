//! Several programs behind a balancer, with the configurations in packaging/.

use std::net::{SocketAddr, TcpStream};

use crate::support::parts::Balancer;
use crate::support::sys::SIGTERM;
use crate::support::{eventually, Connection, Peer, Ptunnel, Running};

fn start(proxy: &Peer) -> Running {
    Ptunnel::through(proxy.address())
        .to("imap.example.org:993")
        .arg("-v")
        .start()
}

/// A client that has been answered.
#[track_caller]
fn open(address: SocketAddr) -> Connection {
    let mut client = Connection::open(address);
    client.send("hello");
    client.expect("hello");
    client
}

/// The balancer passes the end on, though the other one is still to come.
#[track_caller]
fn end(mut client: Connection) {
    client.finish_sending();
    client.expect_end();
}

fn two_are_as_good_as_one(balance: impl Fn([SocketAddr; 2]) -> Balancer) {
    let proxy = Peer::echoing();
    let (one, two) = (start(&proxy), start(&proxy));
    let balancer = balance([one.address(), two.address()]);
    // At once: whoever has fewer gets the next.
    let clients: Vec<Connection> = (0..6).map(|_| open(balancer.address())).collect();
    clients.into_iter().for_each(end);
    for program in &[&one, &two] {
        program.says(&["5 bytes up, 5 down", "closed by both sides"]);
    }
    let mut live: Vec<Connection> = (0..4).map(|_| open(balancer.address())).collect();
    one.signal(SIGTERM);
    eventually("it listens no more", || {
        TcpStream::connect(one.address()).is_err()
    });
    for _ in 0..4 {
        end(open(balancer.address()));
    }
    for client in &mut live {
        client.send("still here");
        client.expect("still here");
    }
    live.into_iter().for_each(end);
    one.finish().expect_code(0);
    end(open(balancer.address()));
}

#[test]
fn haproxy_spreads_clients_and_goes_on_without_one() {
    two_are_as_good_as_one(Balancer::haproxy);
}

#[test]
fn nginx_spreads_clients_and_goes_on_without_one() {
    two_are_as_good_as_one(Balancer::nginx);
}
