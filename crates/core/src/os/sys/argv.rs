//! The command line of this process as `ps` shows it, and the user that the process runs as.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Changes what `/proc/PID/cmdline` shows, by `edit`: the arguments, each with a NUL behind it.
///
/// This needs no `unsafe`, but writes to memory that Rust didn't allocate.
///
/// SAFETY: the kernel passed the arguments in this memory, and the range comes from the kernel.
/// std has copied them before `main`, and `edit` can't change the length. Other pointers into it
/// belong to C code that reads them (libc's `program_invocation_name`), and the NULs stay where they
/// are as long as `edit` leaves them there.
///
/// # Errors
///
/// The errors of opening, reading and writing `/proc/self/stat` and `/proc/self/mem`; `InvalidData`
/// when the former doesn't contain the range of the arguments.
pub fn rewrite_arguments(edit: impl FnOnce(&mut [u8])) -> io::Result<()> {
    let (start, end) = range_of_arguments(&fs::read("/proc/self/stat")?)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    let mut memory = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/proc/self/mem")?;
    let mut words = vec![0; (end - start) as usize];
    memory.seek(SeekFrom::Start(start))?;
    memory.read_exact(&mut words)?;
    edit(&mut words);
    memory.seek(SeekFrom::Start(start))?;
    memory.write_all(&words)
}

/// Returns the effective user id of this process (geteuid(2)).
pub fn effective_user() -> u32 {
    // SAFETY: no arguments, and it can't fail.
    unsafe { libc::geteuid() }
}

/// Returns start and end of the arguments: fields 48 and 49 of proc(5)'s stat. The second field, a
/// name in parentheses, can contain anything.
fn range_of_arguments(stat: &[u8]) -> Option<(u64, u64)> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace().skip(45);
    let start = fields.next()?.parse().ok()?;
    let end = fields.next()?.parse().ok()?;
    if start < end {
        Some((start, end))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_found_after_any_name() {
        let stat = format!("1 (a) b) (c) S {}7 9 0", "1 ".repeat(44));
        assert_eq!(range_of_arguments(stat.as_bytes()), Some((7, 9)));
        assert_eq!(range_of_arguments(b"1 (a) S 1 2"), None);
    }
}
