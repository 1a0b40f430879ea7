//! Checks that other users can't read a file with a secret.
//!
//! A file of ptunnel's user must give no access to group and others. A file of another owner is
//! readable because of its group, or of an ACL (acl(5)), whose mask replaces the group's bits;
//! systemd's LoadCredential= and Kubernetes pass secrets in this way to services that aren't root.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use ptunnel_core::os::sys;
use ptunnel_proto::text::escape::Escaped;

/// Returns the command that removes the access of other users; `None` if they have none.
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
