//! Other programs: what they say, or why they can't be asked.

use std::io;
use std::process::{Command, Stdio};

/// What the program says on standard output. `package` is the one that installs it.
///
/// # Errors
/// When it is missing, with the command that installs it, or fails, with the last line that it says.
pub fn output(command: &mut Command, package: &str) -> io::Result<String> {
    let name = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().map_err(|e| {
        let install = format!("apt-get install --no-install-recommends {package}");
        io::Error::new(e.kind(), format!("{name} can't be started: {e}; {install}"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().next_back().unwrap_or_default();
        let text = format!("{name}: {}: {last}", output.status);
        return Err(io::Error::other(text));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
