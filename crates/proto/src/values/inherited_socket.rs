//! Sockets that the service manager hands over, and their names.

use std::fmt;
use std::os::unix::io::RawFd;

use crate::text::escape::Escaped;

/// A file descriptor that the process inherited for a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedFd {
    /// The number of the descriptor.
    pub descriptor: RawFd,
    /// The name that systemd gave it (`FileDescriptorName=`); several can share one.
    pub name: String,
}

impl InheritedFd {
    /// The number of the first descriptor (sd_listen_fds(3)).
    pub const FIRST: RawFd = 3;

    /// Returns whether `fd:NAME` means it, by its name or its number.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.descriptor.to_string() == name
    }
}

impl fmt::Display for InheritedFd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Escaped(self.name.as_bytes());
        write!(f, "fd:{} ('{}')", self.descriptor, name)
    }
}
