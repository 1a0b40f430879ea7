//! What runs say: verdicts, the page and its plot, and the tables of the project's documents.

pub mod again;
pub mod check;
pub mod documents;
mod judge;
pub mod ladder;
mod markers;
mod number;
pub mod page;
pub mod run;
mod standing;
