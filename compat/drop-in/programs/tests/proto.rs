//! tokio-proto, as the registry has it: a server that owns its Core, and clients.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::str;
use std::thread;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use futures::{future, Future};
use programs::within_a_minute;
use tokio_core::net::TcpStream;
use tokio_core::reactor::Core;
use tokio_io::codec::{Decoder, Encoder, Framed};
use tokio_io::{AsyncRead, AsyncWrite};
use tokio_proto::pipeline::{ClientProto, ServerProto};
use tokio_proto::{TcpClient, TcpServer};
use tokio_service::{NewService, Service};

/// A message a line.
struct Lines;

impl Decoder for Lines {
    type Item = String;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<String>> {
        let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let line = buffer.split_to(end + 1);
        let text = str::from_utf8(&line[..end]);
        text.map(|text| Some(text.to_owned()))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

impl Encoder for Lines {
    type Item = String;
    type Error = io::Error;

    fn encode(&mut self, line: String, buffer: &mut BytesMut) -> io::Result<()> {
        buffer.reserve(line.len() + 1);
        buffer.put(line.as_bytes());
        buffer.put_u8(b'\n');
        Ok(())
    }
}

struct LineProto;

impl<T: AsyncRead + AsyncWrite + 'static> ServerProto<T> for LineProto {
    type Request = String;
    type Response = String;
    type Transport = Framed<T, Lines>;
    type BindTransport = io::Result<Self::Transport>;

    fn bind_transport(&self, io: T) -> Self::BindTransport {
        Ok(io.framed(Lines))
    }
}

impl<T: AsyncRead + AsyncWrite + 'static> ClientProto<T> for LineProto {
    type Request = String;
    type Response = String;
    type Transport = Framed<T, Lines>;
    type BindTransport = io::Result<Self::Transport>;

    fn bind_transport(&self, io: T) -> Self::BindTransport {
        Ok(io.framed(Lines))
    }
}

/// Answers with the request in capitals.
struct Louder;

impl Service for Louder {
    type Request = String;
    type Response = String;
    type Error = io::Error;
    type Future = future::FutureResult<String, io::Error>;

    fn call(&self, line: String) -> Self::Future {
        future::ok(line.to_uppercase())
    }
}

impl NewService for Louder {
    type Request = String;
    type Response = String;
    type Error = io::Error;
    type Instance = Louder;

    fn new_service(&self) -> io::Result<Louder> {
        Ok(Louder)
    }
}

/// Starts `TcpServer::serve`, which makes a Core, never returns, and names no port: takes one that
/// was free.
fn start(threads: usize) -> SocketAddr {
    let free = StdListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    thread::spawn(move || {
        let mut server = TcpServer::new(LineProto, address);
        server.threads(threads);
        server.serve(Louder);
    });
    for _ in 0..500 {
        if std::net::TcpStream::connect(address).is_ok() {
            return address;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing listens at {address}");
}

/// A thousand requests that are under way at once on one connection, twice.
fn ask(address: SocketAddr) {
    let mut core = Core::new().unwrap();
    let client = TcpClient::new(LineProto).connect(&address, &core.handle());
    let client = core.run(client).unwrap();
    for round in 0..2 {
        let all = (0..1000).map(|n| client.call(format!("line {n} of {round}")));
        let answers = core.run(future::join_all(all)).unwrap();
        for (n, answer) in answers.iter().enumerate() {
            assert_eq!(*answer, format!("LINE {n} OF {round}"));
        }
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    within_a_minute(|| ask(start(1)));
}

/// Each of its threads has a Core, and a listener with SO_REUSEPORT.
#[test]
fn a_server_of_two_threads_answers_clients_of_four() {
    within_a_minute(|| {
        let address = start(2);
        let clients: Vec<_> = (0..4)
            .map(|_| thread::spawn(move || ask(address)))
            .collect();
        for client in clients {
            client.join().unwrap();
        }
    });
}

/// `framed` over a socket of tokio-core, without a protocol: each end a stream and a sink.
#[test]
fn a_codec_frames_a_socket() {
    use futures::{Sink, Stream};
    within_a_minute(|| {
        let address = start(1);
        let mut core = Core::new().unwrap();
        let stream = core
            .run(TcpStream::connect(&address, &core.handle()))
            .unwrap();
        let (sink, lines) = stream.framed(Lines).split();
        let words = ["one", "two", "three"].map(|word| Ok::<_, io::Error>(word.to_owned()));
        let sent = sink.send_all(futures::stream::iter_result(words));
        let answers = lines.take(3).collect();
        let (_, answers) = core.run(sent.join(answers)).unwrap();
        assert_eq!(answers, ["ONE", "TWO", "THREE"]);
    });
}
