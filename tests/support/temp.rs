//! Folders that are deleted with the test, and ports that no other program takes.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

static FOLDERS: AtomicUsize = AtomicUsize::new(0);
static PORTS: AtomicUsize = AtomicUsize::new(0);

/// A new folder, removed on drop.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        let number = FOLDERS.fetch_add(1, Ordering::SeqCst);
        let path = env::temp_dir().join(format!("ptunnel-test-{}-{}", process::id(), number));
        fs::create_dir_all(&path).expect("a folder for the test");
        TempDir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of `name` in this folder, as text.
    pub fn at(&self, name: &str) -> String {
        let path = self.0.join(name);
        path.to_str().expect("a path in UTF-8").to_string()
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.at(name);
        fs::write(&path, content).expect("a file of the test");
        path
    }

    /// Writes a file with the given permissions and returns its path.
    pub fn file_with_mode(&self, name: &str, mode: u32, content: impl AsRef<[u8]>) -> String {
        let path = self.file(name, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permissions");
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a port on which no socket listens, outside the range from which the kernel picks ports,
/// and never the same one twice. So it stays free until its user binds it.
pub fn free_port() -> u16 {
    const FIRST: usize = 12_000;
    const COUNT: usize = 20_000;
    loop {
        let next = PORTS.fetch_add(1, Ordering::SeqCst);
        let spread = process::id() as usize * 397 + next;
        let port = (FIRST + spread % COUNT) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
