//! Futures that send or receive one datagram.

use std::io;
use std::net::SocketAddr;

use futures::{try_ready, Async, Future, Poll};

use crate::UdpSocket;

/// A datagram that is being sent; made by [`UdpSocket::send_dgram`]. Resolves to socket and buffer.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct SendDgram<T> {
    /// `None` once it has resolved.
    state: Option<(UdpSocket, T, SocketAddr)>,
}

impl<T> SendDgram<T> {
    pub(crate) fn new(socket: UdpSocket, buffer: T, addr: SocketAddr) -> SendDgram<T> {
        SendDgram {
            state: Some((socket, buffer, addr)),
        }
    }
}

impl<T> Future for SendDgram<T>
where
    T: AsRef<[u8]>,
{
    type Item = (UdpSocket, T);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(UdpSocket, T), io::Error> {
        let state = self.state.as_mut();
        let (socket, buffer, addr) = state.expect("SendDgram polled after completion");
        let n = try_ready!(socket.poll_send_to(buffer.as_ref(), addr));
        if n != buffer.as_ref().len() {
            return Err(io::Error::other(
                "failed to send entire message in datagram",
            ));
        }
        let (socket, buffer, _) = self.state.take().expect("looked at before");
        Ok(Async::Ready((socket, buffer)))
    }
}

/// A datagram that is waited for; made by [`UdpSocket::recv_dgram`]. Resolves to socket, buffer, length
/// and source of the datagram.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct RecvDgram<T> {
    /// `None` once it has resolved.
    state: Option<(UdpSocket, T)>,
}

/// What a [`RecvDgram`] is made of.
#[derive(Debug)]
pub struct Parts<T> {
    /// The socket.
    pub socket: UdpSocket,
    /// The buffer.
    pub buffer: T,
    _private: (),
}

impl<T> RecvDgram<T> {
    pub(crate) fn new(socket: UdpSocket, buffer: T) -> RecvDgram<T> {
        RecvDgram {
            state: Some((socket, buffer)),
        }
    }

    /// Gives socket and buffer back, without a datagram.
    ///
    /// # Panics
    ///
    /// After the future has resolved.
    pub fn into_parts(mut self) -> Parts<T> {
        let (socket, buffer) = self
            .state
            .take()
            .expect("into_parts called after completion");
        Parts {
            socket,
            buffer,
            _private: (),
        }
    }
}

impl<T> Future for RecvDgram<T>
where
    T: AsMut<[u8]>,
{
    type Item = (UdpSocket, T, usize, SocketAddr);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Self::Item, io::Error> {
        let state = self.state.as_mut();
        let (socket, buffer) = state.expect("RecvDgram polled after completion");
        let (n, addr) = try_ready!(socket.poll_recv_from(buffer.as_mut()));
        let (socket, buffer) = self.state.take().expect("looked at before");
        Ok(Async::Ready((socket, buffer, n, addr)))
    }
}
