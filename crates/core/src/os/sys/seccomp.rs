//! Filters of this process's system calls (seccomp(2)), and the bit that keeps it from gaining
//! privileges (PR_SET_NO_NEW_PRIVS). Both hold for the calling thread, for the threads that it starts
//! later, and for their children, irreversibly.

use std::io;
use std::os::raw::c_long;

use super::descriptor::check;

/// The calls that a filter allows. The others fail with EPERM.
#[derive(Clone, Copy)]
pub(super) enum Allowed<'a> {
    /// These calls alone.
    #[cfg(feature = "pac")]
    Only(&'a [c_long]),
    /// All calls but these.
    AllBut(&'a [c_long]),
}

/// As `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_AARCH64` of linux/audit.h, which libc doesn't have.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// The lowest number of a call of x86_64's other ABI, x32 (`__X32_SYSCALL_BIT`).
const X32: u32 = 0x4000_0000;

/// Forbids new privileges: a program that this process starts gains none by its set-user-ID bit.
///
/// # Errors
///
/// `EINVAL` before Linux 3.5.
pub fn forbid_privileges() -> io::Result<()> {
    let (on, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: numbers alone, of the size that the kernel reads.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, unused, unused, unused) }).map(drop)
}

/// Installs a filter, after [`forbid_privileges`]. Returns whether it did: not on a kernel without
/// seccomp, nor on a machine for which this program has no filter.
///
/// # Errors
///
/// `EPERM` or `EACCES` where another filter forbids that.
pub(super) fn filter(allowed: Allowed<'_>) -> io::Result<bool> {
    let mut program = match ARCHITECTURE {
        Some(architecture) => assemble(architecture, allowed),
        None => return Ok(false),
    };
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    let mode = libc::c_ulong::from(libc::SECCOMP_MODE_FILTER);
    let filter: *const libc::sock_fprog = &program;
    // SAFETY: the program and what it points to live through the call, which copies them.
    match check(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, filter) }) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        result => result.map(|_| true),
    }
}

/// Returns the program that the kernel runs for each call.
fn assemble(architecture: u32, allowed: Allowed<'_>) -> Vec<libc::sock_filter> {
    // Offsets in `struct seccomp_data`: the call's number, then the architecture.
    let (number, machine) = (0, 4);
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equals = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let at_least = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let (calls, listed, other) = match allowed {
        #[cfg(feature = "pac")]
        Allowed::Only(calls) => (calls, libc::SECCOMP_RET_ALLOW, refusal),
        Allowed::AllBut(calls) => (calls, refusal, libc::SECCOMP_RET_ALLOW),
    };
    let mut program = vec![
        step(load, machine, 0, 0),
        // Another architecture's numbers mean other calls.
        step(equals, architecture, 1, 0),
        step(answer, refusal, 0, 0),
        step(load, number, 0, 0),
        step(at_least, X32, 0, 1),
        step(answer, refusal, 0, 0),
    ];
    for (index, call) in calls.iter().enumerate() {
        // Jumps over the remaining ones and the answer to the other calls.
        program.push(step(equals, *call as u32, (calls.len() - index) as u8, 0));
    }
    program.push(step(answer, other, 0, 0));
    program.push(step(answer, listed, 0, 0));
    program
}
