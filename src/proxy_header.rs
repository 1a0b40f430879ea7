//! The PROXY header with which a balancer begins a connection.

use std::io::Read;

use futures::{try_ready, Async, Future};

use crate::io::poll_io;
use crate::poll_with;
use ptunnel_core::error::Error;
use ptunnel_core::listener::balancer::bad_header;
use ptunnel_proto::proxy_protocol::{decode, ClientAddresses, Decoded};

/// Size of the largest read.
const CHUNK: usize = 512;

/// Reads the header; resolves to the stream and to the addresses in the header, if any.
///
/// No byte behind the header is read. Fails with the error to log if the header is wrong or the
/// stream ends before it.
pub(super) fn read_proxy_header<S: Read>(
    stream: S,
) -> impl Future<Item = (S, Option<ClientAddresses>), Error = Error> {
    let mut bytes = Vec::new();
    poll_with(stream, move |stream| loop {
        let missing = match decode(&bytes).map_err(bad_header)? {
            Decoded::Whole(addresses, _) => return Ok(Async::Ready(addresses)),
            Decoded::Missing(count) => count,
        };
        let mut chunk = [0; CHUNK];
        let read = poll_io(stream.read(&mut chunk[..missing.min(CHUNK)]));
        match try_ready!(read.map_err(|e| Error::left(Some(e)))) {
            0 => return Err(Error::left(None)),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::tests::mock_io::{drive, Action, MockStream};
    use ptunnel_proto::proxy_protocol::encode;
    use ptunnel_proto::values::ProxyProtocol;

    fn addresses() -> ClientAddresses {
        let address = |text: &str| text.parse().unwrap();
        ClientAddresses::new(address("192.0.2.1:5"), address("[2001:db8::1]:6"))
    }

    #[test]
    fn a_header_can_arrive_byte_by_byte() {
        for version in &[ProxyProtocol::V1, ProxyProtocol::V2] {
            let header = encode(*version, Some(&addresses()));
            let stream = MockStream::saying(header.iter().map(|byte| [*byte]));
            let (_, found) = drive(read_proxy_header(stream)).unwrap();
            assert_eq!(found.unwrap().client.port(), 5);
        }
    }

    #[test]
    fn no_byte_after_the_header_is_read() {
        for version in &[ProxyProtocol::V1, ProxyProtocol::V2] {
            for addresses in &[None, Some(addresses())] {
                let mut all = encode(*version, addresses.as_ref());
                all.extend_from_slice(b"GET / HTTP/1.1");
                let (mut left, _) = drive(read_proxy_header(&all[..])).unwrap();
                let mut rest = Vec::new();
                left.read_to_end(&mut rest).unwrap();
                assert_eq!(rest, b"GET / HTTP/1.1");
            }
        }
    }

    #[test]
    fn a_peer_that_ends_within_the_header_has_left() {
        let reads = vec![Action::Bytes(b"PROXY TCP4 1.1.".to_vec()), Action::Wait];
        let error = drive(read_proxy_header(MockStream::new(reads, Vec::new())));
        let error = error.map(drop).unwrap_err();
        assert!(error.is_departure(), "{}", error);
    }
}
