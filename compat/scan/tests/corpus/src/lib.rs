#![allow(deprecated)]
#![deny(warnings)]
#![allow(dead_code, unused_must_use, clippy::all)]

mod channels;
mod combinators;
mod executors;
mod io;
mod machines;
mod others;
mod streams;
