//! Datagram sockets as streams and sinks of messages.

use std::io;
use std::os::unix::net::SocketAddr;
use std::path::Path;

use bytes::BytesMut;
use futures::{try_ready, Async, AsyncSink, Poll, Sink, StartSend, Stream};
use tokio_codec::{Decoder, Encoder};

use crate::UnixDatagram;

/// The longest datagram that is received in full, in bytes.
const LONGEST: usize = 64 * 1024;

/// A Unix datagram socket as a stream and a sink of messages with their addresses.
///
/// A datagram from which the codec makes no message ends the stream. The sink holds one datagram until it
/// is sent.
#[must_use = "sinks do nothing unless polled"]
#[derive(Debug)]
pub struct UnixDatagramFramed<A, C> {
    socket: UnixDatagram,
    codec: C,
    datagram: Box<[u8]>,
    received: BytesMut,
    sending: BytesMut,
    /// Where `sending` goes; `None` once it is sent.
    target: Option<A>,
}

impl<A, C> UnixDatagramFramed<A, C> {
    /// Makes a stream with one message for each datagram.
    pub fn new(socket: UnixDatagram, codec: C) -> UnixDatagramFramed<A, C> {
        UnixDatagramFramed {
            socket,
            codec,
            datagram: vec![0; LONGEST].into(),
            received: BytesMut::new(),
            sending: BytesMut::new(),
            target: None,
        }
    }

    /// Returns the socket.
    pub fn get_ref(&self) -> &UnixDatagram {
        &self.socket
    }

    /// Returns the socket.
    pub fn get_mut(&mut self) -> &mut UnixDatagram {
        &mut self.socket
    }
}

impl<A, C: Decoder> Stream for UnixDatagramFramed<A, C> {
    type Item = (C::Item, SocketAddr);
    type Error = C::Error;

    fn poll(&mut self) -> Poll<Option<Self::Item>, Self::Error> {
        let (n, source) = try_ready!(self.socket.poll_recv_from(&mut self.datagram));
        self.received.clear();
        self.received.extend_from_slice(&self.datagram[..n]);
        let message = self.codec.decode(&mut self.received)?;
        Ok(Async::Ready(message.map(|message| (message, source))))
    }
}

impl<A: AsRef<Path>, C: Encoder> Sink for UnixDatagramFramed<A, C> {
    type SinkItem = (C::Item, A);
    type SinkError = C::Error;

    fn start_send(&mut self, item: Self::SinkItem) -> StartSend<Self::SinkItem, Self::SinkError> {
        if !self.poll_complete()?.is_ready() {
            return Ok(AsyncSink::NotReady(item));
        }
        let (message, target) = item;
        self.codec.encode(message, &mut self.sending)?;
        self.target = Some(target);
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll<(), C::Error> {
        let Some(target) = &self.target else {
            return Ok(Async::Ready(()));
        };
        let n = try_ready!(self.socket.poll_send_to(&self.sending, target));
        let is_whole = n == self.sending.len();
        self.sending.clear();
        self.target = None;
        if is_whole {
            return Ok(Async::Ready(()));
        }
        Err(io::Error::other("failed to write entire datagram to socket").into())
    }

    fn close(&mut self) -> Poll<(), C::Error> {
        self.poll_complete()
    }
}
