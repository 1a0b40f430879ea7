//! The clients of one listener: each is accepted, checked against the ACL, and served by a task.
//!
//! A listener accepts from its start until it is closed or ptunnel shuts down; clients that are
//! connected by then are served to their end.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::yield_now;

use super::inbound::serve_inbound;
use super::{Client, Engine, Listener, Permits};
use crate::engine::io::BoundSocket;
use crate::error::Error;
use crate::listener::bind::BoundListener;
use crate::listener::kind::ListenerKind;
use crate::listener::settings::ListenerSettings;
use crate::observe::access_log::{self, ClientSession, LogContext};

impl Engine {
    /// Serves the clients of a listener, from its start until it is closed or `stopped` resolves.
    ///
    /// # Errors
    ///
    /// `Error::listen` if the socket can't be registered with the runtime.
    pub fn accept(
        &self,
        listener: BoundListener<BoundSocket>,
        permits: &Permits,
        stopped: impl Future<Output = ()> + 'static,
    ) -> Result<(), Error> {
        let BoundListener {
            handle,
            open,
            listening,
        } = listener;
        let name = listening.name();
        let mut clients =
            Listener::new(listening, permits, self.handle()).map_err(|e| Error::listen(name, e))?;
        let (sender, started) = oneshot::channel::<()>();
        handle.on_start(move || drop(sender));
        let (sender, closed) = oneshot::channel::<()>();
        handle.on_close(move || drop(sender));
        let engine = self.clone();
        let serve_each = async move {
            let _ = started.await;
            loop {
                let client = clients.next().await;
                let settings = handle.settings();
                let context = LogContext::new(client.origin, settings.name.clone());
                if settings.acl.admits(&context) {
                    let serve = engine.clone().serve(client, context, settings);
                    engine.handle().spawn(serve);
                    // It takes its descriptors before the next client is accepted.
                    yield_now().await;
                }
            }
        };
        self.handle().spawn_critical(async move {
            // The future that loses is dropped here, and the listening socket closed with it.
            tokio::select! {
                () = serve_each => {}
                _ = closed => {}
                () = stopped => {}
            }
            drop(open);
        });
        Ok(())
    }

    /// Serves one client. Logs once why a client can't be served.
    async fn serve(self, client: Client, context: LogContext, settings: Arc<ListenerSettings>) {
        let Client {
            socket,
            permit,
            reserved,
            ..
        } = client;
        let engine = match &settings.limits {
            Some(limits) => self.with_limits(limits),
            None => self,
        };
        let session = ClientSession::new(context.clone(), settings.stats.as_ref());
        let end = match &settings.kind {
            ListenerKind::Tunnel(tunnel) => {
                drop(reserved); // a dial takes its descriptor, or reserves one, at its first poll
                engine.carry(socket, session, tunnel).await.map(drop)
            }
            // Boxed: an idle tunnel to a fixed destination must not take the memory of these
            // futures.
            ListenerKind::Dynamic(inbound) => {
                Box::pin(serve_inbound(&engine, reserved, socket, session, inbound)).await
            }
            ListenerKind::Redirect(redirect) => match redirect.of(&socket) {
                Ok(inbound) => {
                    Box::pin(serve_inbound(&engine, reserved, socket, session, &inbound)).await
                }
                Err(e) => Err(e),
            },
            ListenerKind::Proxy(inbound) => {
                Box::pin(serve_inbound(&engine, reserved, socket, session, inbound)).await
            }
        };
        drop(permit);
        if let Err(e) = end {
            access_log::unserved(&context, settings.stats.as_ref(), &e);
        }
    }
}
