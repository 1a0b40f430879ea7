//! What the peers of futures 0.1's time share; each is a program in `src/bin/`.

#[path = "../../src/peer/addresses.rs"]
pub mod addresses;
#[path = "../../src/peer/http.rs"]
pub mod http;
pub mod plaintext;
#[path = "../../src/peer/serving.rs"]
pub mod serving;
#[path = "../../src/peer/tls.rs"]
pub mod tls;
pub mod two_copies;

use std::io;
use std::net::{SocketAddr, TcpListener};

use net2::unix::UnixTcpBuilderExt;
use net2::TcpBuilder;

/// A listener beside those of other threads on the same port (`SO_REUSEPORT`).
///
/// # Errors
/// Those of the system.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    TcpBuilder::new_v4()?
        .reuse_address(true)?
        .reuse_port(true)?
        .bind(address)?
        .listen(4096)
}
