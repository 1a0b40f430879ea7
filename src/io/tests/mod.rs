//! Helpers of the engine's unit tests.

pub(crate) mod mock_io;
