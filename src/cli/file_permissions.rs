//! Who else may read a file that holds a secret.
//!
//! Of a file of ours nobody else is to have anything. One of another owner is there for us because
//! of its group, or of a list (acl(5)) whose mask stands where the group's bits do: that is how
//! systemd's LoadCredential= and the Secrets of Kubernetes are handed to a service that isn't root.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use crate::os::sys;
use crate::text::escape::Escaped;

/// What takes it from the others, as a command; `None` when there are none.
pub(super) fn remedy(path: &str, file: &Metadata) -> Option<String> {
    let (denied, mode) = if file.uid() == sys::effective_user() {
        (0o077, "600")
    } else {
        (0o007, "o=")
    };
    if file.mode() & denied == 0 {
        return None;
    }
    Some(format!("chmod {} {}", mode, Escaped(path.as_bytes())))
}
