//! The scale of a test: its short form or its long one.

use std::env;

/// Returns `long` if `PTUNNEL_TORTURE` is `long`, else `short`.
pub fn scale<T>(short: T, long: T) -> T {
    match env::var("PTUNNEL_TORTURE") {
        Ok(ref word) if word == "long" => long,
        _ => short,
    }
}
