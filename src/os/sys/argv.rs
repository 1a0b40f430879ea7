//! The command line of this process as others see it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Lets `edit` change what `/proc/PID/cmdline` shows: the arguments, each with a NUL behind it.
///
/// No `unsafe` is needed for it, and still it writes into memory that Rust didn't give out.
///
/// SAFETY: the kernel passed the arguments in this memory, and the range is the kernel's own record
/// of it. std has copied them before `main`, and `edit` can't change the length. What else may
/// point there is C code that reads them (libc's `program_invocation_name`), and the NULs stay in
/// their places as long as `edit` leaves them there.
///
/// # Errors
///
/// Those of opening, reading and writing `/proc/self/stat` and `/proc/self/mem`; `InvalidData` when
/// the former doesn't say where the arguments are.
pub fn rewrite_arguments(edit: impl FnOnce(&mut [u8])) -> io::Result<()> {
    let (start, end) = place_of_arguments(&fs::read("/proc/self/stat")?)
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

/// Fields 48 and 49 of proc(5)'s stat; the second field, a name in parentheses, may hold anything.
fn place_of_arguments(stat: &[u8]) -> Option<(u64, u64)> {
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
    fn the_place_is_found_behind_any_name() {
        let stat = format!("1 (a) b) (c) S {}7 9 0", "1 ".repeat(44));
        assert_eq!(place_of_arguments(stat.as_bytes()), Some((7, 9)));
        assert_eq!(place_of_arguments(b"1 (a) S 1 2"), None);
    }
}
