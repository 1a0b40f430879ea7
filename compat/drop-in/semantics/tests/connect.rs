//! Connecting.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream as StdStream};
use std::panic::{catch_unwind, AssertUnwindSafe};

use futures::{Async, Future};
use semantics::{accept, closed_addr, connected, peer, std_listener, watchdog, Bell};
use socket2::{Domain, Socket, Type};
use tokio_core::net::TcpStream;
use tokio_core::reactor::Core;
use tokio_io::io::{read_exact, write_all};

#[test]
fn connect_begins_at_the_call() {
    watchdog!();
    let core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let _connecting = TcpStream::connect(&addr, &core.handle());
    // The future was not polled and the core has not run.
    accept(&listener);
}

#[test]
fn connect_ends_with_a_stream() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let stream = TcpStream::connect(&addr, &core.handle());
    let stream = core.run(stream).unwrap();
    let mut peer = accept(&listener);
    assert_eq!(stream.peer_addr().unwrap(), addr);
    assert_eq!(stream.local_addr().unwrap(), peer.peer_addr().unwrap());
    let (stream, _) = core.run(write_all(stream, b"ping")).unwrap();
    let mut buf = [0; 4];
    peer.read_exact(&mut buf).unwrap();
    peer.write_all(&buf).unwrap();
    let (_stream, buf) = core.run(read_exact(stream, [0; 4])).unwrap();
    assert_eq!(&buf, b"ping");
}

#[test]
fn connect_over_ipv6() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let listener = std::net::TcpListener::bind("[::1]:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let stream = TcpStream::connect(&addr, &core.handle());
    let stream = core.run(stream).unwrap();
    assert_eq!(stream.peer_addr().unwrap(), addr);
}

#[test]
fn a_refused_connect_is_connection_refused() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let addr = closed_addr();
    let stream = TcpStream::connect(&addr, &core.handle());
    let error = core.run(stream).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn an_unreachable_connect_fails_when_polled_not_at_the_call() {
    watchdog!();
    let core = Core::new().unwrap();
    // TCP has no broadcast: the kernel refuses without sending anything.
    let addr: SocketAddr = "255.255.255.255:9".parse().unwrap();
    let mut stream = TcpStream::connect(&addr, &core.handle());
    // The core need not run for it.
    let error = Bell::new().enter(|| stream.poll()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
}

#[test]
fn polling_a_failed_connect_again_panics() {
    watchdog!();
    let core = Core::new().unwrap();
    let addr: SocketAddr = "255.255.255.255:9".parse().unwrap();
    let mut stream = TcpStream::connect(&addr, &core.handle());
    let bell = Bell::new();
    bell.enter(|| stream.poll()).unwrap_err();
    let again = catch_unwind(AssertUnwindSafe(|| bell.enter(|| stream.poll())));
    assert!(again.is_err());
}

#[test]
fn dropping_a_connect_closes_its_socket() {
    watchdog!();
    let core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    drop(TcpStream::connect(&addr, &core.handle()));
    assert_eq!(accept(&listener).read(&mut [0]).unwrap(), 0);
}

#[test]
fn connect_on_a_handle_of_a_dropped_core_fails() {
    watchdog!();
    let core = Core::new().unwrap();
    let handle = core.handle();
    drop(core);
    let (_listener, addr) = std_listener();
    let mut stream = TcpStream::connect(&addr, &handle);
    let error = Bell::new().enter(|| stream.poll()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
}

#[test]
fn connect_stream_keeps_the_sockets_own_address() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let local: SocketAddr = "127.0.0.2:0".parse().unwrap();
    socket.bind(&local.into()).unwrap();
    let local = socket.local_addr().unwrap().as_socket().unwrap();
    let stream = TcpStream::connect_stream(socket.into(), &addr, &core.handle());
    let stream = core.run(stream).unwrap();
    assert_eq!(stream.local_addr().unwrap(), local);
    assert_eq!(accept(&listener).peer_addr().unwrap(), local);
}

#[test]
fn connect_stream_begins_at_the_call() {
    watchdog!();
    let core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let _stream = TcpStream::connect_stream(socket.into(), &addr, &core.handle());
    accept(&listener);
}

#[test]
fn connect_stream_is_refused_as_connect_is() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let addr = closed_addr();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let stream = TcpStream::connect_stream(socket.into(), &addr, &core.handle());
    let error = core.run(stream).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn from_stream_adopts_a_blocking_stream() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let stream = StdStream::connect(addr).unwrap();
    let mut peer = accept(&listener);
    let mut stream = TcpStream::from_stream(stream, &core.handle()).unwrap();
    // A read of a blocking socket would not come back.
    let error = Bell::new().enter(|| stream.read(&mut [0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    peer.write_all(b"x").unwrap();
    let (_stream, buf) = core.run(read_exact(stream, [0])).unwrap();
    assert_eq!(&buf, b"x");
}

#[test]
fn a_connect_waits_in_a_task_of_another_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let stream = TcpStream::connect(&addr, &core.handle());
    let (done, waits) = futures::sync::oneshot::channel();
    let thread = std::thread::spawn(move || {
        let stream = stream.wait().unwrap();
        done.send(()).unwrap();
        stream
    });
    core.run(waits).unwrap();
    let stream = thread.join().unwrap();
    let peer = accept(&listener);
    assert_eq!(stream.local_addr().unwrap(), peer.peer_addr().unwrap());
}

#[test]
fn a_thousand_connects_in_turn() {
    watchdog!();
    let mut core = Core::new().unwrap();
    for _ in 0..1000 {
        let (stream, mut peer) = connected(&mut core);
        drop(stream);
        assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn connects_wait_side_by_side() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let handle = core.handle();
    let streams: Vec<_> = (0..50)
        .map(|_| TcpStream::connect(&addr, &handle))
        .collect();
    let streams = core.run(futures::future::join_all(streams)).unwrap();
    assert_eq!(streams.len(), 50);
    for stream in &streams {
        stream.shutdown(Shutdown::Write).unwrap();
    }
    for _ in 0..50 {
        assert_eq!(
            peer(listener.accept().unwrap().0).read(&mut [0]).unwrap(),
            0
        );
    }
}

#[test]
fn a_connect_outside_of_run_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (listener, addr) = std_listener();
    let mut stream = TcpStream::connect(&addr, &core.handle());
    accept(&listener);
    let bell = Bell::new();
    // Whatever this says, the task must learn of the connection.
    if let Async::NotReady = bell.enter(|| stream.poll()).unwrap() {
        semantics::turn_until(&mut core, "the task is notified", || bell.rung() > 0);
        assert!(bell.enter(|| stream.poll()).unwrap().is_ready());
    }
}
