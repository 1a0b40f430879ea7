//! The adapters beside tokio 0.1, which only this tokio-core brings.

#[path = "../../../adapters/tests/common/mod.rs"]
mod common;

mod pool;
mod tokio_01;
