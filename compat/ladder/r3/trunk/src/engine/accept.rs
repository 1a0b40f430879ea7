//! The clients of one listener: each is accepted, checked against the ACL, and served by a task.
//!
//! A listener accepts from its start until it is closed or ptunnel shuts down; clients that are
//! connected by then are served to their end.

use std::sync::Arc;

use futures::sync::oneshot;
use futures::{Future, Stream};
use log::error;
use tokio_core_compat::task::AsStd;

use super::inbound::serve_inbound;
use super::limits::within;
use super::proxy_header::read_proxy_header;
use super::{Client, Engine, Listener, Permits};
use crate::engine::io::BoundSocket;
use crate::error::Error;
use crate::listener::balancer::late_header;
use crate::listener::bind::BoundListener;
use crate::listener::kind::ListenerKind;
use crate::listener::settings::ListenerSettings;
use crate::observe::access_log::{self, ClientSession, LogContext};
use crate::proto::proxy_protocol::ClientAddresses;

impl Engine {
    /// Serves the clients of a listener, from its start until it is closed or `stopped` resolves.
    ///
    /// # Errors
    ///
    /// `Error::listen` if the socket can't be registered with epoll.
    pub fn accept(
        &self,
        listener: BoundListener<BoundSocket>,
        permits: &Permits,
        stopped: impl Future<Item = (), Error = ()> + 'static,
    ) -> Result<(), Error> {
        let BoundListener {
            handle,
            open,
            listening,
        } = listener;
        let name = listening.name();
        let clients =
            Listener::new(listening, permits, self.handle()).map_err(|e| Error::listen(name, e))?;
        let (sender, started) = oneshot::channel::<()>();
        handle.on_start(move || drop(sender));
        let (sender, closed) = oneshot::channel::<()>();
        handle.on_close(move || drop(sender));
        let closed = closed.then(|_| Ok(()));
        let stopped = stopped.select(closed).then(|_| Ok(()));
        let engine = self.clone();
        let serve_each = clients.for_each(move |client| {
            let settings = handle.settings();
            let context = LogContext::new(client.origin, settings.name.clone());
            if settings.is_balancer(client.origin) {
                let serve = engine.clone().serve_balanced(client, context, settings);
                engine.handle().spawn(serve);
            } else if settings.acl.admits(&context) {
                let serve = engine.clone().serve(client, context, None, settings);
                engine.handle().spawn(serve);
            }
            Ok(())
        });
        let serve_each = started.then(|_| serve_each);
        // The future that loses is dropped here, and the listening socket closed with it.
        let accepting = serve_each.select(stopped).then(move |end| {
            if let Err((e, _)) = &end {
                error!("a listener stopped: {}", e);
            }
            drop(end);
            drop(open);
            Ok(())
        });
        self.handle().spawn_critical(accepting);
        Ok(())
    }

    /// Serves a client of a balancer, after the header that names the client.
    async fn serve_balanced(
        self,
        client: Client,
        balancer: LogContext,
        settings: Arc<ListenerSettings>,
    ) {
        let limit = self.with_settings(&settings).settings().timeouts.handshake;
        let header = AsStd::new(read_proxy_header(client.socket));
        let (socket, header) = match within(header, limit, late_header).await {
            Ok((socket, addresses)) => (Some(socket), Ok(addresses)),
            Err(e) => (None, Err(e)),
        };
        let admitted = settings.admit(&balancer, header);
        if let (Some(socket), Some((context, addresses))) = (socket, admitted) {
            let client = Client { socket, ..client };
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
                let served = serve_inbound(&engine, reserved, socket, session, inbound);
                AsStd::new(Box::new(served)).await
            }
            ListenerKind::Redirect(redirect) => match redirect.of(&socket) {
                Ok(inbound) => {
                    let served = serve_inbound(&engine, reserved, socket, session, &inbound);
                    AsStd::new(Box::new(served)).await
                }
                Err(e) => Err(e),
            },
            ListenerKind::Proxy(inbound) => {
                let served = serve_inbound(&engine, reserved, socket, session, inbound);
                AsStd::new(Box::new(served)).await
            }
        };
        drop(permit);
        if let Err(e) = end {
            access_log::unserved(&context, settings.stats.as_ref(), &e);
        }
    }
}
