//! The error of every parser in this folder.

use std::error;
use std::fmt;
use std::io;

use super::TlsFile;
use crate::text::escape::Escaped;

/// Why a text or a file can't be used as a value.
///
/// Displays as one line in lower case without a full stop, and never shows a secret.
#[derive(Debug)]
pub enum ParseError {
    /// The value, the reason, and an example.
    Invalid(String),
    /// A file of the TLS options: which one it is, and the reason.
    TlsFile(TlsFile, String),
    /// OpenSSL can't be set up, whatever the value is.
    Tls(io::Error),
}

impl ParseError {
    /// Returns an error about a value.
    pub fn new(message: impl Into<String>) -> ParseError {
        ParseError::Invalid(message.into())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Invalid(message) | ParseError::TlsFile(_, message) => f.write_str(message),
            ParseError::Tls(e) => write!(f, "cannot set up TLS: {}", e),
        }
    }
}

impl error::Error for ParseError {}

/// Describes why a file can't be opened or read, with what to do.
pub fn file_fault(error: &io::Error) -> String {
    let fix = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => "check the path",
        (io::ErrorKind::PermissionDenied, _) => "let the user that ptunnel runs as read it",
        (io::ErrorKind::InvalidData, _) => "save it as UTF-8",
        (_, Some(libc::EISDIR)) => "name a file",
        _ => return error.to_string(),
    };
    format!("{}; {}", error, fix)
}

/// Returns the error of a value in the form that all of them have.
pub(super) fn wrong(what: &str, text: &str, why: impl fmt::Display, example: &str) -> ParseError {
    let text = Escaped(text.as_bytes());
    ParseError::new(format!(
        "invalid {} '{}': {}; e.g. {}",
        what, text, why, example
    ))
}
