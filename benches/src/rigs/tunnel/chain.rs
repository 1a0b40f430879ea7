//! What a request passes: the tunnel on its core, then a proxy and an origin on the load's core. Each is fresh.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use crate::load::driver::Driver;
use crate::load::gets::Gets;
use crate::load::server::Server;
use crate::peers::find::{find, project};
use crate::peers::{spec, Found, Kind, Running, Setup, Under};
use crate::rigs::{certificate, Bench};

const PARTS: &str = include_str!("parts.toml");

/// Where the origin speaks TLS, on the port on which it speaks without.
const OVER_TLS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 99));

/// Bytes of the page that is asked for.
const PAGE: usize = 1024;

#[derive(Clone, Copy, Debug)]
pub enum Proxy {
    Squid,
    Tinyproxy,
    /// ptunnel's own.
    Embedded,
}

impl Proxy {
    fn part(self) -> &'static str {
        match self {
            Proxy::Squid => "squid",
            Proxy::Tinyproxy => "tinyproxy",
            Proxy::Embedded => "embedded",
        }
    }
}

/// How the origin treats a connection on which it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    Kept,
    /// Closed after a hundred requests, nginx's default of old.
    Limited,
    Closed,
}

impl Connections {
    pub fn path(self) -> &'static str {
        match self {
            Connections::Limited => "/limited/page",
            _ => "/page",
        }
    }
}

#[derive(Debug)]
enum Origin {
    Nginx(#[allow(dead_code)] Running),
    Ours(#[allow(dead_code)] Server),
}

/// Ends in the order of its fields.
#[derive(Debug)]
pub struct Chain {
    /// None for the floor, where the load asks the proxy itself.
    tunnel: Option<Running>,
    proxy: Running,
    _origin: Origin,
    pub target: SocketAddr,
}

impl Chain {
    /// In front of nginx.
    pub fn to_pages(bench: &Bench, peer: &Found, proxy: Proxy, under: &Under) -> io::Result<Chain> {
        pages(&bench.folder)?;
        let nginx = start_part(bench, "origin")?;
        let target = nginx.listen;
        Chain::start(bench, peer, proxy, under, Origin::Nginx(nginx), target)
    }

    /// In front of the server that speaks the protocol of the relay rig.
    pub fn to_server(bench: &Bench, peer: &Found, proxy: Proxy) -> io::Result<Chain> {
        let server = Server::start(false)?;
        let target = server.address;
        let nothing = &Under::Nothing;
        Chain::start(bench, peer, proxy, nothing, Origin::Ours(server), target)
    }

    fn start(
        bench: &Bench,
        peer: &Found,
        proxy: Proxy,
        under: &Under,
        origin: Origin,
        target: SocketAddr,
    ) -> io::Result<Chain> {
        let proxy = start_part(bench, proxy.part())?;
        let tunnel = if peer.spec.kind == Kind::Floor {
            None
        } else {
            let far = match peer.spec.tls {
                true => SocketAddr::new(OVER_TLS, target.port()),
                false => target,
            };
            let setup = Setup::relaying_to(far).through(proxy.listen);
            Some(bench.start(peer, setup, under)?)
        };
        Ok(Chain {
            tunnel,
            proxy,
            _origin: origin,
            target,
        })
    }

    pub fn tunnel(&self) -> Option<&Running> {
        self.tunnel.as_ref()
    }

    /// Returns the address that the load connects to.
    pub fn address(&self) -> SocketAddr {
        self.tunnel.as_ref().unwrap_or(&self.proxy).listen
    }

    /// The proxy, where the load has to ask it by itself.
    pub fn asked_directly(&self) -> Option<SocketAddr> {
        match self.tunnel {
            Some(_) => None,
            None => Some(self.proxy.listen),
        }
    }

    /// So many clients that ask for the page.
    pub fn gets(&self, clients: usize, connections: Connections) -> io::Result<Driver<Gets>> {
        let close = connections == Connections::Closed;
        let gets = Gets::page(self.target, connections.path(), close, &page());
        let gets = match self.asked_directly() {
            Some(_) => gets.asking_for(self.target),
            None => gets,
        };
        Driver::new(self.address(), clients, gets)
    }

    /// Ends the tunnel first and awaits it, so that a tool above it writes its file.
    pub fn end(mut self) -> io::Result<()> {
        match self.tunnel.take() {
            Some(tunnel) => tunnel.end(),
            None => Ok(()),
        }
    }
}

/// The versions of what is no peer but in every figure.
pub fn versions() -> Vec<String> {
    let specs = spec::parse(PARTS, "part", &[]).unwrap_or_default();
    let said = |spec: &spec::Spec| {
        let (program, arguments) = spec.version.as_ref()?.split_first()?;
        let output = Command::new(program).args(arguments).output().ok()?;
        Some(format!(
            "{}: {}",
            spec.about,
            crate::peers::find::version_line(&output)
        ))
    };
    specs.iter().filter_map(said).collect()
}

fn start_part(bench: &Bench, name: &str) -> io::Result<Running> {
    let part = part(bench, name)?;
    let nobody = Setup::serving(1);
    // It inherits the core of the load.
    Running::start(&part, nobody, &Under::Nothing, &bench.folder, None).map_err(|e| {
        let text = format!("{e}; {}", part.spec.install());
        io::Error::new(e.kind(), text)
    })
}

/// Built at its first use.
fn part(bench: &Bench, name: &str) -> io::Result<Found> {
    let mut specs = spec::parse(PARTS, "part", &[name.to_string()])?;
    let spec = specs.remove(0);
    let binary = bench.folder.join(name);
    if spec.build.is_none() || binary.exists() {
        return Ok(Found {
            spec,
            version: String::new(),
            binary,
            built_in: None,
        });
    }
    find(spec, &project()?, &bench.folder, false)
        .map_err(|missing| io::Error::other(format!("{name}: {}", missing.reason)))
}

/// Lays the page and a certificate where the origin looks for them, once a run.
fn pages(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("pages/limited"))?;
    for name in ["pages/page", "pages/limited/page"] {
        fs::write(folder.join(name), page())?;
    }
    certificate::lay(folder, "origin")
}

/// Text without a period that a buffer's size would divide.
fn page() -> Vec<u8> {
    (0..PAGE).map(|i| b'a' + (i % 23) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proxy_and_the_origin_are_parts_with_a_given_address() {
        let proxies = [Proxy::Squid, Proxy::Tinyproxy, Proxy::Embedded].map(Proxy::part);
        for name in proxies.iter().chain(&["origin"]) {
            let found = spec::parse(PARTS, "part", &[name.to_string()]).unwrap();
            assert_eq!(found.len(), 1, "{name}");
            let mut lines = found[0].start.iter().chain(&found[0].config);
            assert!(lines.any(|line| line.contains("{listen")), "{name}");
        }
    }

    #[test]
    fn the_origin_speaks_tls_where_the_tunnels_are_sent_to() {
        assert!(PARTS.contains(&format!("listen {OVER_TLS}:{{listen_port}} ssl")));
    }
}
