//! Sockets that whoever started us has bound, as they are named: by systemd, and by the user.

use std::fmt;
use std::os::unix::io::RawFd;

use crate::text::escape::Escaped;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedFd {
    /// Its number.
    pub descriptor: RawFd,
    /// What its sender calls it (`FileDescriptorName=`); several may share a name.
    pub name: String,
}

impl InheritedFd {
    /// The number of the first one (sd_listen_fds(3)).
    pub const FIRST: RawFd = 3;

    /// Whether `fd:NAME` means it: by its name or its number.
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
