//! Futures that send or receive one datagram.

use std::io;
use std::path::Path;

use futures::{try_ready, Async, Future, Poll};

use crate::UnixDatagram;

/// A datagram that is being sent; made by [`UnixDatagram::send_dgram`]. Resolves to socket and buffer.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[derive(Debug)]
pub struct SendDgram<T, P> {
    /// `None` once it has resolved.
    state: Option<(UnixDatagram, T, P)>,
}

impl<T, P> SendDgram<T, P> {
    pub(crate) fn new(socket: UnixDatagram, buffer: T, path: P) -> SendDgram<T, P> {
        SendDgram {
            state: Some((socket, buffer, path)),
        }
    }
}

impl<T, P> Future for SendDgram<T, P>
where
    T: AsRef<[u8]>,
    P: AsRef<Path>,
{
    type Item = (UnixDatagram, T);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(UnixDatagram, T), io::Error> {
        let state = self.state.as_ref();
        let (socket, buffer, path) = state.expect("SendDgram polled after completion");
        let n = try_ready!(socket.poll_send_to(buffer.as_ref(), path));
        if n < buffer.as_ref().len() {
            return Err(io::Error::other("couldn't send whole buffer"));
        }
        let (socket, buffer, _) = self.state.take().expect("looked at before");
        Ok(Async::Ready((socket, buffer)))
    }
}

/// A datagram that is waited for; made by [`UnixDatagram::recv_dgram`]. Resolves to socket, buffer,
/// length, and the path of the sender, which is empty if that has none.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[derive(Debug)]
pub struct RecvDgram<T> {
    /// `None` once it has resolved.
    state: Option<(UnixDatagram, T)>,
}

impl<T> RecvDgram<T> {
    pub(crate) fn new(socket: UnixDatagram, buffer: T) -> RecvDgram<T> {
        RecvDgram {
            state: Some((socket, buffer)),
        }
    }
}

impl<T> Future for RecvDgram<T>
where
    T: AsMut<[u8]>,
{
    type Item = (UnixDatagram, T, usize, String);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Self::Item, io::Error> {
        let state = self.state.as_mut();
        let (socket, buffer) = state.expect("RecvDgram polled after completion");
        let (n, addr) = try_ready!(socket.poll_recv_from(buffer.as_mut()));
        let path = addr.as_pathname().and_then(Path::to_str);
        let path = path.unwrap_or_default().to_owned();
        let (socket, buffer) = self.state.take().expect("looked at before");
        Ok(Async::Ready((socket, buffer, n, path)))
    }
}
