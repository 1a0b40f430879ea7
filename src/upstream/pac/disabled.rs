//! A build without the feature `pac`: no script can be read, and what takes one is never called.

use std::time::Duration;

use crate::config::HostPort;
use crate::error::Error;

/// There is none: this was built without the feature `pac`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Script {}

impl Script {
    pub(super) fn read(_path: &str) -> Result<Script, Error> {
        Err(Error::usage(
            "this ptunnel was built without PAC files (the cargo feature pac)",
        ))
    }

    pub(super) fn name(&self) -> &str {
        match *self {}
    }

    pub(super) fn ask(&self, _: &HostPort, _: Duration) -> Result<String, String> {
        match *self {}
    }
}
