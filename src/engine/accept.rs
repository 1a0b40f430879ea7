//! The clients of one listener: each is accepted, checked against the ACL, and served by a task.
//!
//! A listener accepts from its start until it is closed or ptunnel shuts down; clients that are
//! connected by then are served to their end.

use futures::future::{self, Either};
use futures::sync::oneshot;
use futures::{Future, Stream};
use log::error;

use super::inbound::serve_inbound;
use super::{boxed, Client, Engine, Listener, Permits};
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
            if settings.acl.admits(&context) {
                engine
                    .handle()
                    .spawn(engine.serve(client, context, &settings));
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

    /// Serves one client. Logs once why a client can't be served.
    fn serve(
        &self,
        client: Client,
        context: LogContext,
        settings: &ListenerSettings,
    ) -> impl Future<Item = (), Error = ()> {
        let Client {
            socket,
            permit,
            reserved,
            ..
        } = client;
        let engine = match &settings.limits {
            Some(limits) => self.with_limits(limits),
            None => self.clone(),
        };
        let session = ClientSession::new(context.clone(), settings.stats.as_ref());
        let served = match &settings.kind {
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
