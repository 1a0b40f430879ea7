//! Files of listening Unix sockets: refuses one that is in use, and removes one that isn't.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// The file of a listening socket. Dropping the value removes it, unless another file has replaced
/// it.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode of the file.
    identity: (u64, u64),
}

impl SocketFile {
    /// Creates a socket at `path` with `bind`, after removing one that no process listens on.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AddrInUse`] when a process listens there, [`io::ErrorKind::AlreadyExists`]
    /// when the file isn't a socket, or any error of `bind` and of the file system.
    pub fn create<L>(
        path: &Path,
        bind: impl FnOnce(&Path) -> io::Result<L>,
    ) -> io::Result<(SocketFile, L)> {
        make_room(path)?;
        let listening = bind(path)?;
        let file = SocketFile {
            path: path.to_path_buf(),
            identity: identity(path)?,
        };
        Ok((file, listening))
    }

    /// Returns whether `path` leads to this file.
    pub fn is_at(&self, path: &Path) -> bool {
        identity(path).ok() == Some(self.identity)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.is_at(&self.path) {
            // If it can't be removed now, the next listener at this path removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn make_room(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_socket() => {
            let why = "the file exists and isn't a socket; choose another path";
            Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
        }
        Ok(_) if is_in_use(path)? => {
            let why = "another program listens on it; choose another path";
            Err(io::Error::new(io::ErrorKind::AddrInUse, why))
        }
        Ok(_) => fs::remove_file(path),
        Err(ref e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Returns whether a process has bound this socket. The process doesn't notice: connecting a socket
/// of another type fails with EPROTOTYPE if it is bound and with ECONNREFUSED if it isn't.
fn is_in_use(path: &Path) -> io::Result<bool> {
    match UnixDatagram::unbound()?.connect(path) {
        Ok(()) => Ok(true),
        Err(ref e) if e.raw_os_error() == Some(libc::EPROTOTYPE) => Ok(true),
        Err(ref e) if e.kind() == io::ErrorKind::ConnectionRefused => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
#[cfg(not(miri))] // Miri has no Unix sockets
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("ptunnel-{}-{}", name, std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn create(path: &Path) -> io::Result<(SocketFile, UnixListener)> {
        SocketFile::create(path, |path| UnixListener::bind(path))
    }

    #[test]
    fn dropping_removes_this_file_and_no_other() {
        let folder = Folder::new("goes");
        let path = folder.0.join("sock");
        let (file, listening) = create(&path).unwrap();
        assert!(path.exists());
        drop((file, listening));
        assert!(!path.exists());

        let (file, _listening) = create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let (_other, _listening) = create(&path).unwrap();
        drop(file);
        assert!(path.exists(), "it was another's");
    }

    #[test]
    fn an_unused_socket_is_replaced() {
        let folder = Folder::new("gives-way");
        let path = folder.0.join("sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        create(&path).unwrap();
    }

    /// A check that connected would wait for a listener with a full backlog.
    #[test]
    fn a_socket_in_use_stays_and_gets_no_connection() {
        let folder = Folder::new("stays");
        let path = folder.0.join("sock");
        let listening = UnixListener::bind(&path).unwrap();
        let refused = create(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        listening.set_nonblocking(true).unwrap();
        let no_client = listening.accept().unwrap_err();
        assert_eq!(no_client.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_file_that_is_no_socket_stays() {
        let folder = Folder::new("others");
        let path = folder.0.join("sock");
        fs::write(&path, "a letter").unwrap();
        let refused = create(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"a letter");
    }
}
