//! The adapters' tests that have a Core, in one program: each links another one.

#[path = "../../../tests/budget_core.rs"]
mod budget_core;
#[path = "../../../tests/contract_wakers.rs"]
mod contract_wakers;
#[path = "../../../tests/core_thread.rs"]
mod core_thread;
#[path = "../../../tests/framed.rs"]
mod framed;
#[path = "../../../tests/futures_io.rs"]
mod futures_io;
#[path = "../../../tests/io.rs"]
mod io;
#[path = "../../../tests/net.rs"]
mod net;
#[path = "../../../tests/net_listen.rs"]
mod net_listen;
#[path = "../../../tests/resident.rs"]
mod resident;
#[path = "../../../tests/spawn.rs"]
mod spawn;
#[path = "../../../tests/time.rs"]
mod time;
