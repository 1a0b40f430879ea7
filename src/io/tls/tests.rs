use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::ssl::{Ssl, SslAcceptor, SslMethod, SslVerifyMode};
use openssl::x509::{X509Builder, X509NameBuilder};

use futures::future::poll_fn;

use super::*;
use crate::io::tests::mock_io::drive;
use ptunnel_core::config::TlsSpec;
use ptunnel_proto::values::{Host, HostPort, TlsOptions, TlsPeer};

/// One end of a connection in memory.
struct MemoryEnd {
    incoming: Rc<RefCell<MemoryPipe>>,
    outgoing: Rc<RefCell<MemoryPipe>>,
    /// Every second read would block, and the others return one byte.
    stutters: bool,
    /// The other end has reset the connection.
    is_reset: bool,
    /// The next check reports a failure.
    has_failed: bool,
    has_stuttered: bool,
}

#[derive(Default)]
struct MemoryPipe {
    bytes: VecDeque<u8>,
    ends: usize,
}

fn connection(stutters: bool) -> (MemoryEnd, MemoryEnd) {
    let pipes = <[Rc<RefCell<MemoryPipe>>; 2]>::default();
    let end = |incoming: usize| MemoryEnd {
        incoming: pipes[incoming].clone(),
        outgoing: pipes[1 - incoming].clone(),
        stutters,
        is_reset: false,
        has_failed: false,
        has_stuttered: false,
    };
    (end(0), end(1))
}

impl Read for MemoryEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.has_stuttered = self.stutters && !self.has_stuttered;
        let mut pipe = self.incoming.borrow_mut();
        if self.has_stuttered || (pipe.bytes.is_empty() && pipe.ends == 0) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let most = if self.stutters { 1 } else { buffer.len() };
        let count = pipe.bytes.len().min(most);
        for (place, byte) in buffer.iter_mut().zip(pipe.bytes.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}

impl Write for MemoryEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_reset {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let mut pipe = self.outgoing.borrow_mut();
        assert_eq!(pipe.ends, 0, "written after the end");
        pipe.bytes.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for MemoryEnd {}

impl AsyncWrite for MemoryEnd {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        self.outgoing.borrow_mut().ends += 1;
        Ok(Async::Ready(()))
    }
}

impl Transport for MemoryEnd {
    fn is_blocked(&mut self) -> bool {
        let pipe = self.incoming.borrow();
        pipe.bytes.is_empty() && pipe.ends == 0
    }

    fn check(&mut self) -> io::Result<()> {
        match self.has_failed {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }
}

/// Returns a server with a self-signed certificate; `asks` is how it verifies clients.
fn server(end: MemoryEnd, asks: SslVerifyMode) -> SslStream<MemoryEnd> {
    server_with(2, end, asks)
}

/// Returns a server that sends `tickets` session tickets after its handshake.
fn server_with(tickets: usize, end: MemoryEnd, asks: SslVerifyMode) -> SslStream<MemoryEnd> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "test").unwrap();
    let name = name.build();
    let mut certificate = X509Builder::new().unwrap();
    certificate.set_version(2).unwrap();
    certificate.set_subject_name(&name).unwrap();
    certificate.set_issuer_name(&name).unwrap();
    certificate.set_pubkey(&key).unwrap();
    let day = |n| Asn1Time::days_from_now(n).unwrap();
    certificate.set_not_before(&day(0)).unwrap();
    certificate.set_not_after(&day(1)).unwrap();
    certificate.sign(&key, MessageDigest::sha256()).unwrap();

    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
    acceptor.set_verify(asks);
    acceptor.set_private_key(&key).unwrap();
    acceptor.set_certificate(&certificate.build()).unwrap();
    acceptor.set_num_tickets(tickets).unwrap();
    let ssl = Ssl::new(acceptor.build().context()).unwrap();
    SslStream::new(ssl, end).unwrap()
}

/// Returns a client that accepts any certificate.
fn client(end: MemoryEnd) -> TlsStream<MemoryEnd> {
    client_of(TlsPeer::Proxy, end)
}

fn client_of(peer: TlsPeer, end: MemoryEnd) -> TlsStream<MemoryEnd> {
    client_with(TlsOptions::of(peer), end)
}

fn client_with(options: TlsOptions, end: MemoryEnd) -> TlsStream<MemoryEnd> {
    let options = TlsOptions {
        insecure: true,
        ..options
    };
    let address = HostPort {
        host: Host::Name("proxy.test".into()),
        port: 443,
    };
    let session = TlsSetup::new(&TlsSpec::load(&options).unwrap(), &address).unwrap();
    TlsStream::new(session, end).unwrap()
}

/// Returns both sides after their handshake.
fn connected(stutters: bool) -> (TlsStream<MemoryEnd>, SslStream<MemoryEnd>) {
    connected_to(TlsPeer::Proxy, stutters)
}

fn connected_to(peer: TlsPeer, stutters: bool) -> (TlsStream<MemoryEnd>, SslStream<MemoryEnd>) {
    let (near, far) = connection(stutters);
    shake(client_of(peer, near), server(far, SslVerifyMode::NONE))
}

fn shake(
    mut client: TlsStream<MemoryEnd>,
    mut server: SslStream<MemoryEnd>,
) -> (TlsStream<MemoryEnd>, SslStream<MemoryEnd>) {
    for _ in 0..100_000 {
        let is_ready = client.poll_handshake().unwrap().is_ready();
        match server.accept() {
            Ok(()) if is_ready => return (client, server),
            Ok(()) => {}
            Err(e) => assert!(would_block(&e), "{}", e),
        }
    }
    panic!("the handshake doesn't end");
}

fn kind<T>(answer: io::Result<T>) -> Option<io::ErrorKind> {
    answer.err().map(|e| e.kind())
}

/// Regression: the socket had nothing more to read, and the rest of the record stayed in OpenSSL.
#[test]
fn decrypted_bytes_are_read_without_an_event() {
    let (mut client, mut server) = connected(false);
    server.write_all(&[7; 10_000]).unwrap();
    let mut seen = client.read(&mut [0; 10]).unwrap();
    assert!(client.stream.get_mut().is_blocked(), "the test is none");
    while !client.is_blocked() {
        assert!(!client.is_drained());
        seen += client.read(&mut [0; 3_000]).unwrap();
    }
    assert_eq!(seen, 10_000);
    let blocked = client.read(&mut [0; 10]);
    assert_eq!(kind(blocked), Some(io::ErrorKind::WouldBlock));
}

#[test]
fn a_handshake_and_records_can_arrive_byte_by_byte() {
    let (mut client, mut server) = connected(true);
    server.write_all(&[7; 20_000]).unwrap();
    let (mut seen, mut buffer) = (0, [0; 32_768]);
    while seen < 20_000 {
        match client.read(&mut buffer) {
            Ok(count) => seen += count,
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
        }
    }
}

#[test]
fn close_notify_is_an_end() {
    let (mut client, mut server) = connected(false);
    server.write_all(b"all").unwrap();
    server.shutdown().unwrap();
    let mut buffer = [0; 10];
    assert_eq!(client.read(&mut buffer).unwrap(), 3);
    assert_eq!(client.read(&mut buffer).unwrap(), 0);
}

/// An end without close_notify is accepted from a proxy, and from a destination only with the
/// option; never after the connection has failed.
#[test]
fn an_end_without_close_notify_depends_on_the_peer() {
    let lenient = TlsOptions {
        ignore_unexpected_eof: true,
        ..TlsOptions::of(TlsPeer::Destination)
    };
    for (options, has_failed, is_end) in vec![
        (TlsOptions::of(TlsPeer::Proxy), false, true),
        (TlsOptions::of(TlsPeer::Proxy), true, false),
        (TlsOptions::of(TlsPeer::Destination), false, false),
        (lenient, false, true),
    ] {
        let (near, far) = connection(false);
        let client = client_with(options, near);
        let (mut client, mut server) = shake(client, server(far, SslVerifyMode::NONE));
        server.write_all(b"not all").unwrap();
        AsyncWrite::shutdown(server.get_mut()).unwrap();
        client.stream.get_mut().has_failed = has_failed;
        assert_eq!(client.check().is_err(), has_failed);
        let mut buffer = [0; 10];
        assert_eq!(client.read(&mut buffer).unwrap(), 7);
        let torn = kind(client.read(&mut buffer).map(|count| assert_eq!(count, 0)));
        assert_eq!(torn.is_none(), is_end);
        assert!(is_end || torn == Some(io::ErrorKind::UnexpectedEof));
        // The other direction is still open.
        client.write_all(b"still here").unwrap();
        let mut answer = [0; 10];
        server.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"still here");
    }
}

/// Regression: one read handled 200,000 records, while all other tunnels of the thread waited.
#[test]
fn a_read_yields_after_a_few_records_without_data() {
    let (near, far) = connection(false);
    let server = server_with(10 * ROUNDS, far, SslVerifyMode::NONE);
    let (mut client, mut server) = shake(client(near), server);
    server.write_all(b"data").unwrap();
    let mut reads = 0;
    let all = poll_fn(|| {
        reads += 1;
        match client.read(&mut [0; 10]) {
            Ok(count) => Ok(Async::Ready(count)),
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => {
                assert!(!client.is_blocked(), "it would wait for an event");
                Ok(Async::NotReady)
            }
            Err(e) => Err(e),
        }
    });
    assert_eq!(drive(all).unwrap(), 4);
    assert_eq!(reads, 11);
}

#[test]
fn shutdown_ends_both_layers_and_reading_continues() {
    let (mut client, mut server) = connected(false);
    assert!(AsyncWrite::shutdown(&mut client).unwrap().is_ready());
    assert_eq!(server.read(&mut [0; 10]).unwrap(), 0, "close_notify");
    assert_eq!(server.get_ref().incoming.borrow().ends, 1, "FIN");
    server.write_all(b"still here").unwrap();
    let mut answer = [0; 10];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still here");
}

/// squid ends a tunnel when one side ends: a FIN after the request destroyed the reply.
#[test]
fn a_destination_gets_close_notify_without_fin() {
    let (mut client, mut server) = connected_to(TlsPeer::Destination, false);
    for _ in 0..2 {
        assert!(AsyncWrite::shutdown(&mut client).unwrap().is_ready());
    }
    assert_eq!(server.read(&mut [0; 10]).unwrap(), 0, "close_notify");
    assert_eq!(server.get_ref().incoming.borrow().ends, 0, "FIN");
    server.write_all(b"still here").unwrap();
    let mut answer = [0; 10];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"still here");
}

/// Regression: a server that had sent everything and closed made an orderly end fail.
#[test]
fn shutdown_succeeds_after_the_peer_has_closed() {
    let (mut client, mut server) = connected(false);
    server.shutdown().unwrap();
    assert_eq!(client.read(&mut [0; 10]).unwrap(), 0);
    client.stream.get_mut().is_reset = true;
    assert!(AsyncWrite::shutdown(&mut client).unwrap().is_ready());
}

/// Regression: the error named the certificate or a reset, depending on which arrived first.
#[test]
fn an_alert_is_reported_instead_of_the_reset_after_it() {
    let (near, far) = connection(false);
    let demand = SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT;
    let (mut client, mut server) = (client(near), server(far, demand));
    let mut accepted = Ok(());
    for _ in 0..10 {
        let _ = client.poll_handshake();
        accepted = server.accept();
    }
    assert!(accepted.is_err(), "a certificate is demanded");
    client.stream.get_mut().is_reset = true;
    let why = client.write(b"CONNECT").unwrap_err().to_string();
    assert!(why.contains("--proxy-cert"), "{}", why);
}

#[test]
fn a_peer_that_does_not_speak_tls_is_reported() {
    let (near, mut far) = connection(false);
    let mut client = client(near);
    assert!(!client.poll_handshake().unwrap().is_ready());
    far.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    let why = explain(client.poll_handshake().unwrap_err(), TlsPeer::Proxy).to_string();
    assert!(why.contains("use http://"), "{}", why);
}
