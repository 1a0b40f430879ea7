//! Bytes both ways as programs of 2017 carried them: two copies and a join, on tokio-core's own sockets.
//!
//! Does: tokio-io's `copy`, with a buffer of 2 KiB for each direction; half-close in both directions.
//! Doesn't: splice, timeouts, a bound on what one connection moves before the others have their turn.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::rc::Rc;

use futures::{Async, Future, Poll};
use tokio_core::net::TcpStream;
use tokio_io::io::{copy, shutdown};
use tokio_io::{AsyncRead, AsyncWrite};

/// Carries bytes between both until each has ended; returns how many went up and down.
///
/// # Errors
/// The first of either direction, which ends both.
pub fn both_ways(
    client: TcpStream,
    server: TcpStream,
) -> impl Future<Item = (u64, u64), Error = io::Error> {
    let (client, server) = (Shared::new(client), Shared::new(server));
    one_way(client.clone(), server.clone()).join(one_way(server, client))
}

fn one_way(from: Shared, to: Shared) -> impl Future<Item = u64, Error = io::Error> {
    copy(from, to).and_then(|(count, _, to)| shutdown(to).map(move |_| count))
}

/// One socket for both copies: tokio-core's own `shutdown` does nothing, this one sends the end of file.
#[derive(Clone)]
struct Shared(Rc<TcpStream>);

impl Shared {
    fn new(stream: TcpStream) -> Shared {
        Shared(Rc::new(stream))
    }
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Shared {}

impl AsyncWrite for Shared {
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        self.0.shutdown(Shutdown::Write)?;
        Ok(Async::Ready(()))
    }
}
