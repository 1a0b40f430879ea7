//! Descriptors before and after. Each test counts in a separate process.

use std::io::{Read, Write};
use std::net::TcpStream as StdStream;

use futures::{Future, Stream};
use semantics::{
    accept, closed_addr, connected, descriptors, own_process, real, std_listener, watchdog, yields,
    Descriptor,
};
use tokio_core::net::{TcpListener, TcpStream, UdpSocket};
use tokio_core::reactor::{Core, PollEvented, Timeout};
use tokio_io::io::read_exact;
use tokio_io::AsyncRead;

/// Counts what is open after a first Core: tokio with its feature `signal` opens a pair of sockets
/// once for the process.
fn after_a_first_core() -> usize {
    let before = descriptors();
    drop(Core::new().unwrap());
    let after = descriptors();
    assert!(after == before || !real() && after == before + 2);
    after
}

#[test]
fn a_dropped_core_leaves_no_descriptor() {
    watchdog!();
    own_process!(|| {
        let before = after_a_first_core();
        for _ in 0..50 {
            let mut core = Core::new().unwrap();
            core.run(yields(2)).unwrap();
            core.run(Timeout::new(Default::default(), &core.handle()).unwrap())
                .unwrap();
        }
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn a_core_that_never_ran_leaves_no_descriptor() {
    watchdog!();
    own_process!(|| {
        let before = after_a_first_core();
        let core = Core::new().unwrap();
        let (handle, remote) = (core.handle(), core.remote());
        drop(core);
        assert_eq!(descriptors(), before);
        drop((handle, remote));
    });
}

#[test]
fn dropped_sockets_close_at_once() {
    watchdog!();
    own_process!(|| {
        let mut core = Core::new().unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        // What the first socket may need for good.
        drop(connected(&mut core));
        let before = descriptors();
        let (stream, peer) = connected(&mut core);
        assert_eq!(descriptors(), before + 2);
        drop(peer);
        drop(stream);
        assert_eq!(descriptors(), before);
        let listener = TcpListener::bind(&any, &core.handle()).unwrap();
        let socket = UdpSocket::bind(&any, &core.handle()).unwrap();
        let (ours, theirs) = Descriptor::pair();
        let source = PollEvented::new(ours, &core.handle()).unwrap();
        assert_eq!(descriptors(), before + 4);
        drop((listener.incoming(), socket, source, theirs));
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn sockets_that_wait_close_at_once() {
    watchdog!();
    own_process!(|| {
        let mut core = Core::new().unwrap();
        drop(connected(&mut core));
        let before = descriptors();
        let (stream, peer) = connected(&mut core);
        let mut reads = read_exact(stream, [0]);
        core.run(futures::future::lazy(|| reads.poll().map(drop)))
            .unwrap();
        drop((reads, peer));
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn a_dropped_connect_closes_at_once() {
    watchdog!();
    own_process!(|| {
        let core = Core::new().unwrap();
        let (_listener, addr) = std_listener();
        let before = descriptors();
        let connect = TcpStream::connect(&addr, &core.handle());
        assert_eq!(descriptors(), before + 1);
        drop(connect);
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn a_refused_connect_leaves_no_descriptor() {
    watchdog!();
    own_process!(|| {
        let mut core = Core::new().unwrap();
        let addr = closed_addr();
        let before = descriptors();
        for _ in 0..100 {
            core.run(TcpStream::connect(&addr, &core.handle()))
                .unwrap_err();
        }
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn a_core_with_tasks_and_sockets_leaves_no_descriptor() {
    watchdog!();
    own_process!(|| {
        let before = after_a_first_core();
        let mut core = Core::new().unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let listener = TcpListener::bind(&any, &core.handle()).unwrap();
        let addr = listener.local_addr().unwrap();
        let handle = core.handle();
        let accepts = listener.incoming().for_each(move |(stream, _)| {
            handle.spawn(read_exact(stream, [0]).then(|_| Ok(())));
            Ok(())
        });
        core.handle().spawn(accepts.map_err(drop));
        let peers: Vec<_> = (0..20).map(|_| StdStream::connect(addr).unwrap()).collect();
        let connects = (0..20).map(|_| TcpStream::connect(&addr, &core.handle()));
        let streams = core
            .run(futures::future::join_all(connects.collect::<Vec<_>>()))
            .unwrap();
        core.run(yields(5)).unwrap();
        drop(core);
        drop((peers, streams));
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn a_socket_that_outlives_its_core_leaves_no_descriptor() {
    watchdog!();
    own_process!(|| {
        let before = after_a_first_core();
        let mut core = Core::new().unwrap();
        let (stream, mut peer) = connected(&mut core);
        drop(core);
        // Some of the core's own may stay as long as its sockets do.
        drop(stream);
        assert_eq!(descriptors(), before + 1);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn both_halves_of_split_close_the_socket() {
    watchdog!();
    own_process!(|| {
        let mut core = Core::new().unwrap();
        drop(connected(&mut core));
        let before = descriptors();
        let (stream, peer) = connected(&mut core);
        let (reads, writes) = stream.split();
        drop(reads);
        assert_eq!(descriptors(), before + 2);
        drop(writes);
        drop(peer);
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn thousands_of_connections_leave_no_descriptor() {
    watchdog!();
    own_process!(|| {
        let mut core = Core::new().unwrap();
        let (listener, addr) = std_listener();
        drop(connected(&mut core));
        let before = descriptors();
        for _ in 0..2000 {
            let stream = core.run(TcpStream::connect(&addr, &core.handle())).unwrap();
            let mut peer = accept(&listener);
            peer.write_all(b"x").unwrap();
            core.run(read_exact(stream, [0])).unwrap();
        }
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn from_stream_and_from_socket_take_the_descriptor_over() {
    watchdog!();
    own_process!(|| {
        let core = Core::new().unwrap();
        let (listener, addr) = std_listener();
        let before = descriptors();
        let stream = StdStream::connect(addr).unwrap();
        let stream = TcpStream::from_stream(stream, &core.handle()).unwrap();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::from_socket(socket, &core.handle()).unwrap();
        assert_eq!(descriptors(), before + 2);
        drop((stream, socket));
        assert_eq!(descriptors(), before);
        drop(listener);
    });
}
