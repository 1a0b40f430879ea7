//! The replies of one connection, as a sink that writes many at once.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use futures::{Async, AsyncSink, Poll, Sink, StartSend};
use ptunnel::io::Transport;

use super::shared::Shared;
use crate::http::{Date, Response};

/// Bytes that may wait; with more, the connection has to take some first.
const MOST: usize = 16 * 1024;

/// Puts replies into one buffer and writes it when it is flushed: when no further request waits to be answered.
pub struct Responses<S> {
    io: Shared<S>,
    date: Rc<Cell<Date>>,
    out: Vec<u8>,
    written: usize,
}

impl<S: Transport> Responses<S> {
    pub fn new(io: Shared<S>, date: Rc<Cell<Date>>) -> Responses<S> {
        Responses {
            io,
            date,
            out: Vec::new(),
            written: 0,
        }
    }
}

impl<S: Transport> Sink for Responses<S> {
    type SinkItem = Response;
    type SinkError = io::Error;

    fn start_send(&mut self, response: Response) -> StartSend<Response, io::Error> {
        if self.out.len() >= MOST && self.poll_complete()?.is_not_ready() {
            return Ok(AsyncSink::NotReady(response));
        }
        response.write(&self.date.get(), &mut self.out);
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll<(), io::Error> {
        if self.out.is_empty() {
            return Ok(Async::Ready(()));
        }
        while self.written < self.out.len() {
            match self.io.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Async::NotReady),
                Err(e) => return Err(e),
            }
        }
        self.out.clear();
        self.written = 0;
        match self.io.flush() {
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
            answer => answer.map(Async::Ready),
        }
    }

    fn close(&mut self) -> Poll<(), io::Error> {
        match self.poll_complete()? {
            Async::Ready(()) => self.io.shutdown(),
            Async::NotReady => Ok(Async::NotReady),
        }
    }
}
