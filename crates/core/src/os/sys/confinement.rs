//! The confinement of the whole program: no new privileges, and no system call that it never needs.
//!
//! What it takes away is the next step of an attacker that has made ptunnel run foreign code: to
//! start a program, to trace or read another process, to change the system. ptunnel needs files,
//! sockets and threads throughout, so these stay.

use std::io;
use std::os::raw::c_long;

use super::seccomp::{self, Allowed};

/// Calls that ptunnel and its libraries never make.
const REFUSED: &[c_long] = &[
    // Other processes and their descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces, file systems, devices. clone(2) can make a namespace, too, but threads need it.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    // The user.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    // The kernel, its clock and its name.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_personality,
];

/// Calls that start a program.
const STARTS: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];

/// Confines the calling thread and the threads that it starts later; `can_start_programs` keeps the
/// calls that start one. Returns whether the system calls are filtered: not on a kernel without
/// seccomp, nor on machines other than x86_64 and aarch64.
///
/// # Errors
///
/// Another filter forbids it (`EPERM`, `EACCES`).
pub fn confine_program(can_start_programs: bool) -> io::Result<bool> {
    seccomp::forbid_privileges()?;
    let starts = if can_start_programs { &[] } else { STARTS };
    seccomp::filter(Allowed::AllBut(&[REFUSED, starts].concat()))
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod tests {
    use std::env;
    use std::process::Command;
    use std::thread;

    use super::*;

    fn attempt(call: c_long) -> Option<i32> {
        // SAFETY: null pointers and zeroes.
        match unsafe { libc::syscall(call, 0, 0, 0, 0, 0, 0) } {
            -1 => io::Error::last_os_error().raw_os_error(),
            _ => None,
        }
    }

    /// In a thread, which takes its confinement with it.
    fn confined<T: Send + 'static>(can_start: bool, then: fn() -> T) -> T {
        let confined = thread::spawn(move || {
            assert!(confine_program(can_start).unwrap());
            then()
        });
        confined.join().unwrap()
    }

    /// valgrind itself crashes on some of these calls, and runs in the thread that is confined.
    fn is_in_valgrind() -> bool {
        env::var("LD_PRELOAD").map_or(false, |preloaded| preloaded.contains("vgpreload"))
    }

    #[test]
    fn a_confined_program_starts_no_other_and_touches_no_process() {
        if is_in_valgrind() {
            return;
        }
        // Without the filter these fail too, but with another error.
        assert_ne!(attempt(libc::SYS_execve), Some(libc::EPERM));
        assert_ne!(attempt(libc::SYS_setns), Some(libc::EPERM));
        let refusals = confined(false, || {
            let calls = REFUSED.iter().chain(STARTS);
            let failures = calls.filter(|call| attempt(**call) != Some(libc::EPERM));
            (failures.count(), Command::new("true").status())
        });
        assert_eq!(refusals.0, 0);
        assert_eq!(refusals.1.unwrap_err().raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn a_program_that_may_start_others_still_can() {
        if is_in_valgrind() {
            return;
        }
        let status = confined(true, || Command::new("true").status());
        assert!(status.unwrap().success());
    }
}
