//! A certificate for the servers that speak TLS: who trusts it by name finds the loopback addresses in it.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::tools::program::output;

/// Lays `NAME.pem` and `NAME.key` into the folder, once a run.
///
/// # Errors
/// When openssl is missing or fails.
pub fn lay(folder: &Path, name: &str) -> io::Result<()> {
    let certificate = folder.join(format!("{name}.pem"));
    if certificate.exists() {
        return Ok(());
    }
    let mut command = Command::new("openssl");
    command
        .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
        .args(["-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-subj", "/CN=localhost", "-addext"])
        .arg("subjectAltName=DNS:localhost,IP:127.0.0.1,IP:127.0.0.99")
        .arg("-keyout")
        .arg(folder.join(format!("{name}.key")))
        .arg("-out")
        .arg(&certificate);
    output(&mut command, "openssl").map(drop)
}
