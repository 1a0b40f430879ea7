//! UDP sockets as streams and sinks of messages.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use futures::{Async, AsyncSink, Poll, Sink, StartSend, Stream};

use super::UdpSocket;

/// The longest datagram that is received in full, in bytes.
const LONGEST: usize = 64 * 1024;

/// A translation between datagrams and messages.
pub trait UdpCodec {
    /// The messages that are received.
    type In;

    /// The messages that are sent.
    type Out;

    /// Turns a datagram from `src` into a message.
    ///
    /// # Errors
    ///
    /// When it can't; the stream yields the error, and can be polled again.
    fn decode(&mut self, src: &SocketAddr, buf: &[u8]) -> io::Result<Self::In>;

    /// Appends the datagram of `msg` to `buf`, which is empty, and returns where to send it.
    fn encode(&mut self, msg: Self::Out, buf: &mut Vec<u8>) -> SocketAddr;
}

/// A UDP socket as a stream and a sink of messages; made by [`UdpSocket::framed`].
///
/// The stream never ends. The sink holds one datagram until it is sent.
#[must_use = "sinks do nothing unless polled"]
pub struct UdpFramed<C> {
    socket: UdpSocket,
    codec: C,
    received: Vec<u8>,
    sending: Vec<u8>,
    target: SocketAddr,
    is_sent: bool,
}

impl<C> UdpFramed<C> {
    pub(super) fn new(socket: UdpSocket, codec: C) -> UdpFramed<C> {
        UdpFramed {
            socket,
            codec,
            received: vec![0; LONGEST],
            sending: Vec::new(),
            target: (Ipv4Addr::UNSPECIFIED, 0).into(),
            is_sent: true,
        }
    }

    /// Returns the socket.
    pub fn get_ref(&self) -> &UdpSocket {
        &self.socket
    }

    /// Returns the socket.
    pub fn get_mut(&mut self) -> &mut UdpSocket {
        &mut self.socket
    }

    /// Gives the socket back. A datagram that isn't sent yet is dropped.
    pub fn into_inner(self) -> UdpSocket {
        self.socket
    }
}

impl<C: UdpCodec> Stream for UdpFramed<C> {
    type Item = C::In;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<C::In>, io::Error> {
        let (n, src) = try_nb!(self.socket.recv_from(&mut self.received));
        let message = self.codec.decode(&src, &self.received[..n])?;
        Ok(Async::Ready(Some(message)))
    }
}

impl<C: UdpCodec> Sink for UdpFramed<C> {
    type SinkItem = C::Out;
    type SinkError = io::Error;

    fn start_send(&mut self, item: C::Out) -> StartSend<C::Out, io::Error> {
        if !self.poll_complete()?.is_ready() {
            return Ok(AsyncSink::NotReady(item));
        }
        self.target = self.codec.encode(item, &mut self.sending);
        self.is_sent = false;
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll<(), io::Error> {
        if self.is_sent {
            return Ok(Async::Ready(()));
        }
        let n = try_nb!(self.socket.send_to(&self.sending, &self.target));
        let is_whole = n == self.sending.len();
        self.sending.clear();
        self.is_sent = true;
        if !is_whole {
            return Err(io::Error::other("the system sent a part of a datagram"));
        }
        Ok(Async::Ready(()))
    }

    fn close(&mut self) -> Poll<(), io::Error> {
        self.poll_complete()
    }
}
