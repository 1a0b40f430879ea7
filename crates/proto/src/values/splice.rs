//! When splice(2) is used.

use std::str::FromStr;

use super::{wrong, ParseError};

/// When bulk data is moved with splice(2), without a copy through user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splice {
    /// While a direction stays full; otherwise data is copied.
    Auto,
    /// Never: all data is copied.
    Never,
    /// From the first byte, as long as pipes are available.
    Always,
}

impl Default for Splice {
    fn default() -> Splice {
        Splice::Auto
    }
}

impl Splice {
    /// The names of the modes, the default first.
    pub const NAMES: &'static [&'static str] = &["auto", "never", "always"];
}

impl FromStr for Splice {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Splice, ParseError> {
        match text {
            "auto" => Ok(Splice::Auto),
            "never" => Ok(Splice::Never),
            "always" => Ok(Splice::Always),
            _ => Err(wrong(
                "splice mode",
                text,
                "it must be auto, never or always",
                "auto",
            )),
        }
    }
}
