//! A build without the feature `pac`: there is no PAC file.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::upstream::Lookup;
use ptunnel_proto::Secrets;

const WHY: &str = "ptunnel was built without PAC files; rebuild it with the cargo feature pac";

/// A placeholder for the script of a PAC file.
#[derive(Debug)]
pub(super) struct Script;

impl Script {
    pub(super) fn available() -> Result<(), Error> {
        Err(Error::usage(WHY))
    }

    pub(super) fn read(_path: &str) -> Result<(String, String), Error> {
        Err(Error::usage(WHY))
    }

    pub(super) fn decode(_bytes: &[u8]) -> Result<String, String> {
        Err(WHY.into())
    }

    pub(super) fn checked(_name: &str, _text: String, _secrets: Secrets) -> Result<Script, String> {
        Err(WHY.into())
    }

    pub(super) fn new(_name: String, _text: Arc<str>, _secrets: Secrets) -> Script {
        Script
    }

    pub(super) fn text(&self) -> &str {
        ""
    }

    pub(super) fn ask(&self, _: &Lookup<'_>, _: Duration) -> Result<String, String> {
        Err(WHY.into())
    }
}
