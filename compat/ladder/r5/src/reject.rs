//! The close of a connection after a rejection, in a way that lets the client read the reply.

use std::io;
use std::time::Duration;

use tokio::io::{self as aio, AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::io::Transport;
use ptunnel_core::error::Error;
use ptunnel_core::inbound::Rejection;

/// Time for which ptunnel continues to read after a rejection.
const LINGER: Duration = Duration::from_secs(2);
/// Maximum number of bytes that ptunnel reads in that time.
const LINGER_BYTES: u64 = 256 * 1024;

/// Sends the reply, lingers, and returns the rejection's error, whether or not the reply was sent.
///
/// Closing a connection on which the client still sends resets it, which can destroy the reply
/// before the client has read it. So ptunnel reads and discards for a while.
pub(super) async fn reject(mut client: impl Transport, rejection: Rejection) -> Error {
    let Rejection { reply, error } = rejection;
    let closed = async {
        client.write_all(&reply).await?;
        client.shutdown().await?;
        aio::copy(&mut client.take(LINGER_BYTES), &mut aio::sink()).await?;
        io::Result::Ok(())
    };
    let _ = timeout(LINGER, closed).await;
    error
}
