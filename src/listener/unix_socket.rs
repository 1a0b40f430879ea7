//! The files of Unix sockets that clients come in by: who is there already, and what is left behind.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// The file of a listening socket, removed when this is dropped, unless another has taken its
/// place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Which file it is: device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    /// Makes what `bind` makes at `path`, where a socket that nobody listens on gives way.
    ///
    /// # Errors
    ///
    /// Those of `bind`; when somebody listens there, or there is something else.
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
}

impl SocketFile {
    /// Whether `path` leads to this file, however it is written.
    pub fn is_at(&self, path: &Path) -> bool {
        identity(path).ok() == Some(self.identity)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.is_at(&self.path) {
            // Nobody is left to be told that it can't be: the next one removes it.
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
            let why = "something is there that isn't a socket";
            Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
        }
        Ok(_) if is_in_use(path)? => {
            let why = "somebody listens there";
            Err(io::Error::new(io::ErrorKind::AddrInUse, why))
        }
        Ok(_) => fs::remove_file(path),
        Err(ref e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Whether a process has this socket. It isn't bothered: a socket of another kind can't be connected
/// to it, and is told that, where nobody has it the other way round.
fn is_in_use(path: &Path) -> io::Result<bool> {
    match UnixDatagram::unbound()?.connect(path) {
        Ok(()) => Ok(true),
        Err(ref e) if e.raw_os_error() == Some(libc::EPROTOTYPE) => Ok(true),
        Err(ref e) if e.kind() == io::ErrorKind::ConnectionRefused => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
#[cfg(not(miri))] // which knows no Unix sockets
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
    fn it_goes_with_its_value_and_no_other_does() {
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
    fn one_that_nobody_has_gives_way() {
        let folder = Folder::new("gives-way");
        let path = folder.0.join("sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        create(&path).unwrap();
    }

    /// A listener whose backlog is full would keep whoever connects to it waiting.
    #[test]
    fn one_that_somebody_has_stays_and_is_not_bothered() {
        let folder = Folder::new("stays");
        let path = folder.0.join("sock");
        let listening = UnixListener::bind(&path).unwrap();
        let refused = create(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        listening.set_nonblocking(true).unwrap();
        let nobody = listening.accept().unwrap_err();
        assert_eq!(nobody.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn other_files_stay() {
        let folder = Folder::new("others");
        let path = folder.0.join("sock");
        fs::write(&path, "a letter").unwrap();
        let refused = create(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"a letter");
    }
}
