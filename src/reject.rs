//! The close of a connection after a rejection, in a way that lets the client read the reply.

use std::io;
use std::time::Duration;

use futures::{future, Future};
use tokio_io::io as aio;

use crate::io::{Rewind, Upstream};
use crate::limits::deadline;
use crate::TaskTimer;
use ptunnel_core::error::Error;
use ptunnel_core::inbound::Rejection;

/// Time for which ptunnel continues to read after a rejection.
const LINGER: Duration = Duration::from_secs(2);
/// Maximum number of bytes that ptunnel reads in that time.
const LINGER_BYTES: u64 = 256 * 1024;

/// Sends the reply, lingers, and fails with the rejection's error, whether or not the reply was
/// sent.
///
/// Closing a connection on which the client still sends resets it, which can destroy the reply
/// before the client has read it. So ptunnel reads and discards for a while.
pub(super) fn reject(
    client: Rewind<Upstream>,
    rejection: Rejection,
    timer: &TaskTimer,
) -> impl Future<Item = (), Error = Error> {
    let Rejection { reply, error } = rejection;
    let closed = aio::write_all(client, reply)
        .and_then(|(client, _)| aio::shutdown(client))
        .and_then(|client| aio::copy(io::Read::take(client, LINGER_BYTES), io::sink()))
        .map_err(|e| Error::other("cannot send a reply", e));
    let late = || Error::rejected("");
    deadline(closed, LINGER, timer, late).then(move |_| future::err(error))
}
