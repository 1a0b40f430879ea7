//! What a program sees of tokio-core; README.md has a row for each test.

mod channel;
mod connect;
mod core;
mod descriptors;
mod io;
mod listener;
mod readiness;
mod remote;
mod stream;
// It is about the files, so that once is enough.
#[cfg(not(feature = "real"))]
mod table;
mod tasks;
mod time;
mod udp;
