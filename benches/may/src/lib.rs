//! What the peers on May share: the command line, and the allocator that May's author measures with.

#[path = "../../src/peer/serving.rs"]
pub mod serving;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
