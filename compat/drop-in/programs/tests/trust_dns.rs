//! trust-dns of tokio-core's time, as the registry has it, asks dnsmasq over UDP and TCP.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use futures::{future, Future};
use programs::{within_a_minute, Daemon};
use tokio_core::reactor::Core;
use trust_dns_resolver::config::{NameServerConfig, Protocol, ResolverConfig, ResolverOpts};
use trust_dns_resolver::error::ResolveErrorKind;
use trust_dns_resolver::{Resolver, ResolverFuture};

/// Names of one address each. dnsmasq answers a hundred questions on a connection.
const HOSTS: u8 = 60;
/// Addresses of `many.test`: their answer is longer than a datagram that dnsmasq sends.
const MANY: u8 = 120;

/// Starts a name server for `host-N.test` (192.0.2.N) and `many.test`.
fn dnsmasq() -> Daemon {
    let records = (1..=MANY).flat_map(|n| {
        ["many".to_owned(), format!("host-{n}")]
            .map(|name| format!("--host-record={name}.test,192.0.2.{n}"))
    });
    programs::dnsmasq(records.collect())
}

fn config(server: SocketAddr, protocols: &[Protocol]) -> ResolverConfig {
    let mut config = ResolverConfig::from_parts(None, vec![], vec![]);
    for protocol in protocols {
        config.add_name_server(NameServerConfig {
            socket_addr: server,
            protocol: *protocol,
        });
    }
    config
}

/// One question each, with no help from a cache or a file.
fn options() -> ResolverOpts {
    let mut options = ResolverOpts::default();
    options.cache_size = 0;
    options.use_hosts_file = false;
    options
}

fn address(n: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, n).into()
}

/// Asks for all names at once, and for one that isn't there.
fn ask(protocol: Protocol) {
    let server = dnsmasq();
    let mut core = Core::new().unwrap();
    let config = config(server.address(), &[protocol]);
    let resolver = ResolverFuture::new(config, options(), &core.handle());
    let all = (1..=HOSTS).map(|n| resolver.lookup_ip(&format!("host-{n}.test.")));
    let answers = core.run(future::join_all(all)).unwrap();
    for (n, answer) in (1..=HOSTS).zip(answers) {
        assert_eq!(answer.iter().collect::<Vec<_>>(), [address(n)]);
    }
    let missing = core.run(resolver.lookup_ip("missing.test.")).unwrap_err();
    assert!(
        matches!(missing.kind(), ResolveErrorKind::NoRecordsFound(_)),
        "{missing}"
    );
}

#[test]
fn names_are_resolved_over_udp() {
    within_a_minute(|| ask(Protocol::Udp));
}

#[test]
fn names_are_resolved_over_tcp() {
    within_a_minute(|| ask(Protocol::Tcp));
}

/// dnsmasq truncates the answer over UDP, and the resolver asks again over TCP.
#[test]
fn an_answer_too_long_for_udp_comes_over_tcp() {
    within_a_minute(|| {
        let server = dnsmasq();
        let mut core = Core::new().unwrap();
        let mut count = |protocols: &[Protocol]| {
            let config = config(server.address(), protocols);
            let resolver = ResolverFuture::new(config, options(), &core.handle());
            let answer = core.run(resolver.lookup_ip("many.test."));
            answer.map_or(0, |answer| answer.iter().count())
        };
        assert!(count(&[Protocol::Udp]) < usize::from(MANY));
        assert_eq!(count(&[Protocol::Udp, Protocol::Tcp]), usize::from(MANY));
    });
}

/// The resolver's own timer, a `Timeout` of tokio-core, ends a question without an answer.
#[test]
fn a_silent_server_is_given_up_after_the_timeout() {
    within_a_minute(|| {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let config = config(silent.local_addr().unwrap(), &[Protocol::Udp]);
        let mut options = options();
        options.timeout = Duration::from_millis(200);
        options.attempts = 1;
        let mut core = Core::new().unwrap();
        let resolver = ResolverFuture::new(config, options, &core.handle());
        let asked = Instant::now();
        let lookup = resolver.lookup_ip("host-1.test.");
        let error = core.run(lookup.map(|answer| answer.iter().count()));
        assert!(error.is_err(), "{error:?}");
        let waited = asked.elapsed();
        assert!(waited >= Duration::from_millis(200), "{waited:?}");
        // It was asked.
        silent.set_nonblocking(true).unwrap();
        assert!(silent.recv(&mut [0; 512]).unwrap() > 12);
    });
}

/// `Resolver` makes a Core for each question.
#[test]
fn a_resolver_that_owns_its_core_runs_beside_tokio_1() {
    within_a_minute(|| {
        let server = dnsmasq();
        let config = config(server.address(), &[Protocol::Udp]);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let answer = runtime.block_on(async {
            let ask = move || {
                let resolver = Resolver::new(config, options()).unwrap();
                let answer = resolver.lookup_ip("host-7.test.").unwrap();
                answer.iter().collect::<Vec<_>>()
            };
            tokio::task::spawn_blocking(ask).await.unwrap()
        });
        assert_eq!(answer, [address(7)]);
    });
}
