//! The clients of one listener: each is accepted, checked against the ACL, and served by a task.
//!
//! A listener accepts from its start until it is closed or ptunnel shuts down; clients that are
//! connected by then are served to their end.

use std::sync::Arc;

use futures::future::{self, Either};
use futures::sync::oneshot;
use futures::{Future, Stream};
use log::error;

use crate::inbound::serve_inbound;
use crate::io::BoundSocket;
use crate::limits::deadline;
use crate::proxy_header::read_proxy_header;
use crate::{boxed, Client, Engine, Listener, Permits};
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
                let served = engine.serve_balanced(client, context, settings);
                engine.handle().spawn(served);
            } else if settings.acl.admits(&context) {
                engine
                    .handle()
                    .spawn(engine.serve(client, context, None, &settings));
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
    fn serve_balanced(
        &self,
        client: Client,
        balancer: LogContext,
        settings: Arc<ListenerSettings>,
    ) -> impl Future<Item = (), Error = ()> {
        let engine = self.with_settings(&settings);
        let Client {
            socket,
            origin,
            permit,
            reserved,
        } = client;
        let limit = engine.settings().timeouts.handshake;
        let header = read_proxy_header(socket);
        deadline(header, limit, engine.timer(), late_header).then(move |read| {
            let (socket, header) = match read {
                Ok((socket, addresses)) => (Some(socket), Ok(addresses)),
                Err(e) => (None, Err(e)),
            };
            match (socket, settings.admit(&balancer, header)) {
                (Some(socket), Some((context, addresses))) => {
                    let client = Client {
                        socket,
                        origin,
                        permit,
                        reserved,
                    };
                    Either::A(engine.serve(client, context, addresses, &settings))
                }
                _ => Either::B(future::ok(())),
            }
        })
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
    fn serve(
        &self,
        client: Client,
        context: LogContext,
        addresses: Option<ClientAddresses>,
        settings: &ListenerSettings,
    ) -> impl Future<Item = (), Error = ()> {
        let Client {
            socket,
            permit,
            reserved,
            ..
        } = client;
        let engine = self.with_settings(settings);
        let kind = settings.kind_for(addresses, || socket.addresses());
        let session = ClientSession::new(context.clone(), settings.stats.as_ref());
        let served = match &*kind {
            ListenerKind::Tunnel(tunnel) => {
                drop(reserved); // a dial takes its descriptor, or reserves one, at its first poll
                Either::A(engine.carry(socket, session, tunnel).map(drop))
            }
            // Boxed: an idle tunnel to a fixed destination must not take the memory of these
            // futures.
            ListenerKind::Dynamic(inbound) => Either::B(boxed(serve_inbound(
                &engine, reserved, socket, session, inbound,
            ))),
            ListenerKind::Redirect(redirect) => Either::B(match redirect.of(&socket) {
                Ok(inbound) => boxed(serve_inbound(&engine, reserved, socket, session, &inbound)),
                Err(e) => boxed(future::err(e)),
            }),
            ListenerKind::Proxy(inbound) => Either::B(boxed(serve_inbound(
                &engine, reserved, socket, session, inbound,
            ))),
        };
        let stats = settings.stats.clone();
        served.then(move |end| {
            drop(permit);
            if let Err(e) = end {
                access_log::unserved(&context, stats.as_ref(), &e);
            }
            Ok(())
        })
    }
}
