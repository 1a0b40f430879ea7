//! Compiles and runs what the guide and the READMEs show. The tests are in `tests/`.

#[cfg(doctest)]
#[doc = include_str!("../../../MIGRATION.md")]
#[doc = include_str!("../../README.md")]
#[doc = include_str!("../../ladder/README.md")]
mod shown {}

/// Compiles what must not compile.
#[cfg(doctest)]
#[path = "../tests/traps/refusals.rs"]
mod refusals;
