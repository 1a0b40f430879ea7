//! Listening and accepting.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener as StdListener, TcpStream as StdStream};
use std::thread;
use std::time::Duration;

use futures::{future, Async, Future, Stream};
use semantics::{own_addr, own_process, peer, turn_until, watchdog, Bell};
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::Core;
use tokio_core::try_nb;
use tokio_io::io::{read_exact, write_all};

fn bind(core: &Core) -> TcpListener {
    TcpListener::bind(&"127.0.0.1:0".parse().unwrap(), &core.handle()).unwrap()
}

fn connect(listener: &TcpListener) -> StdStream {
    peer(StdStream::connect(listener.local_addr().unwrap()).unwrap())
}

#[test]
fn accept_gives_the_stream_and_the_peers_address() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut listener = bind(&core);
    let mut peer = connect(&listener);
    peer.write_all(b"ping").unwrap();
    let accept = future::poll_fn(|| Ok::<_, io::Error>(Async::Ready(try_nb!(listener.accept()))));
    let (stream, addr) = core.run(accept).unwrap();
    assert_eq!(addr, peer.local_addr().unwrap());
    assert_eq!(stream.peer_addr().unwrap(), addr);
    let (_, buf) = core.run(read_exact(stream, [0; 4])).unwrap();
    assert_eq!(&buf, b"ping");
}

#[test]
fn an_accept_that_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut listener = bind(&core);
    let bell = Bell::new();
    for round in 0..3 {
        let rung = bell.rung();
        let error = bell.enter(|| listener.accept()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "round {round}");
        let _peer = connect(&listener);
        turn_until(&mut core, "the task is notified", || bell.rung() > rung);
        // Off the loop, the stream is registered by the core.
        let mut accepted = None;
        turn_until(&mut core, "the stream is accepted", || {
            accepted = bell.enter(|| listener.accept()).ok();
            accepted.is_some()
        });
    }
}

#[test]
fn an_accept_std_that_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut listener = bind(&core);
    let bell = Bell::new();
    let error = bell.enter(|| listener.accept_std()).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let mut client = connect(&listener);
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    let (stream, addr) = bell.enter(|| listener.accept_std()).unwrap();
    assert_eq!(addr, client.local_addr().unwrap());
    // A blocking stream, which no core is needed for.
    client.write_all(b"x").unwrap();
    peer(stream).read_exact(&mut [0]).unwrap();
}

#[test]
fn poll_read_of_a_listener_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut listener = bind(&core);
    let bell = Bell::new();
    assert!(bell.enter(|| listener.poll_read()).is_not_ready());
    let _peer = connect(&listener);
    turn_until(&mut core, "the task is notified", || bell.rung() > 0);
    assert!(bell.enter(|| listener.poll_read()).is_ready());
    bell.enter(|| listener.accept_std()).unwrap();
}

#[test]
fn incoming_yields_connections_in_their_order() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let listener = bind(&core);
    let peers: Vec<_> = (0..20).map(|_| connect(&listener)).collect();
    let accepted = core.run(listener.incoming().take(20).collect()).unwrap();
    for (peer, (stream, addr)) in peers.iter().zip(&accepted) {
        assert_eq!(*addr, peer.local_addr().unwrap());
        assert_eq!(stream.local_addr().unwrap(), peer.peer_addr().unwrap());
    }
}

#[test]
fn incoming_serves_connections_that_come_later() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let listener = bind(&core);
    let addr = listener.local_addr().unwrap();
    let clients = thread::spawn(move || {
        for n in 0..100_u8 {
            let mut stream = peer(StdStream::connect(addr).unwrap());
            stream.write_all(&[n]).unwrap();
            let mut buf = [0];
            stream.read_exact(&mut buf).unwrap();
            assert_eq!(buf, [n + 1]);
        }
    });
    let handle = core.handle();
    let server = listener.incoming().take(100).for_each(|(stream, _)| {
        let reply = read_exact(stream, [0])
            .and_then(|(stream, [n])| write_all(stream, [n + 1]))
            .map(drop)
            .map_err(|error| panic!("{error}"));
        handle.spawn(reply);
        Ok(())
    });
    core.run(server).unwrap();
    turn_until(&mut core, "the clients are served", || {
        clients.is_finished()
    });
    clients.join().unwrap();
}

#[test]
fn accept_reports_the_descriptor_limit_and_goes_on_after_it() {
    watchdog!();
    own_process!(|| {
        let mut core = Core::new().unwrap();
        let mut listener = bind(&core);
        let peer = connect(&listener);
        let taken = take_all_descriptors();
        let accept = |listener: &mut TcpListener| {
            let (stream, addr) = try_nb!(listener.accept());
            Ok::<_, io::Error>(Async::Ready((stream, addr)))
        };
        for _ in 0..3 {
            let error = core
                .run(future::poll_fn(|| accept(&mut listener)))
                .unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        }
        drop(taken);
        let (_, addr) = core.run(future::poll_fn(|| accept(&mut listener))).unwrap();
        assert_eq!(addr, peer.local_addr().unwrap());
    });
}

#[test]
fn incoming_goes_on_after_the_descriptor_limit() {
    watchdog!();
    own_process!(|| {
        let mut core = Core::new().unwrap();
        let listener = bind(&core);
        let peer = connect(&listener);
        let mut incoming = listener.incoming();
        let taken = take_all_descriptors();
        let error = core.run(future::poll_fn(|| incoming.poll())).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        drop(taken);
        let (_, addr) = core
            .run(future::poll_fn(|| incoming.poll()))
            .unwrap()
            .unwrap();
        assert_eq!(addr, peer.local_addr().unwrap());
    });
}

#[test]
fn new_sockets_and_cores_report_the_descriptor_limit() {
    watchdog!();
    own_process!(|| {
        let core = Core::new().unwrap();
        let addr = bind(&core).local_addr().unwrap();
        let taken = take_all_descriptors();
        let error = TcpListener::bind(&addr, &core.handle()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        let error = tokio_core::net::UdpSocket::bind(&addr, &core.handle()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        let mut connect = TcpStream::connect(&addr, &core.handle());
        let error = Bell::new().enter(|| connect.poll()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        let error = Core::new().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        drop(taken);
        Core::new().unwrap();
    });
}

/// Lowers the limit of this process and opens descriptors until there are none left.
fn take_all_descriptors() -> Vec<std::fs::File> {
    let limit = libc::rlimit {
        rlim_cur: 64,
        rlim_max: 64,
    };
    // SAFETY: `limit` lives as long as the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let mut taken = Vec::new();
    loop {
        match std::fs::File::open("/dev/null") {
            Ok(file) => taken.push(file),
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
                return taken;
            }
        }
    }
}

#[test]
fn from_listener_adopts_a_blocking_listener() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    // A connection that came before counts.
    let peer = StdStream::connect(addr).unwrap();
    let mut listener = TcpListener::from_listener(listener, &addr, &core.handle()).unwrap();
    assert_eq!(listener.local_addr().unwrap(), addr);
    let accept = future::poll_fn(|| Ok::<_, io::Error>(Async::Ready(try_nb!(listener.accept()))));
    let (_, from) = core.run(accept).unwrap();
    assert_eq!(from, peer.local_addr().unwrap());
    // Would not come back if the listener still blocked.
    let error = Bell::new().enter(|| listener.accept()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

#[test]
fn bind_of_an_address_in_use_fails() {
    watchdog!();
    let core = Core::new().unwrap();
    let listener = bind(&core);
    let again = TcpListener::bind(&listener.local_addr().unwrap(), &core.handle());
    assert_eq!(again.unwrap_err().kind(), ErrorKind::AddrInUse);
}

#[test]
fn bind_takes_an_address_whose_last_connections_linger() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut listener = TcpListener::bind(&own_addr(), &core.handle()).unwrap();
    let addr = listener.local_addr().unwrap();
    let mut peer = connect(&listener);
    let accept = future::poll_fn(|| Ok::<_, io::Error>(Async::Ready(try_nb!(listener.accept()))));
    let (stream, _) = core.run(accept).unwrap();
    // Our end closes first, and so is the one that waits.
    drop(stream);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    drop((peer, listener));
    TcpListener::bind(&addr, &core.handle()).unwrap();
}

#[test]
fn bind_on_a_handle_of_a_dropped_core_fails() {
    watchdog!();
    let core = Core::new().unwrap();
    let handle = core.handle();
    drop(core);
    let addr = "127.0.0.1:0".parse().unwrap();
    assert_eq!(
        TcpListener::bind(&addr, &handle).unwrap_err().kind(),
        ErrorKind::Other
    );
    let std = StdListener::bind("127.0.0.1:0").unwrap();
    let error = TcpListener::from_listener(std, &addr, &handle).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
}

#[test]
fn bind_listens_at_once() {
    watchdog!();
    let core = Core::new().unwrap();
    let listener = bind(&core);
    // Neither accepted nor run, and more than a few fit into the backlog.
    let peers: Vec<_> = (0..200).map(|_| connect(&listener)).collect();
    assert_eq!(peers.len(), 200);
}

#[test]
fn dropping_a_listener_refuses_connections() {
    watchdog!();
    let core = Core::new().unwrap();
    let listener = TcpListener::bind(&own_addr(), &core.handle()).unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener.incoming());
    // At once: the core does not run.
    let error = StdStream::connect(addr).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn listener_options_are_set_and_read() {
    watchdog!();
    let core = Core::new().unwrap();
    let listener = bind(&core);
    listener.set_ttl(33).unwrap();
    assert_eq!(listener.ttl().unwrap(), 33);
    let v6 = TcpListener::bind(&"[::1]:0".parse().unwrap(), &core.handle()).unwrap();
    v6.only_v6().unwrap();
    assert_eq!(
        v6.set_only_v6(true).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    let addr = listener.local_addr().unwrap().to_string();
    assert!(format!("{listener:?}").contains(&addr));
}

#[test]
fn a_listener_serves_in_a_task_of_another_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let listener = bind(&core);
    let addr = listener.local_addr().unwrap();
    let (done, waits) = futures::sync::oneshot::channel();
    let thread = thread::spawn(move || {
        for accepted in listener.incoming().take(3).wait() {
            let (stream, _) = accepted.unwrap();
            let (stream, buf) = read_exact(stream, [0; 4]).wait().unwrap();
            write_all(stream, buf).wait().unwrap();
        }
        done.send(()).unwrap();
    });
    let clients = thread::spawn(move || {
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(5));
            let mut stream = peer(StdStream::connect(addr).unwrap());
            stream.write_all(b"ping").unwrap();
            let mut buf = [0; 4];
            stream.read_exact(&mut buf).unwrap();
            assert_eq!(&buf, b"ping");
        }
    });
    core.run(waits).unwrap();
    thread.join().unwrap();
    clients.join().unwrap();
}
