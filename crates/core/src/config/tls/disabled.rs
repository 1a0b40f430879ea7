//! TLS settings in a build without the feature `tls`: a type without values.

use ptunnel_proto::values::{ParseError, TlsOptions, TlsStart};

/// TLS with a proxy, a destination or a client; has no value without the feature `tls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsSpec {}

impl TlsSpec {
    /// Reports that this build has no TLS.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn load(_: &TlsOptions) -> Result<TlsSpec, ParseError> {
        let why = "ptunnel was built without TLS; rebuild it with the cargo feature tls";
        Err(ParseError::new(why))
    }

    /// Returns how TLS starts.
    pub fn start(&self) -> TlsStart {
        match *self {}
    }

    /// Returns the same settings for TLS that starts in this way.
    pub(in crate::config) fn starting(&self, _: TlsStart) -> TlsSpec {
        match *self {}
    }

    /// Returns whether certificates aren't verified.
    pub fn is_insecure(&self) -> bool {
        match *self {}
    }

    /// Returns whether it contains a private key.
    pub fn has_key(&self) -> bool {
        match *self {}
    }
}
