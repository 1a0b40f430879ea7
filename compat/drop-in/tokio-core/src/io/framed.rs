//! A stream of bytes as a stream and a sink of frames.

use std::io;

use futures::{Async, AsyncSink, Poll, Sink, StartSend, Stream};

use super::easy_buf::INITIAL_CAPACITY;
use super::{Codec, EasyBuf, Io};

/// A stream of bytes as a stream and a sink of frames; made by [`Io::framed`].
///
/// The sink takes frames until it holds 8 KiB. `close` writes what it holds, and doesn't shut the
/// stream of bytes down.
#[must_use = "streams do nothing unless polled"]
pub struct Framed<T, C> {
    io: T,
    codec: C,
    received: EasyBuf,
    /// Whether `received` has bytes that the codec hasn't seen.
    is_fresh: bool,
    at_end: bool,
    sending: Vec<u8>,
}

impl<T, C> Framed<T, C> {
    pub(super) fn new(io: T, codec: C) -> Framed<T, C> {
        Framed {
            io,
            codec,
            received: EasyBuf::new(),
            is_fresh: false,
            at_end: false,
            sending: Vec::with_capacity(INITIAL_CAPACITY),
        }
    }

    /// Returns the stream of bytes.
    pub fn get_ref(&self) -> &T {
        &self.io
    }

    /// Returns the stream of bytes.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.io
    }

    /// Gives the stream of bytes back. What is in the buffers is dropped.
    pub fn into_inner(self) -> T {
        self.io
    }
}

impl<T: Io, C: Codec> Stream for Framed<T, C> {
    type Item = C::In;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<C::In>, io::Error> {
        loop {
            if self.is_fresh {
                if self.at_end {
                    if self.received.len() == 0 {
                        return Ok(Async::Ready(None));
                    }
                    let frame = self.codec.decode_eof(&mut self.received)?;
                    return Ok(Async::Ready(Some(frame)));
                }
                if let Some(frame) = self.codec.decode(&mut self.received)? {
                    return Ok(Async::Ready(Some(frame)));
                }
                self.is_fresh = false;
            }
            let before = self.received.len();
            let result = self.io.read_to_end(&mut self.received.get_mut());
            match result {
                Ok(_) => self.at_end = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.received.len() == before {
                        return Ok(Async::NotReady);
                    }
                }
                Err(error) => return Err(error),
            }
            self.is_fresh = true;
        }
    }
}

impl<T: Io, C: Codec> Sink for Framed<T, C> {
    type SinkItem = C::Out;
    type SinkError = io::Error;

    fn start_send(&mut self, item: C::Out) -> StartSend<C::Out, io::Error> {
        if self.sending.len() > INITIAL_CAPACITY {
            self.poll_complete()?;
            if self.sending.len() > INITIAL_CAPACITY {
                return Ok(AsyncSink::NotReady(item));
            }
        }
        self.codec.encode(item, &mut self.sending)?;
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll<(), io::Error> {
        while !self.sending.is_empty() {
            let n = try_nb!(self.io.write(&self.sending));
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.sending.drain(..n);
        }
        try_nb!(self.io.flush());
        Ok(Async::Ready(()))
    }

    fn close(&mut self) -> Poll<(), io::Error> {
        self.poll_complete()
    }
}
