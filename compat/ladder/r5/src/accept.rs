//! The clients of one listener: each is accepted, checked against the ACL, and served by a task.
//!
//! A listener accepts from its start until it is closed or ptunnel shuts down; clients that are
//! connected by then are served to their end.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::yield_now;

use crate::inbound::serve_inbound;
use crate::io::BoundSocket;
use crate::limits::within;
use crate::proxy_header::read_proxy_header;
use crate::{Client, Engine, Listener, Permits};
use ptunnel_core::error::Error;
use ptunnel_core::listener::balancer::late_header;
use ptunnel_core::listener::bind::BoundListener;
use ptunnel_core::listener::kind::ListenerKind;
use ptunnel_core::listener::settings::ListenerSettings;
use ptunnel_core::observe::access_log::{self, ClientSession, LogContext};
use ptunnel_proto::proxy_protocol::ClientAddresses;

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
                if settings.is_balancer(client.origin) {
                    let serve = engine.clone().serve_balanced(client, context, settings);
                    engine.handle().spawn(serve);
                } else if settings.acl.admits(&context) {
                    let serve = engine.clone().serve(client, context, None, settings);
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

    /// Serves a client of a balancer, after the header that names the client.
    async fn serve_balanced(
        self,
        mut client: Client,
        balancer: LogContext,
        settings: Arc<ListenerSettings>,
    ) {
        let limit = self.with_settings(&settings).settings().timeouts.handshake;
        let header = read_proxy_header(&mut client.socket);
        let header = within(header, limit, late_header).await;
        if let Some((context, addresses)) = settings.admit(&balancer, header) {
            self.serve(client, context, addresses, settings).await
        }
    }

    /// Returns an engine with the limits of a listener.
    fn with_settings(&self, settings: &ListenerSettings) -> Engine {
        match &settings.limits {
            Some(limits) => self.with_limits(limits),
            None => self.clone(),
        }
    }

    /// Serves one client; `addresses` are those that a balancer named. Logs once why a client can't
    /// be served.
    async fn serve(
        self,
        client: Client,
        context: LogContext,
        addresses: Option<ClientAddresses>,
        settings: Arc<ListenerSettings>,
    ) {
        let Client {
            socket,
            permit,
            reserved,
            ..
        } = client;
        let engine = self.with_settings(&settings);
        let kind = settings.kind_for(addresses, || socket.addresses());
        let session = ClientSession::new(context.clone(), settings.stats.as_ref());
        let end = match &*kind {
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

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, AssertUnwindSafe};

    use super::*;
    use crate::io::Handle;
    use crate::Settings;
    use ptunnel_core::listener::settings::ListenerHandle;
    use ptunnel_core::upstream::Tunnel;

    /// Regression: the thread went on without the listener.
    #[test]
    fn a_panic_of_a_listener_ends_the_thread() {
        let run = || {
            Handle::run(|handle| async move {
                let engine = Engine::new(&handle, Settings::default());
                let tunnel = Tunnel::to("127.0.0.1:9".parse().unwrap()).build();
                let kind = ListenerHandle::new(ListenerKind::Tunnel(tunnel));
                let address = ([127, 0, 0, 1], 0).into();
                let socket = BoundSocket::bind(&address, false, None).unwrap();
                let listener = BoundListener::new(kind, socket);
                let stopped = async { panic!("a listener panics on purpose") };
                let accepted = engine.accept(listener, &Permits::new(None), stopped);
                accepted.unwrap();
                for _ in 0..9 {
                    yield_now().await;
                }
            })
        };
        let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"a listener panics on purpose"));
    }
}
