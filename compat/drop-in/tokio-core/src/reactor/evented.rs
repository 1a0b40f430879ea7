//! What `PollEvented` can watch.

use std::os::fd::{AsRawFd, RawFd};

/// A source of events: anything that has a file descriptor.
///
/// tokio-core's `PollEvented` took any `Evented` of mio 0.6, which could do its own registering.
/// This one watches descriptors. A type that implements mio's `Evented` by way of `EventedFd`
/// implements [`AsRawFd`] in addition, and then works with both.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no file descriptor for PollEvented to watch",
    label = "doesn't implement `std::os::fd::AsRawFd`",
    note = "on tokio 1, PollEvented watches descriptors and not mio 0.6's `Evented`",
    note = "implement `AsRawFd` for `{Self}`; an implementation of mio's `Evented` may stay beside it"
)]
pub trait Evented {
    #[doc(hidden)]
    fn descriptor(&self) -> RawFd;
}

#[diagnostic::do_not_recommend]
impl<T: AsRawFd> Evented for T {
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}
