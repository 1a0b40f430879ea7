//! The credentials of the other end.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use libc::{gid_t, uid_t};

/// The user and the group of the process at the other end, when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    /// The user's id.
    pub uid: uid_t,
    /// The group's id.
    pub gid: gid_t,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn of_peer(stream: &UnixStream) -> io::Result<UCred> {
    let mut cred = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let size = size_of::<libc::ucred>() as libc::socklen_t;
    let mut filled = size;
    // SAFETY: the pointers are to locals that live through the call, and `filled` is the size of the
    // first, which any bytes are a value of.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut cred).cast(),
            &raw mut filled,
        )
    };
    if result != 0 || filled != size {
        return Err(io::Error::last_os_error());
    }
    Ok(UCred {
        uid: cred.uid,
        gid: cred.gid,
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn of_peer(stream: &UnixStream) -> io::Result<UCred> {
    let mut cred = UCred { uid: 0, gid: 0 };
    // SAFETY: the pointers are to locals that live through the call.
    let result =
        unsafe { libc::getpeereid(stream.as_raw_fd(), &raw mut cred.uid, &raw mut cred.gid) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(cred)
}
