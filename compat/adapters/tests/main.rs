//! All tests in one program, since each program takes seconds to link.

mod common;

mod budget;
mod budget_core;
mod codec;
mod contract_wakers;
mod core_thread;
mod cost;
mod framed;
mod futures_io;
mod in_runtime;
mod io;
mod io_calls;
mod matrix;
mod net;
mod net_listen;
mod panic;
mod prelude;
mod resident;
mod service;
mod sink;
mod spawn;
mod time;
