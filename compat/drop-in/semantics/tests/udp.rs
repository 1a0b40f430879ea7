//! UDP.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket as StdSocket};
use std::time::Duration;

use futures::{future, Async, Future, Sink, Stream};
use semantics::{own_addr, turn_until, watchdog, Bell};
use socket2::SockRef;
use tokio_core::net::{UdpCodec, UdpSocket};
use tokio_core::reactor::Core;
use tokio_core::try_nb;

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn bind(core: &Core) -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind(&any(), &core.handle()).unwrap();
    let addr = socket.local_addr().unwrap();
    (socket, addr)
}

fn std_socket() -> (StdSocket, SocketAddr) {
    let socket = StdSocket::bind(any()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let addr = socket.local_addr().unwrap();
    (socket, addr)
}

fn recv_from(
    core: &mut Core,
    socket: &UdpSocket,
    buf: &mut [u8],
) -> io::Result<(usize, SocketAddr)> {
    core.run(future::poll_fn(|| {
        Ok(Async::Ready(try_nb!(socket.recv_from(buf))))
    }))
}

fn recv(core: &mut Core, socket: &UdpSocket, buf: &mut [u8]) -> io::Result<usize> {
    core.run(future::poll_fn(|| {
        Ok(Async::Ready(try_nb!(socket.recv(buf))))
    }))
}

fn send_to(core: &mut Core, socket: &UdpSocket, buf: &[u8], to: &SocketAddr) -> io::Result<usize> {
    core.run(future::poll_fn(|| {
        Ok(Async::Ready(try_nb!(socket.send_to(buf, to))))
    }))
}

#[test]
fn send_to_and_recv_from() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((one, one_addr), (two, two_addr)) = (bind(&core), bind(&core));
    assert_eq!(send_to(&mut core, &one, b"ping", &two_addr).unwrap(), 4);
    let mut buf = [0; 10];
    assert_eq!(recv_from(&mut core, &two, &mut buf).unwrap(), (4, one_addr));
    assert_eq!(&buf[..4], b"ping");
}

#[test]
fn a_recv_from_that_would_block_notifies_its_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, addr), (peer, _)) = (bind(&core), std_socket());
    let bell = Bell::new();
    for _ in 0..3 {
        let rung = bell.rung();
        let error = bell.enter(|| socket.recv_from(&mut [0; 10])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        peer.send_to(b"abc", addr).unwrap();
        turn_until(&mut core, "the task is notified", || bell.rung() > rung);
        assert_eq!(bell.enter(|| socket.recv_from(&mut [0; 10])).unwrap().0, 3);
    }
}

#[test]
fn poll_read_and_poll_write_of_a_socket_notify_their_tasks() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, addr), (peer, _)) = (bind(&core), std_socket());
    let (reader, writer) = (Bell::new(), Bell::new());
    assert!(reader.enter(|| socket.poll_read()).is_not_ready());
    let mut writable = || writer.enter(|| socket.poll_write()).is_ready();
    turn_until(&mut core, "the socket is writable", &mut writable);
    peer.send_to(b"abc", addr).unwrap();
    turn_until(&mut core, "the reader is notified", || reader.rung() > 0);
    assert!(reader.enter(|| socket.poll_read()).is_ready());
}

#[test]
fn connected_sockets_send_and_recv() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((one, one_addr), (two, two_addr)) = (bind(&core), bind(&core));
    one.connect(&two_addr).unwrap();
    two.connect(&one_addr).unwrap();
    let send = future::poll_fn(|| Ok::<_, io::Error>(Async::Ready(try_nb!(one.send(b"ping")))));
    assert_eq!(core.run(send).unwrap(), 4);
    let mut buf = [0; 10];
    assert_eq!(recv(&mut core, &two, &mut buf).unwrap(), 4);
    assert_eq!(&buf[..4], b"ping");
}

#[test]
fn the_second_send_to_a_closed_port_is_connection_refused() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (socket, _) = bind(&core);
    let addr = StdSocket::bind(own_addr()).unwrap().local_addr().unwrap();
    socket.connect(&addr).unwrap();
    let mut send = || {
        core.run(future::poll_fn(|| {
            Ok::<_, io::Error>(Async::Ready(try_nb!(socket.send(b"x"))))
        }))
    };
    assert_eq!(send().unwrap(), 1);
    // The kernel's answer to the first is there when it returns, on loopback.
    assert_eq!(send().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(send().unwrap(), 1);
}

#[test]
fn an_empty_datagram_is_received_as_zero_bytes() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, addr), (peer, peer_addr)) = (bind(&core), std_socket());
    peer.send_to(b"", addr).unwrap();
    assert_eq!(
        recv_from(&mut core, &socket, &mut [0; 10]).unwrap(),
        (0, peer_addr)
    );
    assert_eq!(send_to(&mut core, &socket, b"", &peer_addr).unwrap(), 0);
    assert_eq!(peer.recv(&mut [0; 10]).unwrap(), 0);
}

#[test]
fn a_datagram_is_cut_to_the_buffer() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, addr), (peer, _)) = (bind(&core), std_socket());
    peer.send_to(b"abcdef", addr).unwrap();
    peer.send_to(b"next", addr).unwrap();
    let mut buf = [0; 3];
    assert_eq!(recv_from(&mut core, &socket, &mut buf).unwrap().0, 3);
    assert_eq!(&buf, b"abc");
    assert_eq!(recv_from(&mut core, &socket, &mut buf).unwrap().0, 3);
    assert_eq!(&buf, b"nex");
}

#[test]
fn a_datagram_that_is_too_long_is_an_error() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, _), (_peer, addr)) = (bind(&core), std_socket());
    let error = send_to(&mut core, &socket, &[0; 70_000], &addr).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
}

#[test]
fn send_dgram_and_recv_dgram_give_their_parts_back() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((one, one_addr), (two, two_addr)) = (bind(&core), bind(&core));
    let receive = two.recv_dgram(vec![0; 10]);
    let send = one.send_dgram("ping", two_addr);
    let ((one, text), (two, buf, n, from)) = core.run(send.join(receive)).unwrap();
    assert_eq!((text, n, from), ("ping", 4, one_addr));
    assert_eq!(&buf[..n], b"ping");
    assert_eq!(one.local_addr().unwrap(), one_addr);
    assert_eq!(two.local_addr().unwrap(), two_addr);
}

#[test]
fn polling_a_finished_dgram_panics() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((one, _), (_peer, addr)) = (bind(&core), std_socket());
    let mut send = one.send_dgram("ping", addr);
    core.run(future::poll_fn(|| send.poll())).unwrap();
    let again = std::panic::AssertUnwindSafe(|| Bell::new().enter(|| send.poll().map(drop)));
    assert!(std::panic::catch_unwind(again).is_err());
}

/// Texts to one address; "bad" is none.
struct Texts(SocketAddr);

impl UdpCodec for Texts {
    type In = (SocketAddr, String);
    type Out = String;

    fn decode(&mut self, from: &SocketAddr, buf: &[u8]) -> io::Result<(SocketAddr, String)> {
        match String::from_utf8_lossy(buf) {
            text if text == "bad" => Err(ErrorKind::InvalidData.into()),
            text => Ok((*from, text.into_owned())),
        }
    }

    fn encode(&mut self, text: String, buf: &mut Vec<u8>) -> SocketAddr {
        assert!(buf.is_empty());
        buf.extend_from_slice(text.as_bytes());
        self.0
    }
}

#[test]
fn framed_sends_and_receives_messages() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, addr), (peer, peer_addr)) = (bind(&core), std_socket());
    let framed = socket.framed(Texts(peer_addr));
    let framed = core
        .run(framed.send("one".into()).and_then(|f| f.send("two".into())))
        .unwrap();
    for text in ["one", "two"] {
        let mut buf = [0; 10];
        let (n, from) = peer.recv_from(&mut buf).unwrap();
        assert_eq!((&buf[..n], from), (text.as_bytes(), addr));
        peer.send_to(text.as_bytes(), addr).unwrap();
    }
    let received = core.run(framed.take(2).collect()).unwrap();
    assert_eq!(
        received,
        [(peer_addr, "one".into()), (peer_addr, "two".into())]
    );
}

#[test]
fn framed_goes_on_after_a_message_that_does_not_decode() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, addr), (peer, peer_addr)) = (bind(&core), std_socket());
    let mut framed = socket.framed(Texts(peer_addr));
    peer.send_to(b"bad", addr).unwrap();
    peer.send_to(b"good", addr).unwrap();
    let error = core.run(future::poll_fn(|| framed.poll())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let next = core.run(future::poll_fn(|| framed.poll())).unwrap();
    assert_eq!(next, Some((peer_addr, "good".into())));
}

#[test]
fn framed_sends_the_first_message_before_it_takes_the_second() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, _), (peer, peer_addr)) = (bind(&core), std_socket());
    let mut framed = socket.framed(Texts(peer_addr));
    core.run(future::poll_fn(|| {
        assert!(framed.start_send("one".into())?.is_ready());
        Ok::<_, io::Error>(Async::Ready(()))
    }))
    .unwrap();
    core.run(future::poll_fn(|| {
        match framed.start_send("two".into())? {
            futures::AsyncSink::Ready => Ok::<_, io::Error>(Async::Ready(())),
            futures::AsyncSink::NotReady(_) => Ok(Async::NotReady),
        }
    }))
    .unwrap();
    let mut buf = [0; 10];
    assert_eq!(peer.recv(&mut buf).unwrap(), 3);
    assert_eq!(&buf[..3], b"one");
    core.run(future::poll_fn(|| framed.close())).unwrap();
    assert_eq!(peer.recv(&mut buf).unwrap(), 3);
    assert_eq!(&buf[..3], b"two");
}

#[test]
fn framed_gives_its_socket_back() {
    watchdog!();
    let core = Core::new().unwrap();
    let (socket, addr) = bind(&core);
    let mut framed = socket.framed(Texts(addr));
    assert_eq!(framed.get_ref().local_addr().unwrap(), addr);
    assert_eq!(framed.get_mut().local_addr().unwrap(), addr);
    assert_eq!(framed.into_inner().local_addr().unwrap(), addr);
}

#[test]
fn from_socket_adopts_a_blocking_socket() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (std, addr) = std_socket();
    let socket = UdpSocket::from_socket(std, &core.handle()).unwrap();
    let error = Bell::new()
        .enter(|| socket.recv_from(&mut [0]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let (peer, peer_addr) = std_socket();
    peer.send_to(b"x", addr).unwrap();
    assert_eq!(
        recv_from(&mut core, &socket, &mut [0]).unwrap(),
        (1, peer_addr)
    );
}

#[test]
fn udp_options_are_set_and_read() {
    watchdog!();
    let core = Core::new().unwrap();
    let (socket, addr) = bind(&core);
    for on in [true, false] {
        socket.set_broadcast(on).unwrap();
        assert_eq!(socket.broadcast().unwrap(), on);
        socket.set_multicast_loop_v4(on).unwrap();
        assert_eq!(socket.multicast_loop_v4().unwrap(), on);
    }
    socket.set_multicast_ttl_v4(5).unwrap();
    assert_eq!(socket.multicast_ttl_v4().unwrap(), 5);
    socket.set_ttl(44).unwrap();
    assert_eq!(socket.ttl().unwrap(), 44);
    assert!(format!("{socket:?}").contains(&addr.to_string()));
}

#[test]
fn udp_options_of_ipv6_are_set_and_read() {
    watchdog!();
    let core = Core::new().unwrap();
    let socket = UdpSocket::bind(&"[::1]:0".parse().unwrap(), &core.handle()).unwrap();
    for on in [true, false] {
        socket.set_multicast_loop_v6(on).unwrap();
        assert_eq!(socket.multicast_loop_v6().unwrap(), on);
    }
    socket.only_v6().unwrap();
    assert_eq!(
        socket.set_only_v6(true).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn a_multicast_group_is_joined_and_left() {
    watchdog!();
    let core = Core::new().unwrap();
    let (socket, _) = bind(&core);
    let (group, lo) = (Ipv4Addr::new(239, 255, 77, 1), Ipv4Addr::LOCALHOST);
    socket.join_multicast_v4(&group, &lo).unwrap();
    assert_eq!(
        socket.join_multicast_v4(&group, &lo).unwrap_err().kind(),
        ErrorKind::AddrInUse
    );
    socket.leave_multicast_v4(&group, &lo).unwrap();
    let error = socket.leave_multicast_v4(&group, &lo).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn an_ipv6_multicast_group_is_joined_and_left() {
    watchdog!();
    let core = Core::new().unwrap();
    let socket = UdpSocket::bind(&"[::1]:0".parse().unwrap(), &core.handle()).unwrap();
    // Of scope 1: the group does not leave this machine. Interface 1 is loopback.
    let group: Ipv6Addr = "ff01::7701".parse().unwrap();
    socket.join_multicast_v6(&group, 1).unwrap();
    socket.leave_multicast_v6(&group, 1).unwrap();
    let error = socket.leave_multicast_v6(&group, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn a_multicast_datagram_arrives_on_loopback() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let addr = "0.0.0.0:0".parse().unwrap();
    let socket = UdpSocket::bind(&addr, &core.handle()).unwrap();
    let (group, lo) = (Ipv4Addr::new(239, 255, 77, 2), Ipv4Addr::LOCALHOST);
    socket.join_multicast_v4(&group, &lo).unwrap();
    let (peer, peer_addr) = std_socket();
    SockRef::from(&peer).set_multicast_if_v4(&lo).unwrap();
    let port = socket.local_addr().unwrap().port();
    peer.send_to(b"all", (group, port)).unwrap();
    let mut buf = [0; 10];
    assert_eq!(
        recv_from(&mut core, &socket, &mut buf).unwrap(),
        (3, peer_addr)
    );
}

#[test]
fn udp_bind_fails_on_an_address_in_use_and_on_a_dropped_core() {
    watchdog!();
    let core = Core::new().unwrap();
    let (_socket, addr) = bind(&core);
    let error = UdpSocket::bind(&addr, &core.handle()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    let handle = core.handle();
    drop(core);
    assert_eq!(
        UdpSocket::bind(&any(), &handle).unwrap_err().kind(),
        ErrorKind::Other
    );
    let error = UdpSocket::from_socket(std_socket().0, &handle).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
}

#[test]
fn a_thousand_datagrams_arrive_in_order() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let ((socket, addr), (peer, _)) = (bind(&core), std_socket());
    for n in 0..1000_u32 {
        peer.send_to(&n.to_be_bytes(), addr).unwrap();
        // A few at a time, so that the kernel's buffer holds them.
        if n % 10 == 9 {
            for m in n - 9..=n {
                let mut buf = [0; 4];
                recv_from(&mut core, &socket, &mut buf).unwrap();
                assert_eq!(u32::from_be_bytes(buf), m);
            }
        }
    }
}
