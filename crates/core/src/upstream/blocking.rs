//! Connections that block, for the threads that fetch a PAC file and probe proxies.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::address_order::in_order;
use crate::config::Family;
use crate::os::deadline_stream::DeadlineStream;
use crate::os::exhaustion::connect_error;
use crate::os::resolver::look_up_until;
use ptunnel_proto::values::{Host, HostPort};

pub(super) use self::layer::secure;

/// Why there is no connection.
pub(super) enum Unreachable {
    /// The name has no address, or none of this family.
    Name(io::Error),
    /// No address accepted; the error is the last one's.
    Connection(io::Error),
}

/// Resolves a name and connects to the first address that accepts, until `until` at the latest. The
/// stream has no deadline yet.
pub(super) fn connect(
    address: &HostPort,
    family: Family,
    until: Instant,
) -> Result<DeadlineStream, Unreachable> {
    let found = look_up(address, until).and_then(|found| in_order(found, family));
    let found = found.map_err(Unreachable::Name)?;
    let socket = connect_to_first(&found, until).map_err(Unreachable::Connection)?;
    Ok(DeadlineStream::new(socket))
}

fn look_up(address: &HostPort, until: Instant) -> io::Result<Vec<SocketAddr>> {
    match &address.host {
        Host::Ip(ip) => Ok(vec![(*ip, address.port).into()]),
        Host::Name(name) => look_up_until(name.clone(), address.port, until),
    }
}

/// Each address gets an equal share of the time that is left.
fn connect_to_first(found: &[SocketAddr], until: Instant) -> io::Result<TcpStream> {
    let mut last = ErrorKind::TimedOut.into();
    for (index, address) in found.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        // Zero would be an error.
        let share = (left / (found.len() - index) as u32).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(address, share) {
            Ok(socket) => return Ok(socket),
            Err(e) => last = connect_error(address, e),
        }
    }
    Err(last)
}

#[cfg(feature = "tls")]
mod layer {
    use std::io::{self, Read, Write};

    use openssl::ssl::{ErrorCode, SslStream};

    use super::DeadlineStream;
    use crate::config::TlsSpec;
    use crate::upstream::tls::{explain, is_without_data, TlsSetup};
    use ptunnel_proto::values::{HostPort, TlsPeer};

    /// TLS over a socket. Only close_notify ends it.
    pub(in crate::upstream) struct Secured {
        stream: SslStream<DeadlineStream>,
        peer: TlsPeer,
    }

    /// Makes a handshake; returns the stream, and the warning of a peer that wasn't verified.
    pub(in crate::upstream) fn secure(
        stream: DeadlineStream,
        tls: &TlsSpec,
        address: &HostPort,
    ) -> io::Result<(Secured, Option<String>)> {
        let TlsSetup {
            ssl, report, peer, ..
        } = TlsSetup::new(tls, address)?;
        let stream = SslStream::new(ssl, stream)?;
        let mut secured = Secured { stream, peer };
        let connected = secured.stream.connect();
        connected.map_err(|e| report.explain(e))?;
        Ok((secured, report.warning()))
    }

    impl Read for Secured {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                match self.stream.ssl_read(buffer) {
                    Err(e) if e.code() == ErrorCode::ZERO_RETURN => return Ok(0),
                    // The deadline bounds the number of such records.
                    Err(e) if is_without_data(&e) => {}
                    read => return read.map_err(|e| explain(e, self.peer)),
                }
            }
        }
    }

    impl Write for Secured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let written = self.stream.ssl_write(bytes);
            written.map_err(|e| explain(e, self.peer))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(not(feature = "tls"))]
mod layer {
    use std::io;

    use super::DeadlineStream;
    use crate::config::TlsSpec;
    use ptunnel_proto::values::HostPort;

    pub(in crate::upstream) fn secure(
        _: DeadlineStream,
        tls: &TlsSpec,
        _: &HostPort,
    ) -> io::Result<(DeadlineStream, Option<String>)> {
        match *tls {}
    }
}
