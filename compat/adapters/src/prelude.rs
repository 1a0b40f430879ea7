//! Extension traits: each constructor of a wrapper, as a method of what it wraps.
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
    /// Makes a 0.1 future of this one, in a box of its own. [`As01::new`] saves the box for a future
    /// that is `Unpin`.
    fn into_01(self) -> As01<Pin<Box<Self>>> {
        As01::pin(self)
    }
}

impl<F: TryFuture> StdFutureExt for F {}

/// [`As01::pin`] as a method of std streams.
pub trait StdStreamExt: TryStream + Sized {
    /// Makes a 0.1 stream of this one, in a box of its own. [`As01::new`] saves the box for a stream
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
