//! SOCKS5 of tokio-core's time, as the registry has it: clients made with socksv5_future go through
//! microsocks, and a server made with tokio-socks5 and trust-dns serves curl.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener as StdListener};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use futures::sync::oneshot;
use futures::{future, Future, Stream};
use programs::{within_a_minute, Daemon};
use socksv5_future::{socks_connect_handshake, SocksRequestResponse};
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::{Core, Handle};
use tokio_io::io::{copy, read_to_end, write_all};
use tokio_io::AsyncRead;
use trust_dns_resolver::config::{NameServerConfig, Protocol, ResolverConfig, ResolverOpts};
use trust_dns_resolver::ResolverFuture;

const HEAD: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n";
const BODY: usize = 1024 * 1024;

/// Starts an HTTP server that answers each connection with `BODY` bytes, for as long as the process
/// lives.
fn origin() -> SocketAddr {
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || -> io::Result<()> {
                let mut stream = stream?;
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte)?;
                    request.extend(byte);
                }
                stream.write_all(HEAD)?;
                stream.write_all(&vec![b'x'; BODY])
            });
        }
    });
    address
}

fn is_whole(body: &[u8]) -> bool {
    body.len() == BODY && body.iter().all(|byte| *byte == b'x')
}

/// Makes a CONNECT to `to`, in the bytes of RFC 1928.
fn connect(to: SocketAddr) -> SocksRequestResponse {
    let SocketAddr::V4(to) = to else {
        panic!("{to} is no IPv4 address")
    };
    let mut bytes = vec![5, 1, 0, 1];
    bytes.extend(to.ip().octets());
    bytes.extend(to.port().to_be_bytes());
    SocksRequestResponse { bytes }
}

/// Fetches from `to` through `proxy`; returns the proxy's reply code and all that came after it.
fn fetch(
    proxy: SocketAddr,
    to: SocketAddr,
    handle: &Handle,
) -> impl Future<Item = (u8, Vec<u8>), Error = io::Error> {
    TcpStream::connect(&proxy, handle)
        .and_then(move |stream| socks_connect_handshake(stream, connect(to)))
        .and_then(|(stream, reply)| {
            let answer = write_all(stream, b"GET / HTTP/1.0\r\n\r\n")
                .and_then(|(stream, _)| read_to_end(stream, Vec::new()));
            answer.map(move |(_, bytes)| (reply.bytes[1], bytes))
        })
}

#[test]
fn fifty_clients_fetch_through_microsocks() {
    within_a_minute(|| {
        let microsocks = microsocks();
        let origin = origin();
        let mut core = Core::new().unwrap();
        let handle = core.handle();
        let all = (0..50).map(|_| fetch(microsocks.address(), origin, &handle));
        for (reply, answer) in core.run(future::join_all(all)).unwrap() {
            assert_eq!(reply, 0);
            assert!(is_whole(answer.strip_prefix(HEAD).unwrap()));
        }
    });
}

#[test]
fn a_refused_destination_is_microsocks_reply() {
    within_a_minute(|| {
        let microsocks = microsocks();
        let closed = StdListener::bind("127.0.0.1:0").unwrap();
        let refused = closed.local_addr().unwrap();
        drop(closed);
        let mut core = Core::new().unwrap();
        let handle = core.handle();
        let stream = TcpStream::connect(&microsocks.address(), &handle);
        let handshake =
            stream.and_then(move |stream| socks_connect_handshake(stream, connect(refused)));
        let (_, reply) = core.run(handshake).unwrap();
        assert_eq!(
            reply.bytes[1], 5,
            "RFC 1928's code for a refused connection"
        );
    });
}

fn microsocks() -> Daemon {
    Daemon::start("microsocks", |port| {
        ["-i", "127.0.0.1", "-p", &port.to_string()]
            .map(str::to_owned)
            .into()
    })
}

/// Serves SOCKS5 clients until `stop`, and resolves their names by asking `dns`.
fn serve(dns: SocketAddr, started: mpsc::Sender<SocketAddr>, stop: oneshot::Receiver<()>) {
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let listener = TcpListener::bind(&"127.0.0.1:0".parse().unwrap(), &handle).unwrap();
    started.send(listener.local_addr().unwrap()).unwrap();
    let mut config = ResolverConfig::from_parts(None, vec![], vec![]);
    config.add_name_server(NameServerConfig {
        socket_addr: dns,
        protocol: Protocol::Udp,
    });
    let resolver = ResolverFuture::new(config, ResolverOpts::default(), &handle);
    let clients = listener
        .incoming()
        .and_then(|(stream, _)| tokio_socks5::serve(stream))
        .for_each(|(client, host, port)| {
            let (inner, lookup) = (handle.clone(), resolver.lookup_ip(&host));
            let carry = lookup
                .map_err(io::Error::from)
                .and_then(move |found| {
                    let to = (found.iter().next().unwrap(), port).into();
                    TcpStream::connect(&to, &inner)
                })
                .and_then(|server| {
                    let ((from_client, to_client), (from_server, to_server)) =
                        (client.split(), server.split());
                    let up = copy(from_client, to_server);
                    // The server ends the exchange.
                    let down = copy(from_server, to_client);
                    up.select(down).map(drop).map_err(|(error, _)| error)
                });
            handle.spawn(carry.map_err(|error| panic!("{error}")));
            Ok(())
        });
    let until = clients
        .map_err(|error| panic!("{error}"))
        .select(stop.map_err(drop));
    assert!(core.run(until).is_ok());
}

/// curl offers two methods, as it has a login to offer: the least that tokio-socks5 can read.
#[test]
fn curl_fetches_by_name_through_a_server_of_tokio_socks5() {
    within_a_minute(|| {
        let dnsmasq = programs::dnsmasq(vec!["--host-record=origin.test,127.0.0.1".to_owned()]);
        let (stop, stopped) = oneshot::channel();
        let (started, starts) = mpsc::channel();
        let dns = dnsmasq.address();
        let server = thread::spawn(move || serve(dns, started, stopped));
        let proxy = starts.recv().unwrap();
        let url = format!("http://origin.test:{}/", origin().port());
        for _ in 0..3 {
            let output = Command::new("curl")
                .args([
                    "--silent",
                    "--show-error",
                    "--max-time",
                    "20",
                    "--noproxy",
                    "",
                ])
                .args(["--socks5-basic", "--proxy-user", "a:b", "--socks5-hostname"])
                .args([&proxy.to_string(), &url])
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{stderr}");
            assert!(is_whole(&output.stdout));
        }
        stop.send(()).unwrap();
        server.join().unwrap();
    });
}
