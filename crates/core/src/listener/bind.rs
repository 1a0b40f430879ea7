//! Binding a listener: its sockets, one for each thread, through the engine's [`Listen`].

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Arc;

use super::addr::{resolve, BoundAddr, ListenAddr};
use super::configured::ConfiguredListener;
use crate::config::Keepalive;
use crate::error::{Advised, Error};
use crate::listener::settings::ListenerHandle;
use crate::listener::socket_activation::{self, InheritedSocket};
use crate::listener::unix_socket::SocketFile;
use crate::upstream::Serving;
use ptunnel_proto::values::{Bind, InheritedFd};

/// A listener's socket on one thread.
#[derive(Debug)]
pub struct BoundListener<L> {
    /// The settings of the listener, and when it starts and closes.
    pub handle: ListenerHandle,
    /// The guard of the listener's sockets, to be dropped after `listening`.
    pub open: Arc<SocketsGuard>,
    /// The socket.
    pub listening: L,
}

impl<L> BoundListener<L> {
    /// Makes a listener that has this one socket.
    pub fn new(handle: ListenerHandle, listening: L) -> BoundListener<L> {
        BoundListener {
            handle,
            open: SocketsGuard::new(None, Arc::default()).0,
            listening,
        }
    }
}

/// A guard that is held as long as one of a listener's sockets is open. When it is dropped, the file
/// of a Unix socket is removed.
#[derive(Debug)]
pub struct SocketsGuard {
    file: Option<SocketFile>,
    _serving: Arc<Serving>,
    /// Dropped after the file, to wake [`SocketsClosed::wait`].
    _closed: SyncSender<()>,
}

impl SocketsGuard {
    pub(super) fn new(
        file: Option<SocketFile>,
        serving: Arc<Serving>,
    ) -> (Arc<SocketsGuard>, SocketsClosed) {
        let (closed, closing) = sync_channel(0);
        let open = SocketsGuard {
            file,
            _serving: serving,
            _closed: closed,
        };
        (Arc::new(open), SocketsClosed(closing))
    }

    /// Returns whether `path` leads to the file of this Unix socket.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.file.as_ref().map_or(false, |file| file.is_at(path))
    }
}

/// Waits until all sockets of a listener are closed.
#[derive(Debug)]
pub(super) struct SocketsClosed(Receiver<()>);

impl SocketsClosed {
    pub(super) fn wait(&self) {
        while self.0.recv().is_ok() {}
    }
}

/// A listening socket of an engine, not registered with a reactor yet.
pub trait Listen: Sized {
    /// Binds a TCP socket and listens. With `shared`, other sockets of this user can bind the same
    /// port, and the system spreads the clients. Their connections get this `keepalive`.
    ///
    /// # Errors
    ///
    /// Any [`io::Error`] of socket(2), bind(2) or listen(2).
    fn bind(address: &SocketAddr, shared: bool, keepalive: Option<Keepalive>) -> io::Result<Self>;

    /// Binds a Unix socket to which only its owner can connect.
    ///
    /// # Errors
    ///
    /// Any [`io::Error`] of socket(2) or bind(2); no file is left then.
    fn bind_path(path: &Path) -> io::Result<Self>;

    /// Listens on a bound Unix socket.
    ///
    /// # Errors
    ///
    /// Any [`io::Error`] of listen(2).
    fn listen(&self) -> io::Result<()>;

    /// Takes over a socket that listens already. The connections of its clients get this
    /// `keepalive`.
    ///
    /// # Errors
    ///
    /// [`not_listening`](socket_activation::not_listening) when the socket doesn't listen, or any
    /// [`io::Error`] of the system.
    fn adopt(socket: InheritedSocket, keepalive: Option<Keepalive>) -> io::Result<Self>;

    /// Duplicates the descriptor for another thread.
    ///
    /// # Errors
    ///
    /// Any [`io::Error`] of the system, e.g. when the process has no free descriptor.
    fn try_clone(&self) -> io::Result<Self>;

    /// Returns the address of a TCP socket, with the port that the system picked.
    ///
    /// # Errors
    ///
    /// Any [`io::Error`] of the system, and always for a Unix socket.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// The address of a listener's sockets, the socket of each thread, and the file of a Unix socket.
pub(super) type Sockets<L> = (BoundAddr, Vec<L>, Option<SocketFile>);

/// Binds a listener once for each of `threads`; the connections of its clients get this `keepalive`.
///
/// # Errors
///
/// [`Error::listen`] with the address and the label of the listener.
pub(super) fn bind<L: Listen>(
    listener: &ConfiguredListener,
    threads: usize,
    keepalive: Option<Keepalive>,
) -> Result<Sockets<L>, Error> {
    let bound = match &listener.addr {
        ListenAddr::Port(bind, port) => bind_on(bind, *port, |address| {
            bind_shared(&address, threads, keepalive)
        }),
        ListenAddr::Path(path) => {
            bind_path(path, threads).map_err(|e| Error::listen(BoundAddr::of_path(path), e))
        }
        ListenAddr::Inherited(socket) => {
            adopt(socket, threads, keepalive).map_err(|e| Error::listen(socket, e))
        }
    };
    bound.map_err(|e| e.listening_for(listener.kind.label()))
}

fn adopt<L: Listen>(
    socket: &InheritedFd,
    count: usize,
    keepalive: Option<Keepalive>,
) -> io::Result<Sockets<L>> {
    let (socket, addr) = socket_activation::open(socket)?;
    Ok((addr, share(L::adopt(socket, keepalive)?, count)?, None))
}

fn bind_path<L: Listen>(path: &Path, count: usize) -> io::Result<Sockets<L>> {
    let (file, listening) = SocketFile::create(path, L::bind_path)?;
    listening.listen()?;
    let sockets = share(listening, count)?;
    Ok((BoundAddr::of_path(path), sockets, Some(file)))
}

/// Binds a port once for each thread. The first socket is bound alone, so that a port which another
/// process has is an error; then shared ones replace it.
fn bind_shared<L: Listen>(
    address: &SocketAddr,
    count: usize,
    keepalive: Option<Keepalive>,
) -> io::Result<Sockets<L>> {
    let alone = L::bind(address, false, keepalive)?;
    let address = alone.local_addr()?;
    let sockets = if count == 1 {
        vec![alone]
    } else {
        drop(alone);
        let all = (0..count).map(|_| L::bind(&address, true, keepalive));
        all.collect::<io::Result<_>>()?
    };
    Ok((BoundAddr::Ip(address), sockets, None))
}

/// Duplicates a socket into `count` descriptors, so that the first thread to accept gets a client.
fn share<L: Listen>(listening: L, count: usize) -> io::Result<Vec<L>> {
    let mut all = (1..count)
        .map(|_| listening.try_clone())
        .collect::<io::Result<Vec<L>>>()?;
    all.push(listening);
    Ok(all)
}

/// Calls `try_bind` with each address that `bind` means on this machine, until one can be bound.
///
/// # Errors
///
/// [`Error::listen`] with the last address that was tried, or when `bind` can't be resolved.
pub(super) fn bind_on<T>(
    bind: &Bind,
    port: u16,
    try_bind: impl Fn(SocketAddr) -> io::Result<T>,
) -> Result<T, Error> {
    let addresses = resolve(bind, port).map_err(|e| {
        let why = Advised(format!("{}; use an address of this machine", e));
        let address = format!("{}:{}", bind, port);
        Error::listen(address, io::Error::new(e.kind(), why))
    })?;
    let mut failed = None;
    for address in addresses {
        match try_bind(address) {
            Ok(bound) => return Ok(bound),
            Err(e) => {
                // Any other error can mean that the machine lacks this address family.
                let is_final = matches!(
                    e.kind(),
                    io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied
                );
                failed = Some(Error::listen_on_port(address, e));
                if is_final {
                    break;
                }
            }
        }
    }
    Err(failed.unwrap_or_else(|| {
        Error::listen(
            format!("port {}", port),
            io::ErrorKind::AddrNotAvailable.into(),
        )
    }))
}
