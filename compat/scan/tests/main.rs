//! Runs the scanner on whole projects: the corpus, and what tests write.

mod support;

mod bad_input;
mod corpus;
mod fix;
mod fix_real;
mod harden;
mod history;
mod options;
mod ratchet;
mod real;
mod uncompiled;
