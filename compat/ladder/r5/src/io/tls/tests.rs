use std::future::poll_fn;
use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::{X509Builder, X509NameBuilder};

use ptunnel_core::config::TlsSpec;
use ptunnel_core::error::Peer;
use ptunnel_proto::values::{TlsOptions, TlsPeer};

use super::*;
use crate::io::{runtime, Rewind, Socket, Upstream};
use crate::secure;

/// A TLS 1.3 server with a self-signed certificate, which sends this number of session tickets
/// after its handshake.
fn acceptor(tickets: usize) -> SslAcceptor {
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
    let [today, tomorrow] = [0, 1].map(|day| Asn1Time::days_from_now(day).unwrap());
    certificate.set_not_before(&today).unwrap();
    certificate.set_not_after(&tomorrow).unwrap();
    certificate.sign(&key, MessageDigest::sha256()).unwrap();

    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls()).unwrap();
    acceptor.set_private_key(&key).unwrap();
    acceptor.set_certificate(&certificate.build()).unwrap();
    acceptor.set_num_tickets(tickets).unwrap();
    acceptor.build()
}

/// Accepts one client, sends it the tickets and `data`, and then a word through `sent`; keeps the
/// connection until `sent`'s other end is dropped.
fn serve(listener: TcpListener, tickets: usize, sent: mpsc::SyncSender<()>) -> JoinHandle<()> {
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let mut client = acceptor(tickets).accept(client).unwrap();
        client.write_all(b"data").unwrap();
        sent.send(()).unwrap();
        while sent.send(()).is_ok() {}
    })
}

/// Regression: one poll handled all that had arrived, while all other tunnels of the thread waited.
#[test]
fn a_poll_handles_a_few_records_without_data() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sent, is_sent) = mpsc::sync_channel(0);
    let server = serve(listener, 10 * ROUNDS, sent);
    let spec = TlsOptions {
        insecure: true,
        ..TlsOptions::of(TlsPeer::Proxy)
    };
    let spec = Some(TlsSpec::load(&spec).unwrap());
    let peer = Peer::Via(address.to_string().parse().unwrap());
    let (polls, data) = runtime().unwrap().block_on(async {
        let socket = Socket::connect(&address, None).unwrap().await.unwrap();
        let stream = Upstream::Bare(socket);
        let mut stream = secure(Rewind::new(stream, Vec::new()), peer, &spec)
            .await
            .unwrap();
        // All of it is in this machine by now.
        is_sent.recv().unwrap();
        let (mut polls, mut buffer) = (0, [0; 10]);
        let read = poll_fn(|cx| {
            polls += 1;
            let mut buffer = ReadBuf::new(&mut buffer);
            let polled = Pin::new(&mut stream).poll_read(cx, &mut buffer);
            polled.map_ok(|()| buffer.filled().len())
        });
        let count = read.await.unwrap();
        (polls, buffer[..count].to_vec())
    });
    assert_eq!(data, b"data");
    assert!(polls >= 10, "{polls} polls");
    drop(is_sent);
    server.join().unwrap();
}
