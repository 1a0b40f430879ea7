//! The only unsafe code of the rigs.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the calling thread run before everything of ordinary priority on its core. Threads that it starts don't
/// inherit it.
///
/// # Errors
/// Without `CAP_SYS_NICE` the kernel refuses.
pub fn run_first() -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sched_param`, a struct of integers.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = 10;
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: 0 is the calling thread; `param` outlives the call, which only reads it.
    match unsafe { libc::sched_setscheduler(0, policy, &param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Puts the calling thread back to ordinary priority.
pub fn run_as_others() -> io::Result<()> {
    // SAFETY: as above; SCHED_OTHER demands priority 0.
    let param: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Nanoseconds that all threads of a process have been on a core, those that have ended among them.
///
/// # Errors
/// When the process is gone, awaited and all.
pub fn nanoseconds_of(id: u32) -> io::Result<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` outlives the call, which only writes it.
    match unsafe { libc::clock_getcpuclockid(id as libc::pid_t, &mut clock) } {
        0 => {}
        error => return Err(io::Error::from_raw_os_error(error)),
    }
    // SAFETY: all-zero bytes are a valid `timespec`, a struct of integers.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: `time` outlives the call, which only writes it.
    match unsafe { libc::clock_gettime(clock, &mut time) } {
        0 => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the kernel kill the child when the thread that starts it ends: a rig that dies leaves no relay behind.
pub fn dies_with_us(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and makes one system call, without allocating or locking.
    unsafe {
        command.pre_exec(|| {
            match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
    }
}
