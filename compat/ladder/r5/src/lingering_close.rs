//! The last word to a client that isn't served.

use std::io;
use std::time::Duration;

use ptunnel::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::io::Transport;

/// How long a client that was denied may go on sending, so that it gets to read the answer.
const PARTING: Duration = Duration::from_secs(2);
/// How much it may send meanwhile.
const PARTING_BYTES: u64 = 256 * 1024;

/// Answers, and returns `error`, whatever becomes of the answer.
///
/// A client that still sends when its connection is closed gets a reset, which may destroy
/// the answer before it is read; so what it sends is read, for a while, and left aside.
pub(crate) async fn tell(mut client: impl Transport, reply: Vec<u8>, error: Error) -> Error {
    let parting = async {
        client.write_all(&reply).await?;
        client.shutdown().await?;
        tokio::io::copy(&mut client.take(PARTING_BYTES), &mut tokio::io::sink()).await?;
        io::Result::Ok(())
    };
    let _ = timeout(PARTING, parting).await;
    error
}
