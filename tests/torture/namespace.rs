//! Networks for one test: namespaces, and the programs started in them.

use std::fs::{self, File};

use crate::support::{parts, sys};

/// A network with nothing but a loopback interface, and with settings of its own. Gone with the
/// last thread, process and socket that is in it.
pub struct Namespace {
    file: File,
}

/// Takes the thread back to where it was, even when the test panics.
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
                 --map-root-user --net sh -c 'ip link set lo up; cargo test --release --locked \
                 --test torture'`",
                e
            );
        }
        let _home = Return(home);
        parts::run("ip", &["link", "set", "lo", "up"]);
        Namespace { file: here() }
    }

    /// Does `work` there. What it starts stays there, and so do the sockets that it makes,
    /// whoever uses them.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let home = here();
        sys::enter_network(&self.file).expect("the namespace");
        let _home = Return(home);
        work()
    }

    /// Sets what the network's own /proc/sys/net has under this name.
    pub fn set(&self, name: &str, value: &str) {
        let path = format!("/proc/sys/net/{}", name);
        self.run(|| fs::write(&path, value).unwrap_or_else(|e| panic!("{}: {}", path, e)));
    }

    /// An interface whose other side is the file.
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

/// Where this thread is.
fn here() -> File {
    File::open("/proc/thread-self/ns/net").expect("a network namespace")
}
