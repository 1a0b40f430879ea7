//! Rung 3: the sockets are tokio 1's; the chain, `Connect` and `Relay` are still futures 0.1.
//!
//! Code that named tokio-core (listener, dial, sockets, timers) is async already, and r5's. Code that
//! named futures alone stays: the root's state machines without a change, and the chain with other
//! types of sockets. Each client is one 0.1 future, and the bridge is crossed in two places:
//! [`AsStd`] around it, [`Bridged`] around each socket inside.

#![forbid(unsafe_code)]

mod bridged;
mod chain;

use std::process;
use std::rc::Rc;
use std::sync::Arc;

use futures01::Future as Future01;
use log::error;
use ptunnel::config::{Splice, Timeouts};
use ptunnel::engine::io::{Transport as Transport01, Upstream};
use ptunnel::engine::{forwarding, ticker, Relay, TaskTimer};
use ptunnel::observe::access_log::ClientSession;
use ptunnel::observe::session::{Closed, RelayError, SessionSummary};
use ptunnel::observe::stats::TunnelBytes;
use ptunnel::proto::RequestBoundary;
use ptunnel::upstream::Tunnel;
use ptunnel::{cli, Error};
use ptunnel_r5::io::Transport;
use ptunnel_r5::{Critical, Engine, Links, Native, Opened, Settings};
use tokio_core_compat::task::AsStd;
use tokio_core_compat::time::{Current, Interval};

use self::bridged::Bridged;

/// `--test` and `/healthz/probe` open their paths with r5's chain.
fn main() {
    process::exit(cli::run(
        ptunnel_r5::run::<Rung3>,
        ptunnel_r5::open_path::<Native>,
    ));
}

/// The part of the root's `Engine` that the 0.1 links of a thread share.
struct Rung3 {
    splice: Splice,
    timeouts: Arc<Timeouts>,
    timer: TaskTimer,
}

impl Links for Rung3 {
    type Stream = chain::Stream;
    type Probe = Native;

    fn start(settings: &Settings, critical: &mut Critical) -> Rung3 {
        let period = ptunnel_r5::relay::period(&settings.timeouts);
        let timer = TaskTimer::new(period);
        let ticker = ticker(timer.clone(), |period| Interval::new(period, &Current));
        critical.spawn(async {
            if let Err(e) = AsStd::new(ticker).await {
                error!("the clock stopped: {e}");
            }
        });
        Rung3 {
            splice: settings.splice,
            timeouts: settings.timeouts.clone(),
            timer,
        }
    }

    fn within(&self, settings: &Settings) -> Rung3 {
        Rung3 {
            splice: settings.splice,
            timeouts: settings.timeouts.clone(),
            timer: self.timer.clone(),
        }
    }

    async fn carry<C: Transport + 'static>(
        engine: &Rc<Engine<Rung3>>,
        client: C,
        session: ClientSession,
        tunnel: &Tunnel,
    ) -> Result<SessionSummary, Error> {
        AsStd::new(chain::carry(engine, Bridged::new(client), session, tunnel)).await
    }

    async fn open(
        engine: &Rc<Engine<Rung3>>,
        tunnel: &Tunnel,
    ) -> Result<Opened<chain::Stream>, Error> {
        let (stream, path) = AsStd::new(chain::open(engine, tunnel)).await?;
        Ok(Opened { stream, path })
    }

    fn forwarding(stream: chain::Stream, boundary: RequestBoundary) -> chain::Stream {
        forwarding(stream, boundary)
    }

    async fn carry_opened<C: Transport + 'static>(
        &self,
        client: C,
        stream: chain::Stream,
        recorder: Option<TunnelBytes>,
    ) -> Result<Closed, RelayError> {
        let client = Bridged::new(client);
        match Upstream::bare(stream) {
            Ok(stream) => AsStd::new(self.relay_01(client, stream, recorder)).await,
            Err(stream) => Box::pin(AsStd::new(self.relay_01(client, stream, recorder))).await,
        }
    }

    async fn relay<C: Transport + 'static, U: Transport + 'static>(
        &self,
        client: C,
        upstream: U,
        recorder: Option<TunnelBytes>,
    ) -> Result<Closed, RelayError> {
        let (client, upstream) = (Bridged::new(client), Bridged::new(upstream));
        AsStd::new(self.relay_01(client, upstream, recorder)).await
    }
}

impl Rung3 {
    /// Returns the root's relay, as the root makes it.
    fn relay_01<C, U>(
        &self,
        client: C,
        upstream: U,
        recorder: Option<TunnelBytes>,
    ) -> impl Future01<Item = Closed, Error = RelayError>
    where
        C: Transport01,
        U: Transport01,
    {
        Relay::new(client, upstream)
            .splice(self.splice)
            .timeouts(&self.timeouts, &self.timer)
            .recorder(recorder)
    }
}
