//! Extension traits: constructors of wrappers, as methods of what they wrap.
//!
//! | you have | method | makes |
//! |---|---|---|
//! | a 0.1 future | [`into_std`](Future01Ext::into_std) | [`AsStd`] |
//! | a 0.1 stream | [`into_std_stream`](Stream01Ext::into_std_stream) | [`AsStd`] |
//! | a 0.1 sink | [`into_std_sink`](Sink01Ext::into_std_sink) | [`AsStdSink`] |
//! | a std future of a `Result` | [`into_01`](StdFutureExt::into_01) | [`As01`], boxed |
//! | a std stream of `Result`s | [`into_01_stream`](StdStreamExt::into_01_stream) | [`As01`], boxed |
//! | a std sink | [`into_01_sink`](StdSinkExt::into_01_sink) | [`As01Sink`] |
//! | a tokio-io 0.1 stream | [`into_tokio`](Io01Ext::into_tokio) | [`io::AsTokio`](crate::io::AsTokio) |
//! | a tokio 1 stream | [`into_io_01`](TokioIoExt::into_io_01) | [`io::AsIo01`](crate::io::AsIo01) |
//! | a tokio 1 listener | `into_listener_01` | `net::AsListener01` (feature `net`) |
//! | a tokio 1 socket for datagrams | `into_datagram_01` | `net::AsDatagram01` (feature `net`) |
//! | a service of tokio-service | `into_tower` | `service::AsTower` (feature `service`) |
//! | a `NewService` of tokio-service | `into_tower_make` | `service::AsTowerMake` (feature `service`) |
//! | a service of tower | `into_service_01` | `service::As01Service` (feature `service`) |
//!
//! Cost, cancellation and ownership are those of the wrapper. No method and no trait has a name that
//! futures-util or futures 0.1 uses, so all of them can be imported together. A type that is both a
//! future and a stream has both methods.
//!
//! ```
//! use futures01::Future as _;
//! use tokio_core_compat::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let old = futures01::future::ok::<u32, ()>(40).map(|n| n + 1);
//! let new = async move { Ok::<_, ()>(old.into_std().await? + 1) };
//! assert_eq!(new.into_01().into_std().await, Ok(42));
//! # }
//! ```

use std::pin::Pin;

use futures01::{Future as Future01, Sink as Sink01, Stream as Stream01};
use futures_core::{TryFuture, TryStream};
use futures_sink::Sink;

#[cfg(feature = "io")]
use crate::io::{AsIo01, AsTokio, HalfClose, ShutdownPolicy};
#[cfg(all(unix, feature = "net"))]
use crate::net::{Accept, AsDatagram01, AsListener01, Datagram};
#[cfg(feature = "service")]
use crate::service::{As01Service, AsTower, AsTowerMake};
use crate::task::{As01, As01Sink, AsStd, AsStdSink};

/// [`AsStd::new`] as a method of 0.1 futures.
pub trait Future01Ext: Future01 + Sized {
    /// Makes a std future of this one.
    fn into_std(self) -> AsStd<Self> {
        AsStd::new(self)
    }
}

impl<F: Future01> Future01Ext for F {}

/// [`AsStd::new`] as a method of 0.1 streams.
pub trait Stream01Ext: Stream01 + Sized {
    /// Makes a std stream of this one.
    fn into_std_stream(self) -> AsStd<Self> {
        AsStd::new(self)
    }
}

impl<S: Stream01> Stream01Ext for S {}

/// [`AsStdSink::new`] as a method of 0.1 sinks.
pub trait Sink01Ext: Sink01 + Sized {
    /// Makes a std sink of this one.
    fn into_std_sink(self) -> AsStdSink<Self> {
        AsStdSink::new(self)
    }
}

impl<S: Sink01> Sink01Ext for S {}

/// [`As01::pin`] as a method of std futures.
pub trait StdFutureExt: TryFuture + Sized {
    /// Makes a 0.1 future of this one, in a box. [`As01::new`] saves the box for a future
    /// that is `Unpin`.
    fn into_01(self) -> As01<Pin<Box<Self>>> {
        As01::pin(self)
    }
}

impl<F: TryFuture> StdFutureExt for F {}

/// [`As01::pin`] as a method of std streams.
pub trait StdStreamExt: TryStream + Sized {
    /// Makes a 0.1 stream of this one, in a box. [`As01::new`] saves the box for a stream
    /// that is `Unpin`.
    fn into_01_stream(self) -> As01<Pin<Box<Self>>> {
        As01::pin(self)
    }
}

impl<S: TryStream> StdStreamExt for S {}

/// [`As01Sink::new`] as a method of std sinks.
pub trait StdSinkExt<Item>: Sink<Item> + Sized {
    /// Makes a 0.1 sink of this one. A sink that is not `Unpin` has to be boxed and pinned first.
    fn into_01_sink(self) -> As01Sink<Self, Item>
    where
        Self: Unpin,
    {
        As01Sink::new(self)
    }
}

impl<S: Sink<Item>, Item> StdSinkExt<Item> for S {}

/// [`AsTokio::new`] as a method of tokio-io 0.1 streams.
#[cfg(feature = "io")]
pub trait Io01Ext: tokio_io::AsyncRead + tokio_io::AsyncWrite + Sized {
    /// Makes a tokio 1 stream of this one.
    fn into_tokio(self, policy: ShutdownPolicy) -> AsTokio<Self>
    where
        Self: HalfClose,
    {
        AsTokio::new(self, policy)
    }
}

#[cfg(feature = "io")]
impl<S: tokio_io::AsyncRead + tokio_io::AsyncWrite> Io01Ext for S {}

/// [`AsIo01::new`] as a method of tokio 1 streams.
#[cfg(feature = "io")]
pub trait TokioIoExt: tokio::io::AsyncRead + tokio::io::AsyncWrite + Sized {
    /// Makes a tokio-io 0.1 stream of this one.
    fn into_io_01(self, policy: ShutdownPolicy) -> AsIo01<Self> {
        AsIo01::new(self, policy)
    }
}

#[cfg(feature = "io")]
impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite> TokioIoExt for S {}

/// [`AsListener01::new`] as a method of tokio 1 listeners.
#[cfg(all(unix, feature = "net"))]
pub trait ListenerExt: Accept + Sized {
    /// Makes a 0.1 listener of this one, whose connections have this policy.
    fn into_listener_01(self, policy: ShutdownPolicy) -> AsListener01<Self> {
        AsListener01::new(self, policy)
    }
}

#[cfg(all(unix, feature = "net"))]
impl<L: Accept> ListenerExt for L {}

/// [`AsDatagram01::new`] as a method of tokio 1 sockets for datagrams.
#[cfg(all(unix, feature = "net"))]
pub trait DatagramExt: Datagram + Sized {
    /// Makes a 0.1 socket of this one.
    fn into_datagram_01(self) -> AsDatagram01<Self> {
        AsDatagram01::new(self)
    }
}

#[cfg(all(unix, feature = "net"))]
impl<S: Datagram> DatagramExt for S {}

/// [`AsTower::new`] as a method of services of tokio-service.
#[cfg(feature = "service")]
pub trait Service01Ext: tokio_service::Service + Sized {
    /// Makes a service of tower of this one.
    fn into_tower(self) -> AsTower<Self> {
        AsTower::new(self)
    }
}

#[cfg(feature = "service")]
impl<S: tokio_service::Service> Service01Ext for S {}

/// [`AsTowerMake::new`] as a method of tokio-service's `NewService`.
#[cfg(feature = "service")]
pub trait NewService01Ext: tokio_service::NewService + Sized {
    /// Makes a `MakeService` of tower of this one.
    fn into_tower_make(self) -> AsTowerMake<Self> {
        AsTowerMake::new(self)
    }
}

#[cfg(feature = "service")]
impl<N: tokio_service::NewService> NewService01Ext for N {}

/// [`As01Service::new`] as a method of services of tower.
#[cfg(feature = "service")]
pub trait TowerExt<Request>: tower_service::Service<Request> + Clone {
    /// Makes a service of tokio-service of this one.
    fn into_service_01(self) -> As01Service<Self, Request> {
        As01Service::new(self)
    }
}

#[cfg(feature = "service")]
impl<S: tower_service::Service<Request> + Clone, Request> TowerExt<Request> for S {}
