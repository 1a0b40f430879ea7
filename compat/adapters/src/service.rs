//! Services of one generation, called by the other.
//!
//! | you have | and want to | wrap it in |
//! |---|---|---|
//! | a service of tokio-service (hyper 0.11, tokio-proto) | use it as tower's | [`AsTower`] |
//! | a service of tower | use it as tokio-service's | [`As01Service`] |
//! | a `NewService` of tokio-service | use it where tower asks for a `MakeService` | [`AsTowerMake`] |
//! | a service of tower | use it where tokio-service asks for a `NewService` | a closure: `move \|\| Ok(As01Service::new(service.clone()))` |
//!
//! For tower a `MakeService` is a service whose response is a service; hyper 0.14 and axum take one.
//! Any closure of that kind is a `NewService`. A `MakeService` of tower is not, in general:
//! `new_service` returns its service at once, and a `MakeService` may have to wait.

use std::future::{ready, Future, Ready};
use std::io;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio_service::{NewService as NewService01, Service as Service01};
use tower_service::Service;

use crate::task::{As01, AsStd};

/// A service of tokio-service, as one of tower's.
///
/// It is always ready: tokio-service has no other way to say that it is not than a future that
/// waits. The service is called inside of a 0.1 task, the one that its future then runs in.
///
/// *Cost*: three allocations a call, those of [`AsStd`]. *Cancellation*: dropping the future of a call
/// drops the 0.1 future. *Ownership*: this owns the service; [`into_inner`](AsTower::into_inner) gives
/// it back.
///
/// ```
/// use tokio_core_compat::service::AsTower;
/// use tower_service::Service as _;
///
/// /// As it was.
/// struct Double;
///
/// impl tokio_service::Service for Double {
///     type Request = u32;
///     type Response = u32;
///     type Error = ();
///     type Future = futures01::future::FutureResult<u32, ()>;
///
///     fn call(&self, n: u32) -> Self::Future {
///         futures01::future::ok(2 * n)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(AsTower::new(Double).call(21).await, Ok(42));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AsTower<S> {
    service: S,
}

impl<S> AsTower<S> {
    /// Wraps a service of tokio-service.
    pub fn new(service: S) -> AsTower<S> {
        AsTower { service }
    }

    /// The service inside.
    pub fn get_ref(&self) -> &S {
        &self.service
    }

    /// Gives the service back.
    pub fn into_inner(self) -> S {
        self.service
    }
}

impl<S: Service01> Service<S::Request> for AsTower<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = AsStd<S::Future>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: S::Request) -> AsStd<S::Future> {
        AsStd::made_by(|| self.service.call(request))
    }
}

/// A `NewService` of tokio-service, as a `MakeService` of tower: a service whose response is an
/// [`AsTower`], for each request a new one.
///
/// It is always ready, and does not look at the request, which is the connection for most servers.
///
/// *Cost*: none beside that of `new_service`. *Cancellation*: `new_service` is called at once, and has
/// returned before its future can be dropped. *Ownership*: this owns the `NewService`;
/// [`into_inner`](AsTowerMake::into_inner) gives it back.
///
/// ```
/// use futures01::future::{ok, FutureResult};
/// use tokio_core_compat::service::AsTowerMake;
/// use tower_service::Service as _;
/// # struct Double;
/// #
/// # impl tokio_service::Service for Double {
/// #     type Request = u32;
/// #     type Response = u32;
/// #     type Error = ();
/// #     type Future = FutureResult<u32, ()>;
/// #
/// #     fn call(&self, n: u32) -> Self::Future {
/// #         ok(2 * n)
/// #     }
/// # }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// // `Double` is a service of tokio-service.
/// let mut make = AsTowerMake::new(|| Ok(Double));
/// let mut service = make.call("a connection").await?;
/// assert_eq!(service.call(21).await, Ok(42));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AsTowerMake<N> {
    new_service: N,
}

impl<N: NewService01> AsTowerMake<N> {
    /// Wraps a `NewService` of tokio-service: a closure, for example.
    pub fn new(new_service: N) -> AsTowerMake<N> {
        AsTowerMake { new_service }
    }
}

impl<N> AsTowerMake<N> {
    /// The `NewService` inside.
    pub fn get_ref(&self) -> &N {
        &self.new_service
    }

    /// Gives the `NewService` back.
    pub fn into_inner(self) -> N {
        self.new_service
    }
}

impl<N: NewService01, Target> Service<Target> for AsTowerMake<N> {
    type Response = AsTower<N::Instance>;
    type Error = io::Error;
    type Future = Ready<io::Result<AsTower<N::Instance>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Target) -> Self::Future {
        ready(self.new_service.new_service().map(AsTower::new))
    }
}

/// A service of tower, as one of tokio-service.
///
/// Each call is made of a clone, as soon as that clone is ready: services of tower that limit or
/// queue share their state among clones.
///
/// *Cost*: a clone of the service and one allocation a call, beside those of [`As01`]. *Cancellation*:
/// dropping the future of a call drops the clone and what it does. *Ownership*: this owns the service;
/// [`into_inner`](As01Service::into_inner) gives it back.
///
/// ```
/// use futures01::Future as _;
/// use tokio_core_compat::service::As01Service;
/// use tokio_service::Service as _;
/// # use std::{convert::Infallible, future::{ready, Ready}, task::{Context, Poll}};
/// #
/// # #[derive(Clone)]
/// # struct Double;
/// #
/// # impl tower_service::Service<u32> for Double {
/// #     type Response = u32;
/// #     type Error = Infallible;
/// #     type Future = Ready<Result<u32, Infallible>>;
/// #     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
/// #         Poll::Ready(Ok(()))
/// #     }
/// #     fn call(&mut self, n: u32) -> Self::Future {
/// #         ready(Ok(2 * n))
/// #     }
/// # }
///
/// // `Double` is a service of tower.
/// assert_eq!(As01Service::new(Double).call(21).wait(), Ok(42));
/// ```
#[derive(Debug)]
pub struct As01Service<S, Request> {
    service: S,
    request: PhantomData<fn(Request)>,
}

impl<S: Service<Request> + Clone, Request> As01Service<S, Request> {
    /// Wraps a service of tower.
    pub fn new(service: S) -> As01Service<S, Request> {
        As01Service {
            service,
            request: PhantomData,
        }
    }
}

impl<S, Request> As01Service<S, Request> {
    /// The service inside.
    pub fn get_ref(&self) -> &S {
        &self.service
    }

    /// Gives the service back.
    pub fn into_inner(self) -> S {
        self.service
    }
}

impl<S: Clone, Request> Clone for As01Service<S, Request> {
    fn clone(&self) -> As01Service<S, Request> {
        As01Service {
            service: self.service.clone(),
            request: PhantomData,
        }
    }
}

impl<S: Service<Request> + Clone, Request> Service01 for As01Service<S, Request> {
    type Request = Request;
    type Response = S::Response;
    type Error = S::Error;
    type Future = As01<Calling<S, Request>>;

    fn call(&self, request: Request) -> Self::Future {
        As01::new(Calling(State::Waiting(self.service.clone(), Some(request))))
    }
}

/// A call of a service of tower that waits until the service is ready, made by [`As01Service`].
#[must_use = "futures do nothing unless polled"]
pub struct Calling<S: Service<Request>, Request>(State<S, Request>);

/// ```text
/// Waiting ──ready──▶ Running ──ready──▶ its result
/// ```
enum State<S: Service<Request>, Request> {
    /// The request is `None` only while the state changes.
    Waiting(S, Option<Request>),
    Running(Pin<Box<S::Future>>),
}

/// The one that is pinned has a box.
impl<S: Service<Request>, Request> Unpin for Calling<S, Request> {}

impl<S: Service<Request>, Request> Future for Calling<S, Request> {
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let state = &mut self.get_mut().0;
        if let State::Waiting(service, request) = state {
            std::task::ready!(service.poll_ready(cx))?;
            let request = request
                .take()
                .expect("service::Calling was polled after a panic of its service");
            *state = State::Running(Box::pin(service.call(request)));
        }
        match state {
            State::Running(future) => future.as_mut().poll(cx),
            State::Waiting(..) => unreachable!("changed above"),
        }
    }
}

impl<S: Service<Request>, Request> std::fmt::Debug for Calling<S, Request> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calling").finish_non_exhaustive()
    }
}
