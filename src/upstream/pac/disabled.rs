//! A build without the feature `pac`: no PAC file can be read.

use std::sync::Arc;
use std::time::Duration;

use crate::config::HostPort;
use crate::error::Error;

const WHY: &str = "ptunnel was built without PAC files; rebuild it with the cargo feature pac";

/// A placeholder for the script of a PAC file.
#[derive(Debug)]
pub(super) struct Script;

impl Script {
    pub(super) fn read(_path: &str) -> Result<(String, String), Error> {
        Err(Error::usage(WHY))
    }

    pub(super) fn new(_name: String, _text: Arc<str>) -> Script {
        Script
    }

    pub(super) fn ask(&self, _: &HostPort, _: Duration) -> Result<String, String> {
        Err(WHY.into())
    }
}
