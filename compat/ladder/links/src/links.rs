//! The seam of the ladder: the parts of a tunnel that a lower rung still takes from futures 0.1.
//!
//! r3 uses the root's `Connect` and `Relay`, in a chain of its own; r4 `Connect` alone. Without
//! lower rungs, this file and the parameter `L` would go.

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use ptunnel::config::{Splice, Timeouts};
use ptunnel::observe::access_log::ClientSession;
use ptunnel::observe::session::{Closed, RelayError, SessionSummary};
use ptunnel::observe::stats::TunnelBytes;
use ptunnel::proto::{Negotiation, Outcome, RequestBoundary};
use ptunnel::upstream::{Hop, Tunnel};
use ptunnel::Error;

use crate::io::{Rewind, Transport, Upstream};
use crate::relay::{Relay, TaskTimer};
use crate::session::forwarding;
use crate::{Critical, Engine, Opened, Settings};

/// How a thread's clients are carried.
pub trait Links: Sized + 'static {
    /// A stream to a destination; bytes that came with the proxy's reply are read first.
    type Stream;

    /// The links with which `/healthz/probe` opens its paths.
    type Probe: Connect;

    /// Returns what this thread's tunnels share; called inside its `LocalSet`.
    fn start(settings: &Settings, critical: &mut Critical) -> Self;

    /// Returns the same with the limits of these settings. The timer keeps its period.
    fn within(&self, settings: &Settings) -> Self;

    /// Carries one client from its tunnel's opening to its end. With an async [`Connect`], that is
    /// [`Engine::carry`].
    fn carry<C: Transport + 'static>(
        engine: &Rc<Engine<Self>>,
        client: C,
        session: ClientSession,
        tunnel: &Tunnel,
    ) -> impl Future<Output = Result<SessionSummary, Error>>;

    /// Opens the tunnel without relaying, for clients that get a reply in between.
    fn open(
        engine: &Rc<Engine<Self>>,
        tunnel: &Tunnel,
    ) -> impl Future<Output = Result<Opened<Self::Stream>, Error>>;

    /// Returns the opened stream, for a client that may send one request and nothing after it.
    fn forwarding(stream: Self::Stream, boundary: RequestBoundary) -> Self::Stream;

    /// The last link: carries bytes over the opened stream. `recorder`, if any, counts them.
    fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        stream: Self::Stream,
        recorder: Option<TunnelBytes>,
    ) -> impl Future<Output = Result<Closed, RelayError>>;

    /// The same, over any stream.
    fn relay<C: Transport + 'static, U: Transport + 'static>(
        &self,
        client: C,
        upstream: U,
        recorder: Option<TunnelBytes>,
    ) -> impl Future<Output = Result<Closed, RelayError>>;
}

/// The link before that: requests the target of `hop` from its proxy, over a stream that it takes.
pub trait Connect: Links {
    /// See [`connect`](crate::connect()).
    fn connect(
        &self,
        stream: Rewind<Upstream>,
        negotiation: Negotiation,
        hop: &Hop,
    ) -> impl Future<Output = Result<Outcome<Rewind<Rewind<Upstream>>>, Error>>;
}

/// The links of this rung.
pub struct Native {
    splice: Splice,
    timeouts: Arc<Timeouts>,
    timer: TaskTimer,
}

impl Links for Native {
    type Stream = Rewind<Upstream>;
    type Probe = Native;

    fn start(settings: &Settings, critical: &mut Critical) -> Native {
        let timer = TaskTimer::new(&settings.timeouts);
        critical.spawn(timer.clone().run());
        Native {
            splice: settings.splice,
            timeouts: settings.timeouts.clone(),
            timer,
        }
    }

    fn within(&self, settings: &Settings) -> Native {
        Native {
            splice: settings.splice,
            timeouts: settings.timeouts.clone(),
            timer: self.timer.clone(),
        }
    }

    async fn carry<C: Transport + 'static>(
        engine: &Rc<Engine<Native>>,
        client: C,
        session: ClientSession,
        tunnel: &Tunnel,
    ) -> Result<SessionSummary, Error> {
        engine.carry(client, session, tunnel).await
    }

    async fn open(engine: &Rc<Engine<Native>>, tunnel: &Tunnel) -> Result<Opened, Error> {
        engine.open(tunnel).await
    }

    fn forwarding(stream: Rewind<Upstream>, boundary: RequestBoundary) -> Rewind<Upstream> {
        forwarding(stream, boundary)
    }

    async fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        stream: Rewind<Upstream>,
        recorder: Option<TunnelBytes>,
    ) -> Result<Closed, RelayError> {
        match Upstream::bare(stream) {
            Ok(stream) => self.relay(client, stream, recorder).await,
            Err(stream) => Box::pin(self.relay(client, stream, recorder)).await,
        }
    }

    fn relay<C: Transport + 'static, U: Transport + 'static>(
        &self,
        client: C,
        upstream: U,
        recorder: Option<TunnelBytes>,
    ) -> impl Future<Output = Result<Closed, RelayError>> {
        let (splice, timeouts) = (self.splice, &self.timeouts);
        Relay::new(client, upstream, recorder, splice, timeouts, &self.timer)
    }
}

impl Connect for Native {
    async fn connect(
        &self,
        stream: Rewind<Upstream>,
        negotiation: Negotiation,
        hop: &Hop,
    ) -> Result<Outcome<Rewind<Rewind<Upstream>>>, Error> {
        crate::connect(stream, negotiation, hop).await
    }
}
