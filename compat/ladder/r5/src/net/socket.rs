//! TCP sockets as this program wants them: no delay, no inheritance, keepalive, a shared port for
//! threads.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::time::Duration;

use ptunnel::service::Listen;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};

/// Clients that the kernel holds for us until they are accepted.
const BACKLOG: i32 = 1024;

/// Asks a peer that has been quiet for five minutes whether it is still there: one that went
/// away without a word would hold its tunnel for ever.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new().with_time(Duration::from_secs(300));

/// A listening socket, bound but not yet on any reactor, so that it may go to a thread.
#[derive(Debug)]
pub struct Listening(StdListener);

impl Listening {
    /// Puts it on the reactor of the runtime that this is called in.
    ///
    /// # Errors
    ///
    /// When that can't take another source.
    pub fn register(self) -> io::Result<TcpListener> {
        TcpListener::from_std(self.0)
    }
}

impl Listen for Listening {
    /// An unspecified IPv6 address takes IPv4 clients too.
    fn bind(address: &SocketAddr, shared: bool) -> io::Result<Listening> {
        let socket = Socket::new(
            Domain::for_address(*address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        if address.is_ipv6() {
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(shared)?;
        socket.set_nonblocking(true)?;
        // Accepted sockets inherit it.
        socket.set_tcp_keepalive(&KEEPALIVE)?;
        socket.bind(&(*address).into())?;
        socket.listen(BACKLOG)?;
        Ok(Listening(socket.into()))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Connects to one address; dropping the future abandons the attempt.
///
/// Nothing happens before the first poll: who wants the connection begun polls it at once.
///
/// # Errors
///
/// Those of connect(2).
pub async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE)?;
    Ok(stream)
}
