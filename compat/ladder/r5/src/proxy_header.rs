//! The PROXY header with which a balancer begins a connection.

use tokio::io::AsyncReadExt;

use crate::io::Socket;
use ptunnel_core::error::Error;
use ptunnel_core::listener::balancer::bad_header;
use ptunnel_proto::proxy_protocol::{decode, ClientAddresses, Decoded};

/// Size of the largest read.
const CHUNK: usize = 512;

/// Reads the header; returns the addresses in it, if any. No byte behind the header is read.
///
/// # Errors
///
/// The error to log if the header is wrong or the stream ends before it.
pub(super) async fn read_proxy_header(
    stream: &mut Socket,
) -> Result<Option<ClientAddresses>, Error> {
    let mut bytes = Vec::new();
    loop {
        let missing = match decode(&bytes).map_err(bad_header)? {
            Decoded::Whole(addresses, _) => return Ok(addresses),
            Decoded::Missing(count) => count,
        };
        let mut chunk = [0; CHUNK];
        let read = stream.read(&mut chunk[..missing.min(CHUNK)]).await;
        match read.map_err(|e| Error::left(Some(e)))? {
            0 => return Err(Error::left(None)),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}
