//! A connection to a server, in the clear or over TLS, that never waits.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use openssl::ssl::{ErrorCode, SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::{recv, send, RecvFlags, SendFlags};

use super::sockets::{client, TIMEOUT};
use crate::peer::tls::CIPHER;

/// What lies between the load and a server.
#[derive(Clone, Debug)]
pub enum Security {
    Clear,
    Tls(SslConnector),
}

impl Security {
    /// TLS 1.3 with one cipher to a server on loopback, whose certificate proves nothing.
    ///
    /// # Errors
    /// Those of OpenSSL.
    pub fn tls() -> io::Result<Security> {
        let mut builder = SslConnector::builder(SslMethod::tls_client())?;
        builder.set_verify(SslVerifyMode::NONE);
        builder.set_min_proto_version(Some(SslVersion::TLS1_3))?;
        builder.set_ciphersuites(CIPHER)?;
        Ok(Security::Tls(builder.build()))
    }
}

#[derive(Debug)]
pub enum Channel {
    Clear(Socket),
    Tls(SslStream<Socket>),
}

impl Channel {
    /// Over a socket that is connected or connects. TLS shakes hands when the first bytes are sent.
    ///
    /// # Errors
    /// Those of OpenSSL.
    pub fn new(socket: OwnedFd, security: &Security) -> io::Result<Channel> {
        let socket = Socket(socket);
        let Security::Tls(connector) = security else {
            return Ok(Channel::Clear(socket));
        };
        let configured = connector.configure()?.verify_hostname(false);
        let mut ssl = configured.into_ssl("localhost")?;
        ssl.set_connect_state();
        Ok(Channel::Tls(SslStream::new(ssl, socket)?))
    }

    /// Sends what the socket takes; none when that is nothing.
    ///
    /// # Errors
    /// Those of the socket, of connect(2) and of TLS.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match self {
            Channel::Clear(socket) => unless_it_waits(socket.write(bytes)),
            Channel::Tls(stream) => unless_tls_waits(stream.ssl_write(bytes)),
        }
    }

    /// Takes what is there; none when that is nothing, 0 at the end of file.
    ///
    /// # Errors
    /// Those of the socket and of TLS.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Channel::Clear(socket) => unless_it_waits(socket.read(buffer)),
            Channel::Tls(stream) => unless_tls_waits(stream.ssl_read(buffer)),
        }
    }
}

fn unless_it_waits(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

fn unless_tls_waits(result: Result<usize, openssl::ssl::Error>) -> io::Result<Option<usize>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.code() == ErrorCode::ZERO_RETURN => Ok(Some(0)),
        Err(e) if [ErrorCode::WANT_READ, ErrorCode::WANT_WRITE].contains(&e.code()) => Ok(None),
        Err(e) => Err(e.into_io_error().unwrap_or_else(io::Error::other)),
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Channel::Clear(socket) => socket.0.as_fd(),
            Channel::Tls(stream) => stream.get_ref().0.as_fd(),
        }
    }
}

/// A socket that never blocks, whatever its flags say.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(&self.0, buffer, RecvFlags::DONTWAIT)?.0)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(
            &self.0,
            bytes,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        )?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A channel that waits: for what is tried one step at a time.
#[derive(Debug)]
pub struct Patient(Channel);

impl Patient {
    /// Connects.
    ///
    /// # Errors
    /// Those of the socket and of OpenSSL.
    pub fn open(to: SocketAddr, security: &Security) -> io::Result<Patient> {
        Ok(Patient(Channel::new(client(to, 0)?.into(), security)?))
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// Also when that takes longer than bytes may.
    pub fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match within(TIMEOUT, &mut self.0, |c| c.send(bytes))? {
                Some(n) => bytes = &bytes[n..],
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }

    /// Takes what is there or comes within that time; none when nothing does, 0 at the end of file.
    ///
    /// # Errors
    /// Those of the socket and of TLS.
    pub fn receive(&mut self, time: Duration, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        within(time, &mut self.0, |c| c.receive(buffer))
    }
}

fn within(
    time: Duration,
    channel: &mut Channel,
    mut act: impl FnMut(&mut Channel) -> io::Result<Option<usize>>,
) -> io::Result<Option<usize>> {
    let begun = Instant::now();
    loop {
        // TLS has records without data, and its handshake before the first bytes are sent.
        let done = act(channel)?;
        let left = time.saturating_sub(begun.elapsed());
        if done.is_some() || left.is_zero() {
            return Ok(done);
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        poll(&mut [PollFd::new(channel, PollFlags::IN)], Some(&left))?;
    }
}
