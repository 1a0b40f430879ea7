//! Messages over UDP.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use futures01::{Async, AsyncSink, Poll as Poll01, Sink as Sink01, StartSend, Stream as Stream01};
use tokio::net::UdpSocket;

use super::datagram::sent_in_part;
use super::{not_ready, AsDatagram01};

/// A codec for [`UdpFramed`]: tokio-core's trait of that name, with the same methods.
///
/// With the feature `core`, what implements tokio-core's implements this one.
pub trait UdpCodec {
    /// A message that was received.
    type In;
    /// A message to send.
    type Out;

    /// Decodes the datagram `buf`, which came from `src`.
    ///
    /// # Errors
    ///
    /// When it is no message. The next datagram is decoded all the same.
    fn decode(&mut self, src: &SocketAddr, buf: &[u8]) -> io::Result<Self::In>;

    /// Encodes `msg` into `buf`, which is empty, and returns where to send it.
    fn encode(&mut self, msg: Self::Out, buf: &mut Vec<u8>) -> SocketAddr;
}

#[cfg(feature = "core")]
impl<C: tokio_core::net::UdpCodec> UdpCodec for C {
    type In = C::In;
    type Out = C::Out;

    fn decode(&mut self, src: &SocketAddr, buf: &[u8]) -> io::Result<C::In> {
        tokio_core::net::UdpCodec::decode(self, src, buf)
    }

    fn encode(&mut self, msg: C::Out, buf: &mut Vec<u8>) -> SocketAddr {
        tokio_core::net::UdpCodec::encode(self, msg, buf)
    }
}

/// The most that a datagram holds.
const DATAGRAM: usize = 64 * 1024;

/// A UDP socket of tokio 1 as a 0.1 stream and sink of messages, made by
/// [`AsDatagram01::framed`]: what tokio-core's `UdpFramed` was.
///
/// *Cost*: a buffer of 64 KiB, and one that grows to the largest message sent; per message as
/// [`AsDatagram01`]. *Budget*: that of [`AsDatagram01`]. *Cancellation*: dropping it drops the socket
/// and a message that was not sent yet. *Ownership*: [`into_inner`](UdpFramed::into_inner) gives the
/// socket back.
///
/// `start_send` keeps one message; `poll_complete` sends it. When sending fails the message stays, and
/// the next call tries again, before any other message.
///
/// ```
/// use std::net::SocketAddr;
/// use futures01::{Sink as _, Stream as _};
/// use tokio::net::UdpSocket;
/// use tokio_core_compat::net::{AsDatagram01, UdpCodec};
/// use tokio_core_compat::prelude::*;
///
/// /// As it was, but for the path of the trait.
/// struct Words;
///
/// impl UdpCodec for Words {
///     type In = (String, SocketAddr);
///     type Out = (&'static str, SocketAddr);
///
///     fn decode(&mut self, src: &SocketAddr, buf: &[u8]) -> std::io::Result<Self::In> {
///         Ok((String::from_utf8_lossy(buf).into_owned(), *src))
///     }
///
///     fn encode(&mut self, (word, target): Self::Out, buf: &mut Vec<u8>) -> SocketAddr {
///         buf.extend_from_slice(word.as_bytes());
///         target
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let near = UdpSocket::bind("127.0.0.1:0").await?.into_datagram_01();
/// let far = UdpSocket::bind("127.0.0.1:0").await?.into_datagram_01();
/// let (near_addr, far_addr) = (near.get_ref().local_addr()?, far.get_ref().local_addr()?);
///
/// near.framed(Words).send(("word", far_addr)).into_std().await?;
/// let mut received = far.framed(Words).take(1).collect().into_std().await?;
/// assert_eq!(received.pop(), Some(("word".into(), near_addr)));
/// # Ok(())
/// # }
/// ```
#[must_use = "streams and sinks do nothing unless polled"]
pub struct UdpFramed<C> {
    socket: AsDatagram01<UdpSocket>,
    codec: C,
    received: Box<[u8]>,
    outgoing: Vec<u8>,
    /// Where `outgoing` goes; `None` when it has gone.
    target: Option<SocketAddr>,
}

impl AsDatagram01<UdpSocket> {
    /// Sends and receives messages of `codec`, a datagram each.
    pub fn framed<C: UdpCodec>(self, codec: C) -> UdpFramed<C> {
        UdpFramed {
            socket: self,
            codec,
            received: vec![0; DATAGRAM].into(),
            outgoing: Vec::new(),
            target: None,
        }
    }
}

impl<C> UdpFramed<C> {
    /// The socket inside.
    pub fn get_ref(&self) -> &AsDatagram01<UdpSocket> {
        &self.socket
    }

    /// The socket inside.
    pub fn get_mut(&mut self) -> &mut AsDatagram01<UdpSocket> {
        &mut self.socket
    }

    /// Gives the socket back, without a message that was not sent yet.
    pub fn into_inner(self) -> AsDatagram01<UdpSocket> {
        self.socket
    }
}

impl<C: UdpCodec> Stream01 for UdpFramed<C> {
    type Item = C::In;
    type Error = io::Error;

    fn poll(&mut self) -> Poll01<Option<C::In>, io::Error> {
        let received = not_ready(self.socket.recv_from(&mut self.received))?;
        let Async::Ready((len, from)) = received else {
            return Ok(Async::NotReady);
        };
        let message = self.codec.decode(&from, &self.received[..len])?;
        Ok(Async::Ready(Some(message)))
    }
}

impl<C: UdpCodec> Sink01 for UdpFramed<C> {
    type SinkItem = C::Out;
    type SinkError = io::Error;

    fn start_send(&mut self, message: C::Out) -> StartSend<C::Out, io::Error> {
        if self.poll_complete()?.is_not_ready() {
            return Ok(AsyncSink::NotReady(message));
        }
        self.outgoing.clear();
        self.target = Some(self.codec.encode(message, &mut self.outgoing));
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll01<(), io::Error> {
        let Some(target) = self.target else {
            return Ok(Async::Ready(()));
        };
        let Async::Ready(sent) = not_ready(self.socket.send_to(&self.outgoing, &target))? else {
            return Ok(Async::NotReady);
        };
        self.target = None;
        if sent < self.outgoing.len() {
            return Err(sent_in_part());
        }
        Ok(Async::Ready(()))
    }

    fn close(&mut self) -> Poll01<(), io::Error> {
        self.poll_complete()
    }
}

impl<C> fmt::Debug for UdpFramed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UdpFramed").field(&self.socket).finish()
    }
}
