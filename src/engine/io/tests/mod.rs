//! What the unit tests of the engine share.

pub(crate) mod mock_io;
