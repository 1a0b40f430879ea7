//! Networks for one test: namespaces, and the programs started in them.

use std::fs::{self, File};

use super::{parts, sys};

/// A network with only a loopback interface, and with its own settings. It is removed with the last
/// thread, process and socket in it.
pub struct Namespace {
    file: File,
}

/// Moves the thread back to its previous network, even if the test panics.
struct Return(File);

impl Drop for Return {
    fn drop(&mut self) {
        sys::enter_network(&self.0).expect("the way back");
    }
}

impl Namespace {
    pub fn new() -> Namespace {
        let home = here();
        if let Err(e) = sys::leave_network() {
            panic!(
                "a network namespace: {}; run this as root, or as a user through `unshare \
                 --map-root-user --net sh -c 'ip link set lo up; cargo test --workspace --locked'`",
                e
            );
        }
        let _home = Return(home);
        parts::run("ip", &["link", "set", "lo", "up"]);
        Namespace { file: here() }
    }

    /// Runs `work` in this network. Processes and sockets that it creates stay there, whichever
    /// thread uses them.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let home = here();
        sys::enter_network(&self.file).expect("the namespace");
        let _home = Return(home);
        work()
    }

    /// Sets a value below the network's /proc/sys/net.
    pub fn set(&self, name: &str, value: &str) {
        let path = format!("/proc/sys/net/{}", name);
        self.run(|| fs::write(&path, value).unwrap_or_else(|e| panic!("{}: {}", path, e)));
    }

    /// Creates an interface with the returned file as its other side.
    pub fn interface(&self, address: &str, mtu: u32) -> File {
        let (name, mtu) = ("wire", mtu.to_string());
        self.run(|| {
            let file = sys::open_tun(name).unwrap_or_else(|e| panic!("/dev/net/tun: {}", e));
            parts::run("ip", &["address", "add", address, "dev", name]);
            parts::run("ip", &["link", "set", name, "mtu", &mtu, "up"]);
            file
        })
    }
}

/// Returns the network of this thread.
fn here() -> File {
    File::open("/proc/thread-self/ns/net").expect("a network namespace")
}
