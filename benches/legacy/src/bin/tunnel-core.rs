//! `tunnel-core LISTEN PROXY TARGET`: the design of the Rust tunnel of 2017, written again from its description.
//!
//! Does: CONNECT with HTTP/1.1, a reply whose head is read with a system call for each byte, a chain of combinators, two
//! copies and a join (`two_copies`), `TCP_NODELAY`.
//! Doesn't: what that program did beside it: options, Basic, a direct connection when the proxy fails, a log.

use std::io;
use std::net::SocketAddr;

use futures::future::{loop_fn, Loop};
use futures::{Future, Stream};
use ptunnel_benches_legacy::listen;
use ptunnel_benches_legacy::two_copies::both_ways;
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::Core;
use tokio_io::io::{read_exact, write_all};

const LONGEST_HEAD: usize = 4096;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let parsed: Result<Vec<SocketAddr>, _> = words.iter().map(|word| word.parse()).collect();
    let (at, proxy, target) = match parsed.as_deref() {
        Ok(&[at, proxy, target]) => (at, proxy, target),
        _ => {
            eprintln!("usage: tunnel-core LISTEN PROXY TARGET, each HOST:PORT");
            std::process::exit(2)
        }
    };
    let mut core = Core::new()?;
    let handle = core.handle();
    let listener = TcpListener::from_listener(listen(at)?, &at, &handle)?;
    core.run(listener.incoming().for_each(|(client, _)| {
        let tunnel = TcpStream::connect(&proxy, &handle)
            .and_then(move |server| {
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                Ok((client, server))
            })
            .and_then(move |(client, server)| ask(server, target).map(|server| (client, server)))
            .and_then(|(client, server)| both_ways(client, server));
        handle.spawn(tunnel.then(|_| Ok(())));
        Ok(())
    }))
}

/// Asks the proxy for a tunnel; returns the connection when the proxy has granted it.
fn ask(server: TcpStream, target: SocketAddr) -> impl Future<Item = TcpStream, Error = io::Error> {
    let request = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", target);
    write_all(server, request)
        .and_then(|(server, _)| loop_fn((server, Vec::new()), read_byte))
        .and_then(|(server, head)| match head.get(9..12) {
            Some(b"200") => Ok(server),
            _ => Err(io::Error::other("the proxy refused")),
        })
}

type Head = (TcpStream, Vec<u8>);

/// Reads the next byte of the head; the blank line ends it.
fn read_byte((server, mut head): Head) -> impl Future<Item = Loop<Head, Head>, Error = io::Error> {
    read_exact(server, [0]).and_then(move |(server, byte)| {
        head.extend_from_slice(&byte);
        match head.ends_with(b"\r\n\r\n") {
            true => Ok(Loop::Break((server, head))),
            false if head.len() < LONGEST_HEAD => Ok(Loop::Continue((server, head))),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the head is too long",
            )),
        }
    })
}
