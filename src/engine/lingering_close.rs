//! The last word to a client that isn't served.

use std::io;
use std::time::Duration;

use futures::{future, Future};
use tokio_io::io as aio;

use super::limits::Deadline;
use super::Engine;
use crate::engine::io::{Rewind, Socket};
use crate::error::Error;

/// How long a client that was denied may go on sending, so that it gets to read the answer.
const PARTING: Duration = Duration::from_secs(2);
/// How much it may send meanwhile.
const PARTING_BYTES: u64 = 256 * 1024;

impl Engine {
    /// Answers, and fails with `error`, whatever becomes of the answer.
    ///
    /// A client that still sends when its connection is closed gets a reset, which may destroy
    /// the answer before it is read; so what it sends is read, for a while, and left aside.
    pub(super) fn tell(
        &self,
        client: Rewind<Socket>,
        reply: Vec<u8>,
        error: Error,
    ) -> impl Future<Item = (), Error = Error> {
        let parting = aio::write_all(client, reply)
            .and_then(|(client, _)| aio::shutdown(client))
            .and_then(|client| aio::copy(io::Read::take(client, PARTING_BYTES), io::sink()))
            .map_err(|e| Error::other("cannot answer", e));
        let late = || Error::denied("");
        Deadline::new(parting, PARTING, self.clock(), late).then(move |_| future::err(error))
    }
}
