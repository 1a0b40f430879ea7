//! Several programs behind a balancer, with the configurations in packaging/.

use std::net::{SocketAddr, TcpStream};

use support::parts::Balancer;
use support::sys::SIGTERM;
use support::{eventually, Connection, Peer, Ptunnel, Running};

fn start(proxy: &Peer) -> Running {
    Ptunnel::through(proxy.address())
        .to("imap.example.org:993")
        .arg("-v")
        .start()
}

/// Opens a connection and waits for the reply to its first bytes.
#[track_caller]
fn open(address: SocketAddr) -> Connection {
    let mut client = Connection::open(address);
    client.send("hello");
    client.expect("hello");
    client
}

/// Ends the client's direction. The balancer passes that on, though the other direction is still
/// open.
#[track_caller]
fn end(mut client: Connection) {
    client.finish_sending();
    client.expect_end();
}

fn expect_balanced(balance: impl Fn([SocketAddr; 2]) -> Balancer) {
    let proxy = Peer::echoing();
    let (one, two) = (start(&proxy), start(&proxy));
    let balancer = balance([one.address(), two.address()]);
    // All at once: the next client goes to the instance with fewer clients.
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
fn haproxy_distributes_clients_and_survives_a_stopped_instance() {
    expect_balanced(Balancer::haproxy);
}

#[test]
fn nginx_distributes_clients_and_survives_a_stopped_instance() {
    expect_balanced(Balancer::nginx);
}
