//! Rung 4: everything is `async fn` but one link of the chain, the root's `Connect`.
//!
//! It is a typical last part to migrate: a state machine that works, is tested, and is better left
//! alone in the same change. It takes any stream and returns it, so the bridge adapts one for as long
//! as the negotiation lasts: a tokio 1 stream goes in, and comes out unwrapped. An open tunnel crosses
//! no bridge.

#![forbid(unsafe_code)]

use std::future::Future;
use std::process;
use std::rc::Rc;

use ptunnel::cli;
use ptunnel::engine::Connect as Connect01;
use ptunnel::observe::access_log::ClientSession;
use ptunnel::observe::session::{Closed, RelayError, SessionSummary};
use ptunnel::observe::stats::TunnelBytes;
use ptunnel::proto::{Negotiation, Outcome, RequestBoundary};
use ptunnel::upstream::{Hop, Tunnel};
use ptunnel::Error;
use ptunnel_r5::io::{Rewind, Transport, Upstream};
use ptunnel_r5::{Connect, Critical, Engine, Links, Native, Opened, Settings};
use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
use tokio_core_compat::task::AsStd;

fn main() {
    process::exit(cli::run(
        ptunnel_r5::run::<Rung4>,
        ptunnel_r5::open_path::<Rung4>,
    ));
}

/// The links of r5, but one.
struct Rung4(Native);

impl Connect for Rung4 {
    async fn connect(
        &self,
        stream: Rewind<Upstream>,
        negotiation: Negotiation,
        hop: &Hop,
    ) -> Result<Outcome<Rewind<Rewind<Upstream>>>, Error> {
        // `Connect` never shuts its stream down: either policy would do.
        let stream = AsIo01::new(stream, ShutdownPolicy::Fin);
        let asked = AsStd::new(Connect01::new(stream, negotiation)).await;
        let asked = asked.map_err(|failure| failure.at(hop.peer(), hop.target().clone()))?;
        Ok(match asked {
            Outcome::Granted(granted) => {
                // What came behind the head is in the 0.1 `Rewind`: without it, payload would be
                // lost.
                let (stream, front) = granted.into_parts();
                Outcome::Granted(Rewind::new(stream.into_inner(), front))
            }
            Outcome::Redial(negotiation) => Outcome::Redial(negotiation),
        })
    }
}

impl Links for Rung4 {
    type Stream = Rewind<Upstream>;
    type Probe = Rung4;

    fn start(settings: &Settings, critical: &mut Critical) -> Rung4 {
        Rung4(Native::start(settings, critical))
    }

    fn within(&self, settings: &Settings) -> Rung4 {
        Rung4(self.0.within(settings))
    }

    async fn carry<C: Transport + 'static>(
        engine: &Rc<Engine<Rung4>>,
        client: C,
        session: ClientSession,
        tunnel: &Tunnel,
    ) -> Result<SessionSummary, Error> {
        engine.carry(client, session, tunnel).await
    }

    async fn open(engine: &Rc<Engine<Rung4>>, tunnel: &Tunnel) -> Result<Opened, Error> {
        engine.open(tunnel).await
    }

    fn forwarding(stream: Rewind<Upstream>, boundary: RequestBoundary) -> Rewind<Upstream> {
        Native::forwarding(stream, boundary)
    }

    fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        stream: Rewind<Upstream>,
        recorder: Option<TunnelBytes>,
    ) -> impl Future<Output = Result<Closed, RelayError>> {
        self.0.carry_opened(client, stream, recorder)
    }

    fn relay<C: Transport + 'static, U: Transport + 'static>(
        &self,
        client: C,
        upstream: U,
        recorder: Option<TunnelBytes>,
    ) -> impl Future<Output = Result<Closed, RelayError>> {
        self.0.relay(client, upstream, recorder)
    }
}
