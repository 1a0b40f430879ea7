//! Probes the proxies that are down, so that they are used and shown as up again without a client that
//! tries them.
//!
//! A probe is a connection, TLS if the proxy speaks it, and the `Ping` of its protocol: a connection
//! alone doesn't prove that a program behind it answers. It names no destination and sends no
//! credentials. A proxy that answers with anything else is left to a client to try, as is a SOCKS4 proxy
//! that had accepted connections, because SOCKS4 has no such message.
//!
//! Each proxy that is down has a thread, which sleeps between two probes and ends when the proxy
//! answers a client or a probe, when a reload replaces the selector, and after the last listener.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use log::info;

use super::blocking::{connect, secure, Unreachable};
use super::health::{Found, Health};
use super::pooled_proxy::PooledProxy;
use crate::config::{Family, ProxySpec, Route, Timeouts};
use crate::os::deadline_stream::DeadlineStream;
use crate::os::exhaustion::is_exhaustion;
use ptunnel_proto::proxy_protocol::encode;
use ptunnel_proto::Ping;

/// A listener holds it as long as it is open.
#[derive(Debug, Default)]
pub(crate) struct Serving;

/// Starts the threads that probe.
#[derive(Clone, Debug)]
pub(crate) struct Prober {
    /// Gone with the last listener: no client needs a proxy any more.
    serving: Weak<Serving>,
    connect: Duration,
    handshake: Duration,
}

impl Prober {
    /// Returns a prober with the limits of a client.
    pub(crate) fn new(serving: &Arc<Serving>, timeouts: &Timeouts) -> Prober {
        Prober {
            serving: Arc::downgrade(serving),
            connect: timeouts.connect,
            handshake: timeouts.handshake,
        }
    }

    /// Starts to probe the proxy if it is down and isn't probed yet: after its pause, or with `is_due` at
    /// once. Without a thread, clients try it.
    pub(super) fn probe(&self, proxy: &Arc<PooledProxy>, route: &Route, is_due: bool) {
        proxy.health.probe(|stopped| {
            let to_proxy = route.send_proxy_protocol.to_proxy;
            let probe = Probe {
                proxy: Arc::downgrade(proxy),
                health: proxy.health.clone(),
                header: to_proxy.map_or(Vec::new(), |version| encode(version, None)),
                family: route.family.clone(),
                prober: self.clone(),
            };
            let run = move || probe.run(is_due, &stopped);
            let thread = thread::Builder::new().name("probe".into());
            thread.spawn(run).is_ok()
        });
    }
}

/// What the thread of one proxy needs.
struct Probe {
    proxy: Weak<PooledProxy>,
    /// Can outlive the proxy.
    health: Arc<Health>,
    /// The PROXY header that the proxy reads first.
    header: Vec<u8>,
    family: Family,
    prober: Prober,
}

impl Probe {
    /// Probes the proxy until it answers or `stopped` is disconnected.
    fn run(&self, mut is_due: bool, stopped: &Receiver<()>) {
        let health = &self.health;
        let probing = health.probing(stopped);
        loop {
            let pause = health.pause();
            if !is_due && stopped.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
            is_due = false;
            match self.proxy.upgrade() {
                Some(proxy) if self.prober.serving.strong_count() > 0 => {
                    if health.probed(|| self.probe(&proxy), || probing.is_over()) {
                        info!("proxy {} answers again", proxy.spec);
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    fn probe(&self, proxy: &PooledProxy) -> Found {
        let spec = &proxy.spec;
        let until = Instant::now() + self.prober.connect;
        let mut stream = match connect(&spec.address, self.family.clone(), until) {
            Ok(stream) => stream,
            Err(Unreachable::Name(e)) | Err(Unreachable::Connection(e)) if is_exhaustion(&e) => {
                return Found::Nothing
            }
            Err(_) => return Found::Unreachable,
        };
        stream.limit(self.prober.handshake);
        let ping = match Ping::to(spec.protocol, &spec.address) {
            Some(ping) => ping,
            None if proxy.health.is_unreachable() => return Found::Answering,
            None => return Found::Unclear,
        };
        self.answer(stream, spec, &ping).unwrap_or(Found::Silent)
    }

    /// Sends the ping and reads the start of the answer.
    ///
    /// # Errors
    ///
    /// No TLS, or no answer within the limit.
    fn answer(
        &self,
        mut stream: DeadlineStream,
        spec: &ProxySpec,
        ping: &Ping,
    ) -> io::Result<Found> {
        stream.write_all(&self.header)?;
        match &spec.tls {
            None => exchange(stream, ping),
            Some(tls) => exchange(secure(stream, tls, &spec.address)?.0, ping),
        }
    }
}

fn exchange(mut stream: impl Read + Write, ping: &Ping) -> io::Result<Found> {
    let mut answer = vec![0; ping.answer.len()];
    let answered = stream
        .write_all(&ping.message)
        .and_then(|()| stream.read_exact(&mut answer));
    match answered {
        Err(e) if e.kind() == io::ErrorKind::TimedOut => Err(e),
        Ok(()) if answer == ping.answer => Ok(Found::Answering),
        // It closed the connection, or speaks another protocol.
        _ => Ok(Found::Unclear),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: a proxy whose PAC file had named too many others was never probed again after a reload,
    /// nor tried first.
    #[test]
    fn a_thread_that_ends_with_its_proxy_can_be_followed_by_another() {
        let health = Arc::<Health>::default();
        health.failed(Instant::now(), false);
        let probe = Probe {
            proxy: Weak::new(),
            health: health.clone(),
            header: Vec::new(),
            family: Family::ANY,
            prober: Prober::new(&Arc::default(), &Timeouts::default()),
        };
        let mut stopped = None;
        health.probe(|receiver| {
            stopped = Some(receiver);
            true
        });
        probe.run(true, &stopped.unwrap());
        let mut is_started = false;
        health.probe(|_| {
            is_started = true;
            true
        });
        assert!(is_started);
    }
}
