//! UDP sockets as streams and sinks of messages.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::BytesMut;
use futures::{try_ready, Async, AsyncSink, Poll, Sink, StartSend, Stream};
use tokio_codec::{Decoder, Encoder};

use crate::UdpSocket;

/// The longest datagram that is received in full, in bytes.
const LONGEST: usize = 64 * 1024;

/// A UDP socket as a stream and a sink of messages with their addresses.
///
/// A datagram from which the codec makes no message ends the stream, unless it was made with
/// `repeat_decode`. The sink holds one datagram until it is sent.
#[must_use = "sinks do nothing unless polled"]
#[derive(Debug)]
pub struct UdpFramed<C> {
    socket: UdpSocket,
    codec: C,
    datagram: Box<[u8]>,
    received: BytesMut,
    /// Where the datagram came from that `received` is left of.
    source: Option<SocketAddr>,
    repeat_decode: bool,
    sending: BytesMut,
    target: SocketAddr,
    is_sent: bool,
}

impl<C> UdpFramed<C> {
    /// Makes a stream with one message for each datagram.
    pub fn new(socket: UdpSocket, codec: C) -> UdpFramed<C> {
        UdpFramed::with_decode(socket, codec, false)
    }

    /// Makes a stream; with `repeat_decode`, a datagram can have several messages: all that `decode_eof`
    /// finds.
    pub fn with_decode(socket: UdpSocket, codec: C, repeat_decode: bool) -> UdpFramed<C> {
        UdpFramed {
            socket,
            codec,
            datagram: vec![0; LONGEST].into(),
            received: BytesMut::new(),
            source: None,
            repeat_decode,
            sending: BytesMut::new(),
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

    /// Returns the socket; what isn't sent or decoded yet is dropped.
    pub fn into_inner(self) -> UdpSocket {
        self.socket
    }

    /// Receives a datagram into `received`.
    fn poll_recv(&mut self) -> Poll<SocketAddr, io::Error> {
        let (n, source) = try_ready!(self.socket.poll_recv_from(&mut self.datagram));
        self.received.clear();
        self.received.extend_from_slice(&self.datagram[..n]);
        Ok(Async::Ready(source))
    }
}

impl<C: Decoder> Stream for UdpFramed<C> {
    type Item = (C::Item, SocketAddr);
    type Error = C::Error;

    fn poll(&mut self) -> Poll<Option<Self::Item>, Self::Error> {
        if !self.repeat_decode {
            let source = try_ready!(self.poll_recv());
            let message = self.codec.decode(&mut self.received)?;
            return Ok(Async::Ready(message.map(|message| (message, source))));
        }
        loop {
            if let Some(source) = self.source {
                if let Some(message) = self.codec.decode_eof(&mut self.received)? {
                    return Ok(Async::Ready(Some((message, source))));
                }
                self.source = None;
            }
            self.source = Some(try_ready!(self.poll_recv()));
        }
    }
}

impl<C: Encoder> Sink for UdpFramed<C> {
    type SinkItem = (C::Item, SocketAddr);
    type SinkError = C::Error;

    fn start_send(&mut self, item: Self::SinkItem) -> StartSend<Self::SinkItem, Self::SinkError> {
        if !self.poll_complete()?.is_ready() {
            return Ok(AsyncSink::NotReady(item));
        }
        let (message, target) = item;
        self.codec.encode(message, &mut self.sending)?;
        self.target = target;
        self.is_sent = false;
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll<(), C::Error> {
        if self.is_sent {
            return Ok(Async::Ready(()));
        }
        let n = try_ready!(self.socket.poll_send_to(&self.sending, &self.target));
        let is_whole = n == self.sending.len();
        self.sending.clear();
        self.is_sent = true;
        if is_whole {
            return Ok(Async::Ready(()));
        }
        Err(io::Error::other("failed to write entire datagram to socket").into())
    }

    fn close(&mut self) -> Poll<(), C::Error> {
        self.poll_complete()
    }
}
