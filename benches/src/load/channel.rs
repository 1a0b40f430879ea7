//! A connection to a server, in the clear or over TLS, that is read without waiting.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use openssl::ssl::{ErrorCode, SslConnector, SslMethod, SslStream, SslVerifyMode, SslVersion};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{recv, send, RecvFlags, SendFlags};

use super::sockets::client;
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
    Clear(TcpStream),
    Tls(SslStream<Socket>),
}

impl Channel {
    /// Connects and shakes hands; `nth` chooses the source address.
    ///
    /// # Errors
    /// Those of the socket and of TLS.
    pub fn open(to: SocketAddr, nth: usize, security: &Security) -> io::Result<Channel> {
        let stream = client(to, nth)?;
        let connector = match security {
            Security::Clear => return Ok(Channel::Clear(stream)),
            Security::Tls(connector) => connector,
        };
        let waiting = Socket {
            stream,
            waits: true,
        };
        let mut stream = connector
            .configure()?
            .verify_hostname(false)
            .connect("localhost", waiting)
            .map_err(|e| io::Error::other(format!("no TLS: {e}")))?;
        stream.get_mut().waits = false;
        Ok(Channel::Tls(stream))
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// When the socket doesn't take it at once.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let sent = match self {
            Channel::Clear(stream) => send(stream, bytes, SendFlags::NOSIGNAL)?,
            Channel::Tls(stream) => stream.write(bytes)?,
        };
        match sent == bytes.len() {
            true => Ok(()),
            false => Err(io::Error::other("a batch did not fit the socket")),
        }
    }

    /// Takes what is there; 0 when that is nothing.
    ///
    /// # Errors
    /// Also at the end of file.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = match self {
            Channel::Clear(stream) => match recv(stream, buffer, RecvFlags::DONTWAIT) {
                Ok((n, _)) => n,
                Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
                Err(e) => return Err(e.into()),
            },
            Channel::Tls(stream) => match stream.ssl_read(buffer) {
                Ok(n) => n,
                Err(e) if e.code() == ErrorCode::WANT_READ => return Ok(0),
                Err(e) if e.code() == ErrorCode::ZERO_RETURN => 0,
                Err(e) => return Err(e.into_io_error().unwrap_or_else(io::Error::other)),
            },
        };
        match received {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(n),
        }
    }

    /// Takes what is there or comes within that time; 0 when nothing does.
    ///
    /// # Errors
    /// Also at the end of file.
    pub fn receive_within(&mut self, time: Duration, buffer: &mut [u8]) -> io::Result<usize> {
        let begun = Instant::now();
        loop {
            // TLS has records that hold nothing for us.
            let received = self.receive(buffer)?;
            let left = time.saturating_sub(begun.elapsed());
            if received > 0 || left.is_zero() {
                return Ok(received);
            }
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&left)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Whether bytes wait that no readiness of the socket tells of.
    pub fn has_more(&self) -> bool {
        match self {
            Channel::Clear(_) => false,
            Channel::Tls(stream) => stream.ssl().pending() > 0,
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Channel::Clear(stream) => stream.as_fd(),
            Channel::Tls(stream) => stream.get_ref().stream.as_fd(),
        }
    }
}

/// What TLS reads from: waits for the handshake, and never again.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    waits: bool,
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let flags = match self.waits {
            true => RecvFlags::empty(),
            false => RecvFlags::DONTWAIT,
        };
        let (n, _) = recv(&self.stream, buffer, flags)?;
        Ok(n)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.stream, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
