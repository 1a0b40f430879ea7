//! What listeners are for: the services of a configuration, and where they are bound.
//!
//! Which sockets they are is left to the engine, through [`Listen`]; which of them there are, to
//! [`roster`](crate::roster).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use crate::access::Access;
use crate::config::{Bind, Config, Host};
use crate::duty::Duty;
use crate::error::Error;
use crate::policy::Policy;
use crate::route::{Gateway, Tunnel};

/// What is done for the clients of a listener. Cheap to clone, and to send to another thread.
#[derive(Clone, Debug)]
pub enum Service {
    /// Each is carried to the tunnel's destination.
    Tunnel(Tunnel),
    /// Each names its destination, and is carried there by this gateway.
    Dynamic(Gateway),
    /// Each may ask the embedded proxy for a destination.
    Proxy(Policy),
}

impl Service {
    pub(crate) fn looks_names_up(&self) -> bool {
        match self {
            Service::Tunnel(tunnel) => tunnel.looks_names_up(),
            Service::Dynamic(_) | Service::Proxy(_) => true,
        }
    }

    /// What is said of a listener for it.
    pub(crate) fn line(&self, address: SocketAddr) -> String {
        match self {
            Service::Tunnel(tunnel) => format!("listening on {} for {}", address, tunnel),
            Service::Dynamic(gateway) => format!(
                "listening on {} for SOCKS5 and HTTP CONNECT {}",
                address, gateway
            ),
            Service::Proxy(_) => format!("serving proxy on {}", address),
        }
    }
}

/// A listener of one thread, and what it is for.
#[derive(Debug)]
pub struct Post<L> {
    /// What is done for its clients, and until when.
    pub duty: Duty,
    /// Which clients these are.
    pub access: Access,
    /// Where they come in.
    pub listening: L,
}

/// A listening socket that isn't on any reactor yet.
pub trait Listen: Sized {
    /// Binds and listens; `shared` lets other sockets of this user share the port's clients.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn bind(address: &SocketAddr, shared: bool) -> io::Result<Self>;

    /// Where it listens, with the port that was picked.
    ///
    /// # Errors
    ///
    /// None that a bound socket can meet.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// All ways in share a gateway: what one learns of a dead proxy, all know.
pub(crate) fn services(config: &Config) -> impl Iterator<Item = (Service, &Bind, u16)> {
    let gateway = Gateway::new(config.route.clone());
    let tunnels = {
        let gateway = gateway.clone();
        config.tunnels.iter().map(move |spec| {
            let bind = spec.bind.as_ref().unwrap_or(&config.listen);
            let tunnel = Tunnel::new(spec.destination.clone(), &gateway);
            (Service::Tunnel(tunnel), bind, spec.port)
        })
    };
    let dynamic = config.dynamic.iter().map(move |spec| {
        let bind = spec.bind.as_ref().unwrap_or(&config.listen);
        (Service::Dynamic(gateway.clone()), bind, spec.port)
    });
    let proxy = config.serve.iter().map(|spec| {
        let policy = Policy::new(spec.clone());
        (Service::Proxy(policy), &spec.bind, spec.port)
    });
    tunnels.chain(dynamic).chain(proxy)
}

/// Listens `count` times on the same address.
pub(crate) fn bind_on<L: Listen>(bind: &Bind, port: u16, count: usize) -> Result<Vec<L>, Error> {
    let addresses = match bind {
        // Both families where the machine has both, else IPv4.
        Bind::Any => vec![
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        ],
        Bind::Host(Host::Ip(ip)) => vec![SocketAddr::new(*ip, port)],
        Bind::Host(Host::Name(name)) if name == "localhost" => {
            vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]
        }
        Bind::Host(Host::Name(name)) => match (&name[..], port).to_socket_addrs() {
            Ok(found) => found.take(1).collect(),
            Err(e) => return Err(Error::listen(format!("{}:{}", name, port), e)),
        },
    };
    let mut failed = None;
    for address in addresses {
        match bind_shared(&address, count) {
            Ok(listening) => return Ok(listening),
            Err(e) => {
                // Anything else may be the lack of this family.
                let is_final = matches!(
                    e.kind(),
                    io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied
                );
                failed = Some(Error::listen(address, e));
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

/// The first socket is bound alone, so that a port which somebody else has is an error; only
/// then does a shared one take its place.
fn bind_shared<L: Listen>(address: &SocketAddr, count: usize) -> io::Result<Vec<L>> {
    let alone = L::bind(address, false)?;
    if count == 1 {
        return Ok(vec![alone]);
    }
    let address = alone.local_addr()?;
    drop(alone);
    (0..count).map(|_| L::bind(&address, true)).collect()
}
