//! Security contexts with a proxy that requires Kerberos, made on a thread: a KDC can be slow.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::os::sys::GssContext;
use ptunnel_proto::auth::{ContextSource, NewContext, SecurityContext};
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::Host;

/// Time after a failure in which no context is sought: a KDC that is down isn't asked for each tunnel.
const FAILURE: Duration = Duration::from_secs(5);
/// Age up to which a context is used. Its token contains the time, and proxies accept five minutes
/// (RFC 4120 §3.2.3).
const FRESH: Duration = Duration::from_secs(60);

const BY_ADDRESS: &str = "the proxy is given by its address, and tickets are for names";
const PENDING: &str = "the KDC hasn't replied yet";

type WakeFn = Box<dyn FnOnce() + Send>;
type Initiate = fn(&str) -> Result<NewContext, String>;

/// Makes security contexts with one proxy, one for each tunnel: a proxy refuses a token that it has
/// received before.
#[derive(Clone)]
pub(super) struct Kerberos {
    /// The proxy's name; `None` if only its address is known.
    host: Option<String>,
    initiate: Initiate,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    ready: VecDeque<(Instant, NewContext)>,
    /// How many of these are promised to tunnels that are about to take them.
    promised: usize,
    failure: Option<(Instant, String)>,
    waiting: Vec<WakeFn>,
    is_working: bool,
}

impl Kerberos {
    pub(super) fn new(host: &Host) -> Kerberos {
        let name = match host {
            Host::Name(name) => Some(name.to_string()),
            Host::Ip(_) => None,
        };
        Kerberos::by(name, initiate)
    }

    fn by(host: Option<String>, initiate: Initiate) -> Kerberos {
        Kerberos {
            host,
            initiate,
            state: Arc::default(),
        }
    }

    /// Starts the thread unless it runs.
    fn start(&self, state: &mut State, host: &str) {
        if state.is_working {
            return;
        }
        let (source, host) = (self.clone(), host.to_string());
        let thread = thread::Builder::new().name("kerberos".to_string());
        match thread.spawn(move || source.work(&host)) {
            Ok(_) => state.is_working = true,
            Err(e) => state.failure = Some((Instant::now(), e.to_string())),
        }
    }

    /// Makes a context for each waiting tunnel, and one more: for a connection that must be opened
    /// again, or for a proxy that asks later.
    fn work(&self, host: &str) {
        loop {
            let made = (self.initiate)(host);
            let mut state = lock(&self.state);
            let woken: Vec<WakeFn> = match made {
                Ok(new) => {
                    state.failure = None;
                    state.ready.push_back((Instant::now(), new));
                    let next = state.waiting.len().min(1);
                    state.waiting.drain(..next).collect()
                }
                Err(why) => {
                    state.failure = Some((Instant::now(), why));
                    state.waiting.drain(..).collect()
                }
            };
            let is_over = woken.is_empty() || state.failure.is_some();
            state.is_working = !is_over;
            drop(state);
            woken.into_iter().for_each(|wake| wake());
            if is_over {
                return;
            }
        }
    }
}

impl State {
    /// Drops what is too old.
    fn renew(&mut self) {
        self.ready.retain(|(made, _)| made.elapsed() < FRESH);
        self.promised = self.promised.min(self.ready.len());
        self.failure = self.failure.take().filter(|(at, _)| at.elapsed() < FAILURE);
    }
}

impl ContextSource for Kerberos {
    fn is_ready(&self, wake: &mut dyn FnMut() -> WakeFn) -> bool {
        let host = match &self.host {
            Some(host) => host,
            None => return true,
        };
        let mut state = lock(&self.state);
        state.renew();
        if state.ready.len() > state.promised {
            state.promised += 1;
            return true;
        }
        if state.failure.is_none() {
            self.start(&mut state, host);
        }
        if state.failure.is_some() {
            return true;
        }
        state.waiting.push(wake());
        false
    }

    fn take(&self) -> Result<NewContext, String> {
        let host = self.host.as_ref().ok_or(BY_ADDRESS)?;
        let mut state = lock(&self.state);
        state.renew();
        let ready = state.ready.pop_front();
        if state.failure.is_none() && state.ready.is_empty() {
            // Also if one was ready: a connection may have to be opened again.
            self.start(&mut state, host);
        }
        if let Some((_, ready)) = ready {
            state.promised = state.promised.saturating_sub(1);
            return Ok(ready);
        }
        let failure = state.failure.as_ref();
        Err(failure.map_or(PENDING.to_string(), |(_, why)| why.clone()))
    }
}

fn initiate(host: &str) -> Result<NewContext, String> {
    let (context, token) = GssContext::initiate(host)?;
    Ok((Box::new(context), token))
}

impl SecurityContext for GssContext {
    fn step(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, String> {
        GssContext::step(self, token)
    }
}

impl fmt::Debug for Kerberos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Kerberos");
        shown.field("host", &self.host).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    struct Established;

    impl SecurityContext for Established {
        fn step(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, String> {
            Ok(None)
        }
    }

    fn quick(host: &str) -> Result<NewContext, String> {
        Ok((Box::new(Established), host.as_bytes().to_vec()))
    }

    fn slow(host: &str) -> Result<NewContext, String> {
        thread::sleep(Duration::from_millis(300));
        quick(host)
    }

    fn failing(_: &str) -> Result<NewContext, String> {
        Err("no ticket".to_string())
    }

    fn source(initiate: Initiate) -> Kerberos {
        Kerberos::by(Some("proxy".to_string()), initiate)
    }

    /// Returns whether a context is ready, and the channel that reports when to ask again.
    fn ask(source: &Kerberos) -> (bool, mpsc::Receiver<()>) {
        let (sender, woken) = mpsc::channel();
        let is_ready = source.is_ready(&mut || {
            let sender = sender.clone();
            Box::new(move || {
                let _ = sender.send(());
            })
        });
        (is_ready, woken)
    }

    fn wait_and_take(source: &Kerberos) -> Result<NewContext, String> {
        loop {
            let (is_ready, woken) = ask(source);
            if is_ready {
                return source.take();
            }
            woken.recv_timeout(Duration::from_secs(20)).expect("woken");
        }
    }

    #[test]
    fn each_waiting_tunnel_gets_a_context() {
        let source = source(slow);
        let tunnels: Vec<_> = (0..8)
            .map(|_| {
                let source = source.clone();
                thread::spawn(move || wait_and_take(&source).map(|(_, token)| token))
            })
            .collect();
        for tunnel in tunnels {
            assert_eq!(tunnel.join().unwrap(), Ok(b"proxy".to_vec()));
        }
    }

    /// A tunnel whose refusal is checked needs two.
    #[test]
    fn another_one_is_made_when_the_last_is_taken() {
        let source = source(quick);
        assert!(wait_and_take(&source).is_ok());
        for _ in 0..9 {
            let deadline = Instant::now() + Duration::from_secs(20);
            while lock(&source.state).ready.is_empty() {
                assert!(Instant::now() < deadline, "none is ready");
                thread::yield_now();
            }
            assert!(source.take().is_ok());
        }
    }

    /// The engine's thread must not wait for a KDC.
    #[test]
    fn nothing_is_awaited_where_none_is_ready() {
        let source = source(slow);
        let begun = Instant::now();
        assert_eq!(source.take().err().as_deref(), Some(PENDING));
        assert!(!ask(&source).0);
        assert!(begun.elapsed() < Duration::from_millis(250));
    }

    #[test]
    fn a_failure_is_kept_for_a_while_and_then_sought_again() {
        let source = source(failing);
        let error = wait_and_take(&source).err();
        assert_eq!(error.as_deref(), Some("no ticket"));
        assert!(ask(&source).0);
        let earlier = Instant::now().checked_sub(FAILURE).expect("a time");
        lock(&source.state).failure = Some((earlier, "old".to_string()));
        assert!(!ask(&source).0);
    }

    #[test]
    fn an_old_context_is_not_used() {
        let source = source(quick);
        let earlier = Instant::now().checked_sub(FRESH).expect("a time");
        let mut state = lock(&source.state);
        state.ready.push_back((earlier, quick("old").unwrap()));
        drop(state);
        assert_eq!(wait_and_take(&source).unwrap().1, b"proxy");
    }

    #[test]
    fn a_proxy_without_a_name_has_no_ticket() {
        let source = Kerberos::new(&Host::Ip([192, 0, 2, 1].into()));
        let error = wait_and_take(&source).err();
        assert_eq!(error.as_deref(), Some(BY_ADDRESS));
    }
}
