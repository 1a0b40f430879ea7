//! What only the drop-in has.

mod easy_buf;
mod tokio_1;
