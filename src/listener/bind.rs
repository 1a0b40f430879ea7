//! What listeners are for: the services of a configuration, and where they are bound.
//!
//! Which sockets they are is left to the engine, through [`Listen`]; which of them there are, to
//! [`set`](crate::listener::set).

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Weak};

use log::warn;

use crate::config::{Bind, Config, Host, InheritedFd, Keepalive};
use crate::error::Error;
use crate::inbound::policy::Policy;
use crate::inbound::DynamicConfig;
use crate::listener::kind::ListenerKind;
use crate::listener::settings::ListenerHandle;
use crate::listener::socket_activation::{self, InheritedFds, InheritedSocket};
use crate::listener::unix_socket::SocketFile;
use crate::listener::validate::{self, ConfiguredKind, Spot};
use crate::os::sys::is_inherited;
use crate::text::escape::Escaped;
use crate::upstream::{ProxySelector, Tunnel};

/// A listener of one thread, and what it is for.
#[derive(Debug)]
pub struct BoundListener<L> {
    /// What is done for which clients, from when on, and until when.
    pub handle: ListenerHandle,
    /// To be dropped after the socket is closed.
    pub open: Arc<Open>,
    /// Where they come in.
    pub listening: L,
}

impl<L> BoundListener<L> {
    /// A listener of which there is only this one socket.
    pub fn new(handle: ListenerHandle, listening: L) -> BoundListener<L> {
        BoundListener {
            handle,
            open: Arc::new(Open::new(None).0),
            listening,
        }
    }
}

/// Held by every socket of a listener for as long as it is open. With the last of them the file of
/// a Unix socket is removed.
#[derive(Debug)]
pub struct Open {
    file: Option<SocketFile>,
    /// Dropped after the file.
    _closed: SyncSender<()>,
}

/// Waits until all sockets of a listener are closed.
#[derive(Debug)]
pub(crate) struct SocketsClosed(Receiver<()>);

impl Open {
    pub(crate) fn new(file: Option<SocketFile>) -> (Open, SocketsClosed) {
        let (closed, closing) = sync_channel(0);
        let open = Open {
            file,
            _closed: closed,
        };
        (open, SocketsClosed(closing))
    }
}

impl SocketsClosed {
    pub(crate) fn wait(&self) {
        while self.0.recv().is_ok() {}
    }
}

/// A listening socket that isn't on any reactor yet.
pub trait Listen: Sized {
    /// Binds and listens; `shared` lets other sockets of this user share the port's clients, whose
    /// connections have this `keepalive`.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn bind(address: &SocketAddr, shared: bool, keepalive: Option<Keepalive>) -> io::Result<Self>;

    /// Binds a Unix socket to which its owner alone may connect.
    ///
    /// # Errors
    ///
    /// Those of the system: then there is no file.
    fn bind_path(path: &Path) -> io::Result<Self>;

    /// Listens on a Unix socket that is bound.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn listen(&self) -> io::Result<()>;

    /// Takes over a socket that listens already, whose clients' connections get this `keepalive`.
    ///
    /// # Errors
    ///
    /// When it doesn't.
    fn adopt(socket: InheritedSocket, keepalive: Option<Keepalive>) -> io::Result<Self>;

    /// The same socket once more, for another thread.
    ///
    /// # Errors
    ///
    /// When there is no descriptor for it.
    fn try_clone(&self) -> io::Result<Self>;

    /// Where it listens, with the port that was picked.
    ///
    /// # Errors
    ///
    /// When it is a Unix socket.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// Where a service listens, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Port(Bind, u16),
    Path(PathBuf),
    Passed(InheritedFd),
}

impl Place {
    /// Where others than this machine can connect to it, if they can.
    fn exposed_at(&self) -> Result<Option<String>, Error> {
        match self {
            Place::Port(bind, port) => Ok(validate::exposed_port(bind, *port)),
            Place::Path(_) => Ok(None),
            Place::Passed(socket) => validate::exposed_socket(socket),
        }
    }

    /// Whether the system picks where that is.
    pub(crate) fn is_picked(&self) -> bool {
        matches!(self, Place::Port(_, 0))
    }
}

/// What listens at a place, with a socket for each thread.
pub(crate) struct Bound<L> {
    pub(crate) spot: BoundSpot,
    pub(crate) listening: Vec<L>,
    pub(crate) open: Arc<Open>,
    pub(crate) closed: SocketsClosed,
}

/// Where a listener is, as the system knows it.
#[derive(Clone, Debug)]
pub(crate) enum BoundSpot {
    /// At an address.
    Port(SocketAddr),
    /// At a path, escaped, with the file for as long as it is open.
    Path(String, Weak<Open>),
    /// At a socket that was passed to us, which has this name.
    Passed(String),
}

impl BoundSpot {
    /// Whether this is what a place means now, however that is written.
    pub(crate) fn is_meant_by(&self, place: &Place) -> bool {
        match (self, place) {
            (BoundSpot::Port(address), Place::Port(bind, port)) => {
                *port != 0 && first_address(bind, *port) == Some(*address)
            }
            (BoundSpot::Path(_, open), Place::Path(path)) => {
                let open = open.upgrade();
                let file = open.as_ref().and_then(|open| open.file.as_ref());
                file.map_or(false, |file| file.is_at(path))
            }
            _ => false,
        }
    }
}

impl fmt::Display for BoundSpot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundSpot::Port(address) => address.fmt(f),
            BoundSpot::Path(name, _) | BoundSpot::Passed(name) => f.write_str(name),
        }
    }
}

impl<L> Bound<L> {
    fn new(spot: BoundSpot, listening: Vec<L>) -> Bound<L> {
        let (open, closed) = Open::new(None);
        Bound {
            spot,
            listening,
            open: Arc::new(open),
            closed,
        }
    }
}

/// The services of a configuration, whose clients go by this gateway, and where they are wanted.
///
/// # Errors
///
/// A passed socket that isn't there, or is wanted twice; a way in that may not be opened, or not
/// stay open.
pub(crate) fn services(
    config: &Config,
    gateway: &ProxySelector,
) -> Result<Vec<(ListenerKind, Place)>, Error> {
    validate::check(config)?;
    let guests = DynamicConfig::new(gateway, config.dynamic_user.as_ref());
    let mut sockets = InheritedFds::new(&config.inherited);
    let mut services = Vec::new();
    for (purpose, spot) in validate::entrances(config) {
        let places = match spot {
            Spot::Port(bind, port) => vec![Place::Port(bind.clone(), port)],
            Spot::Path(path) => vec![Place::Path(path.into())],
            Spot::Passed(name) => {
                let sockets = sockets.take(name)?.into_iter();
                sockets.cloned().map(Place::Passed).collect()
            }
        };
        for place in places {
            let exposed_at = place.exposed_at()?;
            let is_exposed = exposed_at.is_some();
            validate::permit(purpose, exposed_at, config)?;
            let service = match purpose {
                ConfiguredKind::Tunnel(destination) => {
                    ListenerKind::Tunnel(Tunnel::new(destination.clone(), gateway))
                }
                ConfiguredKind::Dynamic if is_exposed => {
                    ListenerKind::Dynamic(guests.clone().exclude_local())
                }
                ConfiguredKind::Dynamic => ListenerKind::Dynamic(guests.clone()),
                ConfiguredKind::Proxy(spec) => ListenerKind::Proxy(Policy::new(spec.clone())),
            };
            services.push((service, place));
        }
    }
    for socket in sockets.others() {
        if is_inherited(socket.descriptor).unwrap_or(false) {
            // Its clients would wait in vain.
            warn!("inherited socket {} is not used by any listener", socket);
        } else {
            warn!("LISTEN_FDS counts {}, which was not passed", socket);
        }
    }
    Ok(services)
}

/// Listens at a place, with as many descriptors as there are threads.
///
/// # Errors
///
/// Why the place can't be listened on, with what `service` is for.
pub(crate) fn bind<L: Listen>(
    service: &ListenerKind,
    place: &Place,
    threads: usize,
    keepalive: Option<Keepalive>,
) -> Result<Bound<L>, Error> {
    let bound = match place {
        Place::Port(bind, port) => {
            let bind_it = |address| bind_shared(&address, threads, keepalive);
            let bound = bind_on(bind, *port, bind_it);
            bound.map(|(address, listening)| Bound::new(BoundSpot::Port(address), listening))
        }
        Place::Path(path) => bind_at(path, threads),
        Place::Passed(socket) => adopt(socket, threads, keepalive),
    };
    bound.map_err(|e| e.listening_for(service.purpose()))
}

/// Takes over a socket.
fn adopt<L: Listen>(
    socket: &InheritedFd,
    threads: usize,
    keepalive: Option<Keepalive>,
) -> Result<Bound<L>, Error> {
    let adopt = || {
        let (own, address) = socket_activation::open(socket)?;
        let listening = share(L::adopt(own, keepalive)?, threads)?;
        Ok(Bound::new(
            BoundSpot::Passed(address.to_string()),
            listening,
        ))
    };
    adopt().map_err(|e| Error::listen(socket, e))
}

fn bind_at<L: Listen>(path: &Path, count: usize) -> Result<Bound<L>, Error> {
    let name = Escaped(path.as_os_str().as_bytes()).to_string();
    let bind = || {
        let (file, listening) = SocketFile::create(path, L::bind_path)?;
        listening.listen()?;
        Ok((file, share(listening, count)?))
    };
    match bind() {
        Ok((file, listening)) => {
            let (open, closed) = Open::new(Some(file));
            let open = Arc::new(open);
            Ok(Bound {
                spot: BoundSpot::Path(name, Arc::downgrade(&open)),
                listening,
                open,
                closed,
            })
        }
        Err(e) => Err(Error::listen(name, e)),
    }
}

/// One socket as `count` descriptors: whichever thread is first takes a client.
fn share<L: Listen>(listening: L, count: usize) -> io::Result<Vec<L>> {
    let mut all = (1..count)
        .map(|_| listening.try_clone())
        .collect::<io::Result<Vec<L>>>()?;
    all.push(listening);
    Ok(all)
}

/// Binds with `try_bind` to what `bind` means on this machine.
///
/// # Errors
///
/// Why that can't be.
pub(crate) fn bind_on<T>(
    bind: &Bind,
    port: u16,
    try_bind: impl Fn(SocketAddr) -> io::Result<T>,
) -> Result<T, Error> {
    let addresses = addresses(bind, port).map_err(|e| Error::listen(Spot::Port(bind, port), e))?;
    let mut failed = None;
    for address in addresses {
        match try_bind(address) {
            Ok(bound) => return Ok(bound),
            Err(e) => {
                // Anything else may be the lack of this family.
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

/// What `bind` means on this machine: the first of these that can be bound.
fn addresses(bind: &Bind, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok(match bind {
        // Both families where the machine has both, else IPv4.
        Bind::Any => vec![
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        ],
        Bind::Host(Host::Ip(ip)) => vec![SocketAddr::new(*ip, port)],
        Bind::Host(Host::Name(name)) if name == "localhost" => {
            vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]
        }
        Bind::Host(Host::Name(name)) => (&name[..], port).to_socket_addrs()?.take(1).collect(),
    })
}

fn first_address(bind: &Bind, port: u16) -> Option<SocketAddr> {
    addresses(bind, port).ok()?.into_iter().next()
}

/// The first socket is bound alone, so that a port which somebody else has is an error; only
/// then does a shared one take its place.
fn bind_shared<L: Listen>(
    address: &SocketAddr,
    count: usize,
    keepalive: Option<Keepalive>,
) -> io::Result<(SocketAddr, Vec<L>)> {
    let alone = L::bind(address, false, keepalive)?;
    let address = alone.local_addr()?;
    if count == 1 {
        return Ok((address, vec![alone]));
    }
    drop(alone);
    let all = (0..count).map(|_| L::bind(&address, true, keepalive));
    Ok((address, all.collect::<io::Result<_>>()?))
}
