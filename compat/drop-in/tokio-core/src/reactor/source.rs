//! Sources of events under the watch of a Core's runtime.

use std::io;
use std::net::TcpStream;
use std::ops::Deref;
use std::sync::{mpsc, OnceLock};
use std::thread;

use drop_in_io::{Readiness, READ_WRITE, STREAM};
use tokio::io::Interest;
use tokio::runtime;

use super::{wait, Evented, Handle};

/// A source of events, and what is known of its readiness.
pub(crate) struct Source<E> {
    // Dropped before `io` closes the descriptor.
    readiness: Readiness,
    io: E,
    runtime: runtime::Handle,
}

impl<E: Evented> Source<E> {
    /// Puts `io` under the watch of the Core's runtime.
    pub(crate) fn new(io: E, handle: &Handle) -> io::Result<Source<E>> {
        Source::on(io, &handle.remote().shared().runtime()?)
    }

    /// Puts `io` under the watch of `runtime`.
    pub(crate) fn on(io: E, runtime: &runtime::Handle) -> io::Result<Source<E>> {
        Source::watch(io, runtime, READ_WRITE)
    }

    fn watch(io: E, runtime: &runtime::Handle, interest: Interest) -> io::Result<Source<E>> {
        let on_event = Some(wait::on_event());
        Ok(Source {
            readiness: Readiness::new(io.descriptor(), interest, runtime, on_event)?,
            io,
            runtime: runtime.clone(),
        })
    }
}

/// Streams are watched for urgent bytes, too, where those can be distinguished.
impl Source<TcpStream> {
    /// Puts a stream under watch that the caller has made, which may be a Unix socket.
    pub(crate) fn any_stream(tcp: TcpStream, handle: &Handle) -> io::Result<Source<TcpStream>> {
        let is_unix = tcp.local_addr().is_err(); // std knows addresses of IP only
        let mut source = Source::stream(tcp, handle)?;
        if is_unix {
            source.readiness.keep_after_short_reads();
        }
        Ok(source)
    }

    pub(crate) fn stream(tcp: TcpStream, handle: &Handle) -> io::Result<Source<TcpStream>> {
        Source::stream_on(tcp, &handle.remote().shared().runtime()?)
    }

    pub(crate) fn stream_on(
        tcp: TcpStream,
        runtime: &runtime::Handle,
    ) -> io::Result<Source<TcpStream>> {
        Source::watch(tcp, runtime, STREAM)
    }
}

impl<E> Source<E> {
    pub(crate) fn get_ref(&self) -> &E {
        &self.io
    }

    pub(crate) fn get_mut(&mut self) -> &mut E {
        &mut self.io
    }

    /// The runtime that watches the descriptor.
    pub(crate) fn runtime(&self) -> &runtime::Handle {
        &self.runtime
    }

    /// Tries to read with `f`. When that would block, the current task is notified when it is worth
    /// another try.
    #[inline]
    pub(crate) fn read_with<R>(&self, f: impl FnOnce(&E) -> io::Result<R>) -> io::Result<R> {
        self.readiness.try_read(|| f(&self.io))
    }

    /// The same, for writing.
    #[inline]
    pub(crate) fn write_with<R>(&self, f: impl FnOnce(&E) -> io::Result<R>) -> io::Result<R> {
        self.readiness.try_write(|| f(&self.io))
    }
}

impl<E> Deref for Source<E> {
    type Target = Readiness;

    fn deref(&self) -> &Readiness {
        &self.readiness
    }
}

/// The runtime for sockets that are made without a handle: the one that this code runs in, else one
/// in the background.
pub(crate) fn default_runtime() -> io::Result<runtime::Handle> {
    static BACKGROUND: OnceLock<runtime::Handle> = OnceLock::new();
    if let Ok(current) = runtime::Handle::try_current() {
        return Ok(current);
    }
    if let Some(background) = BACKGROUND.get() {
        return Ok(background.clone());
    }
    let (started, handle) = mpsc::channel();
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("tokio-core-reactor".into())
        .spawn(move || {
            let _ = started.send(runtime.handle().clone());
            runtime.block_on(std::future::pending::<()>());
        })?;
    let handle = handle.recv().map_err(io::Error::other)?;
    // A thread that came second is kept by its sockets' runtime, idle.
    Ok(BACKGROUND.get_or_init(|| handle).clone())
}
