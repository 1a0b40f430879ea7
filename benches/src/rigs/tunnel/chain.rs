//! What a request passes: the tunnel on its core, then a proxy and an origin on the load's core. Each is fresh.

use std::fmt::Debug;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use crate::load::driver::Driver;
use crate::load::gets::Gets;
use crate::load::server::Server;
use crate::measure::{certificate, Bench};
use crate::model::Kind;
use crate::peers::find::{find, project, version};
use crate::peers::{spec, Found, Running, Setup, Spec, Under};

const PARTS: &str = include_str!("parts.toml");

/// Where the origin speaks TLS, on the port on which it speaks without.
const OVER_TLS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 99));

/// Bytes of the page that is asked for.
const PAGE: usize = 1024;

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

/// Ends in the order of its fields.
#[derive(Debug)]
pub struct Chain {
    /// None for the floor, where the load asks the proxy itself.
    pub tunnel: Option<Running>,
    _proxy: Running,
    _origin: Box<dyn Debug>,
    /// What the load connects to.
    pub address: SocketAddr,
    /// The proxy, where the load has to ask it by itself.
    pub asked: Option<SocketAddr>,
    pub target: SocketAddr,
}

impl Chain {
    /// In front of nginx.
    pub fn to_pages(bench: &Bench, peer: &Found, proxy: &str, under: &Under) -> io::Result<Chain> {
        pages(&bench.folder)?;
        let nginx = start_part(bench, "origin")?;
        let target = nginx.listen;
        Chain::start(bench, peer, proxy, under, Box::new(nginx), target)
    }

    /// In front of the server that speaks the protocol of the relay rig.
    pub fn to_server(bench: &Bench, peer: &Found, proxy: &str) -> io::Result<Chain> {
        let server = Server::start(false)?;
        let target = server.address;
        Chain::start(
            bench,
            peer,
            proxy,
            &Under::Nothing,
            Box::new(server),
            target,
        )
    }

    fn start(
        bench: &Bench,
        peer: &Found,
        proxy: &str,
        under: &Under,
        origin: Box<dyn Debug>,
        target: SocketAddr,
    ) -> io::Result<Chain> {
        let proxy = start_part(bench, proxy)?;
        let far = match peer.spec.tls {
            true => SocketAddr::new(OVER_TLS, target.port()),
            false => target,
        };
        let setup = Setup::relaying_to(far).through(proxy.listen);
        let tunnel = match peer.spec.kind {
            Kind::Floor => None,
            _ => Some(bench.start(peer, setup, under)?),
        };
        Ok(Chain {
            address: tunnel.as_ref().unwrap_or(&proxy).listen,
            asked: tunnel.is_none().then_some(proxy.listen),
            tunnel,
            _proxy: proxy,
            _origin: origin,
            target,
        })
    }

    /// Takes the tunnel out of its chain.
    ///
    /// # Errors
    /// Where there is none.
    pub fn the_tunnel(&mut self) -> io::Result<Running> {
        let tunnel = self.tunnel.take();
        tunnel.ok_or_else(|| io::Error::other("there is no tunnel"))
    }

    /// So many clients that ask for the page.
    pub fn gets(&self, clients: usize, connections: Connections) -> io::Result<Driver<Gets>> {
        let close = connections == Connections::Closed;
        let mut gets = Gets::page(self.target, connections.path(), close, &page());
        if self.asked.is_some() {
            gets = gets.asking_for(self.target);
        }
        Driver::new(self.address, clients, gets)
    }
}

/// The versions of what is no peer but in every figure.
pub fn versions() -> Vec<String> {
    let project = project().unwrap_or_default();
    let specs = spec::parse(PARTS, &[], "part").unwrap_or_default();
    let packages = specs.iter().filter(|spec| spec.version.is_some());
    let said = packages.filter_map(|spec| Some((&spec.about, version(spec, &project).ok()?)));
    said.map(|(about, version)| format!("{about}: {version}"))
        .collect()
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
    let spec = spec_of(name)?;
    let binary = bench.folder.join(name);
    if spec.build.is_none() || binary.exists() {
        return Ok(Found {
            binary,
            ..Found::of_package(spec)
        });
    }
    let found = find(&spec, &project()?, &bench.folder, false);
    found.map_err(|why| io::Error::other(format!("{name}: {why}")))
}

fn spec_of(name: &str) -> io::Result<Spec> {
    let all = spec::parse(PARTS, &[], "part")?;
    Ok(spec::named(&all, "part", &[name.to_string()])?.remove(0))
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
    fn every_part_has_a_given_address() {
        for name in ["origin", "squid", "tinyproxy", "embedded"] {
            let found = spec_of(name).unwrap();
            let mut lines = found.start.iter().chain(&found.config);
            assert!(lines.any(|line| line.contains("{listen")), "{name}");
        }
    }

    #[test]
    fn the_origin_speaks_tls_where_the_tunnels_are_sent_to() {
        assert!(PARTS.contains(&format!("listen {OVER_TLS}:{{listen_port}} ssl")));
    }
}
