//! The load that a relay carries, and the server behind it.
//!
//! The load runs in the rig's process, the server in a separate child; both sit on the core that the relay doesn't
//! use. One server speaks one small protocol ([`wire`]), so that every figure needs one relay with one target.
//!
//! Small messages go through one [`driver`] at a [`pace`]; [`echo`] and [`gets`] say what is sent and check what comes.

pub mod ab;
pub mod channel;
pub mod client;
pub mod driver;
pub mod echo;
pub mod gets;
pub mod http;
pub mod idle;
pub mod pace;
pub mod pattern;
pub mod ping;
pub mod server;
pub mod sockets;
pub mod transfer;
pub mod wire;
pub mod wrk;
