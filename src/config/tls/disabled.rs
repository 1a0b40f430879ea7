//! A build without the feature `tls`: no value can be made, and what takes one is never called.

use super::TlsOptions;
use crate::config::ParseError;

/// What is said of `https://` and `tls://`.
pub(in crate::config) const MISSING: &str =
    "this ptunnel was built without TLS (the cargo feature tls)";

/// Whether there is TLS in this build; why not, if there isn't.
pub(in crate::config) fn available() -> Result<(), String> {
    Err(MISSING.into())
}

/// There is none: this was built without the feature `tls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsSpec {}

impl TlsSpec {
    /// Whether a certificate that can't be verified is taken, too.
    pub fn is_insecure(&self) -> bool {
        match *self {}
    }

    /// Whether there is a secret in it.
    pub fn has_key(&self) -> bool {
        match *self {}
    }
}

impl TlsOptions {
    /// # Errors
    ///
    /// Always: there is no TLS in this build.
    pub fn load(&self) -> Result<TlsSpec, ParseError> {
        Err(ParseError::new(MISSING))
    }
}
