//! Security contexts with a proxy that requires Kerberos, made on threads: a KDC may be slow.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::os::mutex::lock;
use crate::os::sys::GssContext;
use crate::proto::auth::{ContextSource, NewContext, SecurityContext};

/// How long a failure counts, before a context is sought again: a KDC that is down isn't asked for
/// each tunnel.
const FAILURE: Duration = Duration::from_secs(5);
/// How old a context may become whose tunnel ended before it was used: its token has the time, and
/// acceptors take 5 minutes at most (RFC 4120 §3.2.3).
const FRESH: Duration = Duration::from_secs(60);

type WakeFn = Box<dyn FnOnce() + Send>;

/// Makes security contexts with one proxy, one for each tunnel: an acceptor refuses a token that it
/// has had before.
#[derive(Clone)]
pub(super) struct Kerberos {
    /// The proxy's name.
    host: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    ready: VecDeque<(Instant, NewContext)>,
    failure: Option<(Instant, String)>,
    waiting: Vec<WakeFn>,
    is_working: bool,
}

impl Kerberos {
    pub(super) fn new(host: String) -> Kerberos {
        Kerberos {
            host,
            state: Arc::default(),
        }
    }

    /// Makes as many contexts as tunnels wait for, wakes these, and goes on while others wait.
    fn work(self) {
        loop {
            let count = lock(&self.state).waiting.len();
            let made: Result<Vec<_>, _> = (0..count).map(|_| initiate(&self.host)).collect();
            let mut state = lock(&self.state);
            let now = Instant::now();
            match made {
                Ok(made) => state.ready.extend(made.into_iter().map(|new| (now, new))),
                Err(why) => state.failure = Some((now, why)),
            }
            let waiting: Vec<WakeFn> = state.waiting.drain(..count).collect();
            let is_over = state.waiting.is_empty();
            state.is_working = !is_over;
            drop(state);
            waiting.into_iter().for_each(|wake| wake());
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
        self.failure = self.failure.take().filter(|(at, _)| at.elapsed() < FAILURE);
    }
}

impl ContextSource for Kerberos {
    fn is_ready(&self, wake: &mut dyn FnMut() -> WakeFn) -> bool {
        let mut state = lock(&self.state);
        state.renew();
        if !state.ready.is_empty() || state.failure.is_some() {
            return true;
        }
        state.waiting.push(wake());
        if !state.is_working {
            let name = "kerberos".to_string();
            let source = self.clone();
            let started = thread::Builder::new().name(name).spawn(|| source.work());
            match started {
                Ok(_) => state.is_working = true,
                Err(e) => {
                    state.waiting.pop();
                    state.failure = Some((Instant::now(), e.to_string()));
                    return true;
                }
            }
        }
        false
    }

    fn take(&self) -> Result<NewContext, String> {
        let mut state = lock(&self.state);
        state.renew();
        if let Some((_, ready)) = state.ready.pop_front() {
            return Ok(ready);
        }
        if let Some((_, why)) = &state.failure {
            return Err(why.clone());
        }
        drop(state);
        // Another thread's tunnel has taken it, or the tunnel waited no longer. The ticket is cached
        // by now, as a rule.
        initiate(&self.host)
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
        f.debug_struct("Kerberos")
            .field("host", &self.host)
            .finish()
    }
}
