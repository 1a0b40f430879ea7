//! The seam of the ladder: the links of the chain that a lower rung still takes from futures 0.1.
//!
//! r3 puts in the root's `Connect` and `Relay`, in a chain of its own; r4 `Connect` alone. With
//! nobody standing below, this file and the parameter `L` would go.

use std::future::Future;
use std::rc::Rc;

use ptunnel::config::Splice;
use ptunnel::observe::access_log::ClientSession;
use ptunnel::observe::session::{Closed, RelayError, SessionSummary};
use ptunnel::observe::stats::{ByteRecorder, TunnelBytes};
use ptunnel::proto::{Negotiation, Outcome, RequestBoundary};
use ptunnel::upstream::{Hop, Tunnel};
use ptunnel::Error;

use crate::io::{Rewind, Transport, Upstream};
use crate::open::{forwarding, relay_boxed};
use crate::relay::{IdleTimeouts, Relay, TaskTimer};
use crate::{Critical, Engine, Opened, Settings};

/// How a thread's clients are carried.
pub trait Links: Sized + 'static {
    /// A stream to a destination, with what came behind the proxy's reply in front of it.
    type Way;

    /// What this thread's tunnels share; called inside its `LocalSet`.
    fn start(settings: &Settings, vital: &mut Critical) -> Self;

    /// The same with the limits of these settings. How often they are looked at stays.
    fn within(&self, settings: &Settings) -> Self;

    /// The whole chain for one client. Where there is an async [`Connect`], that is
    /// [`Engine::carry`].
    fn carry<C: Transport + 'static>(
        engine: &Rc<Engine<Self>>,
        client: C,
        session: ClientSession,
        tunnel: &Tunnel,
    ) -> impl Future<Output = Result<SessionSummary, Error>>;

    /// The chain without its last link, for clients who have something to be told in between.
    fn open(
        engine: &Rc<Engine<Self>>,
        tunnel: &Tunnel,
    ) -> impl Future<Output = Result<Opened<Self::Way>, Error>>;

    /// What was opened, for a client that may send one request, and nothing behind it.
    fn forwarding(way: Self::Way, boundary: RequestBoundary) -> Self::Way;

    /// The last link: carries bytes over the opened stream. `recorder`, if any, counts them.
    fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        way: Self::Way,
        recorder: Option<TunnelBytes>,
    ) -> impl Future<Output = Result<Closed, RelayError>>;

    /// The same, over any stream: carries bytes until both directions have ended.
    fn relay<C: Transport + 'static, U: Transport + 'static, G: ByteRecorder + Unpin + 'static>(
        &self,
        client: C,
        upstream: U,
        recorder: G,
    ) -> impl Future<Output = Result<Closed, RelayError>>;
}

/// The link before that: asks the proxy of `hop` for its target, over a stream that it takes.
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
    timeouts: Rc<IdleTimeouts>,
    timer: TaskTimer,
}

impl Links for Native {
    type Way = Rewind<Upstream>;

    fn start(settings: &Settings, vital: &mut Critical) -> Native {
        let timeouts = IdleTimeouts::of(&settings.timeouts);
        let timer = TaskTimer::new(timeouts);
        vital.spawn(timer.clone().run());
        Native {
            splice: settings.splice,
            timeouts: Rc::new(timeouts),
            timer,
        }
    }

    fn within(&self, settings: &Settings) -> Native {
        Native {
            splice: settings.splice,
            timeouts: Rc::new(IdleTimeouts::of(&settings.timeouts)),
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

    fn forwarding(way: Rewind<Upstream>, boundary: RequestBoundary) -> Rewind<Upstream> {
        forwarding(way, boundary)
    }

    async fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        way: Rewind<Upstream>,
        recorder: Option<TunnelBytes>,
    ) -> Result<Closed, RelayError> {
        match (Upstream::bare(way), recorder) {
            (Ok(stream), None) => self.relay(client, stream, ()).await,
            (stream, recorder) => relay_boxed(self, client, stream, recorder).await,
        }
    }

    fn relay<C: Transport + 'static, U: Transport + 'static, G: ByteRecorder + Unpin + 'static>(
        &self,
        client: C,
        upstream: U,
        recorder: G,
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
