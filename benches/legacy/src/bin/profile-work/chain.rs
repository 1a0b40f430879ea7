//! The work as a chain of combinators, as tokio-core's own examples are written.

use std::io;

use futures::future::{loop_fn, Loop};
use futures::{Async, Future, IntoFuture, Poll};
use tokio_io::io::{read_exact, write_all};
use tokio_io::{AsyncRead, AsyncWrite};

use crate::work::{Message, Script};

impl AsyncRead for Script {}

impl AsyncWrite for Script {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }
}

/// Answers until the last message, and gives the script back.
pub fn serve(script: Script) -> impl Future<Item = Script, Error = io::Error> {
    loop_fn((script, Message::default()), |(script, mut message)| {
        message.await_length();
        read_exact(script, message)
            .and_then(|(script, mut message)| {
                message.await_body();
                read_exact(script, message)
            })
            .and_then(|(script, mut message)| {
                message.answer();
                write_all(script, message)
            })
            .map(|(script, message)| match message.is_last() {
                true => Loop::Break(script),
                false => Loop::Continue((script, message)),
            })
    })
}

/// Not ready at first, then the number.
struct Leaf {
    number: u64,
    was_polled: bool,
}

fn leaf(number: u64) -> Leaf {
    Leaf {
        number,
        was_polled: false,
    }
}

impl Future for Leaf {
    type Item = u64;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<u64, io::Error> {
        if self.was_polled {
            return Ok(Async::Ready(self.number));
        }
        self.was_polled = true;
        Ok(Async::NotReady)
    }
}

/// Eight `and_then`s, one behind the other, each of which waits once.
pub fn of_eight(number: u64) -> impl Future<Item = u64, Error = io::Error> {
    Ok(number)
        .into_future()
        .and_then(|n| leaf(n + 1))
        .and_then(|n| leaf(n + 1))
        .and_then(|n| leaf(n + 1))
        .and_then(|n| leaf(n + 1))
        .and_then(|n| leaf(n + 1))
        .and_then(|n| leaf(n + 1))
        .and_then(|n| leaf(n + 1))
        .and_then(|n| leaf(n + 1))
}
