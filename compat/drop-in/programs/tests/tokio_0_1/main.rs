//! Programs and libraries on tokio 0.1.

extern crate tokio as tokio1;
extern crate tokio01 as tokio;

mod current_thread;
mod executor;
mod hyper;
mod net;
mod pool;
mod reactor;
mod run;
mod timer;
#[cfg(not(feature = "real"))]
mod tokio_1;
