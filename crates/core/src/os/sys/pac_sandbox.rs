//! The sandbox of the process that runs a PAC file: limits on descriptors, processes, memory and
//! system calls. It confines the calling thread; the process must have no other.

use std::fs;
use std::io;
use std::mem;
use std::os::raw::c_int;
use std::os::unix::io::{FromRawFd, IntoRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use super::descriptor::check;

/// The resources of a confined process.
pub(crate) struct SandboxLimits {
    /// Address space, in bytes.
    pub(crate) memory: u64,
    /// Processor time in seconds; then the process is killed.
    pub(crate) time: u64,
}

/// Confines this process, irreversibly. Closes all descriptors but stdin.
///
/// # Errors
///
/// The errors of the system calls; the process must not continue then.
pub(crate) fn confine(limits: &SandboxLimits) -> io::Result<()> {
    ignore_signals();
    read_time_zone();
    close_descriptors()?;
    limit(libc::RLIMIT_AS as c_int, limits.memory)?;
    limit(libc::RLIMIT_CPU as c_int, limits.time)?;
    for resource in &[
        libc::RLIMIT_CORE as c_int,
        libc::RLIMIT_FSIZE as c_int,
        libc::RLIMIT_NPROC as c_int,
        libc::RLIMIT_NOFILE as c_int,
    ] {
        limit(*resource, 0)?;
    }
    #[cfg(target_os = "linux")]
    linux::forbid()?;
    Ok(())
}

/// Returns the socket that is this process's stdin. Must be called once.
pub(crate) fn stdin_socket() -> UnixStream {
    // SAFETY: stdin is open, or reads fail; nothing else in this process uses it.
    unsafe { UnixStream::from_raw_fd(libc::STDIN_FILENO) }
}

/// Converts a socket to the stdin of a child.
pub(crate) fn as_stdio(socket: UnixStream) -> Stdio {
    // SAFETY: its owner has just released the descriptor.
    unsafe { Stdio::from_raw_fd(socket.into_raw_fd()) }
}

/// Kills this process after this many seconds; 0 cancels that.
pub(crate) fn die_in(seconds: u32) {
    // SAFETY: no pointers. SIGALRM has no handler here, so it ends the process.
    unsafe { libc::alarm(seconds) };
}

/// Ignores the signals that a terminal or a service manager sends to the whole group: the parent
/// handles them, and this process ends with the parent.
fn ignore_signals() {
    for signal in &[
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGUSR1,
        libc::SIGUSR2,
    ] {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
    // SAFETY: as above. The signal ends this process at its deadline, even if the parent ignores
    // it.
    unsafe { libc::signal(libc::SIGALRM, libc::SIG_DFL) };
}

/// Loads the time zone from its file, which can't be opened later.
fn read_time_zone() {
    let now: libc::time_t = 0;
    // SAFETY: all zeroes are a valid `tm`, and both pointers are valid for the call.
    unsafe {
        let mut parts: libc::tm = mem::zeroed();
        libc::localtime_r(&now, &mut parts);
    }
}

fn close_descriptors() -> io::Result<()> {
    let list = if cfg!(target_os = "linux") {
        "/proc/self/fd"
    } else {
        "/dev/fd"
    };
    let mut open: Vec<RawFd> = Vec::new();
    for entry in fs::read_dir(list)? {
        let name = entry?.file_name();
        open.extend(name.to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for number in open {
        if number != libc::STDIN_FILENO {
            // SAFETY: no pointers. Nothing uses them: this process has just started. A descriptor that
            // was closed meanwhile is an error.
            unsafe { libc::close(number) };
        }
    }
    Ok(())
}

fn limit(resource: c_int, most: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: most as libc::rlim_t,
        rlim_max: most as libc::rlim_t,
    };
    // SAFETY: the kernel reads the struct that it is passed.
    check(unsafe { libc::setrlimit(resource as _, &limit) }).map(drop)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::super::seccomp::{self, Allowed};
    use super::*;

    /// Forbids new privileges, and all system calls but those for memory, time and open descriptors:
    /// also `ptrace` and `process_vm_readv`, which reach another process without a descriptor.
    pub(super) fn forbid() -> io::Result<()> {
        // SAFETY: takes a terminated name.
        check(unsafe { libc::prctl(libc::PR_SET_NAME, b"ptunnel-pac\0".as_ptr()) })?;
        seccomp::forbid_privileges()?;
        seccomp::filter(Allowed::Only(ALLOWED)).map(drop)
    }

    const ALLOWED: &[libc::c_long] = &[
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_recvfrom,
        libc::SYS_sendto,
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_madvise,
        libc::SYS_mprotect,
        libc::SYS_futex,
        libc::SYS_clock_gettime,
        libc::SYS_gettimeofday,
        libc::SYS_setitimer,
        libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_sched_yield,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::env;
    use std::io::{Read, Write};
    use std::os::unix::process::CommandExt;
    use std::process::{self, Command};

    use super::*;

    const NAME: &str = "confined";

    /// Calls that must fail.
    const CALLS: [libc::c_long; 9] = [
        libc::SYS_openat,
        libc::SYS_socket,
        libc::SYS_kill,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_execve,
        libc::SYS_prlimit64,
        libc::SYS_recvmsg,
        libc::SYS_dup,
    ];

    /// The child process of the test below.
    #[test]
    #[ignore]
    fn entry() {
        if env::args_os().next().map_or(true, |name| name != NAME) {
            return;
        }
        let limits = SandboxLimits {
            memory: 1 << 30,
            time: 60,
        };
        let confined = confine(&limits);
        let mut out = stdin_socket();
        for call in &CALLS {
            // SAFETY: null pointers and zeroes; signal 0 isn't sent.
            let answer = unsafe { libc::syscall(*call, 0, 0, 0, 0, 0, 0) };
            let error = io::Error::last_os_error().raw_os_error();
            let _ = writeln!(out, "{} {:?} {} {:?}", call, confined, answer, error);
        }
        process::exit(0);
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn a_confined_process_reaches_nothing_but_its_socket() {
        let (mut stream, stdin) = UnixStream::pair().unwrap();
        let mut child = Command::new(env::current_exe().unwrap())
            .arg0(NAME)
            .args(&["--exact", "--ignored", "os::sys::pac_sandbox::tests::entry"])
            .stdin(as_stdio(stdin))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut results = String::new();
        stream.read_to_string(&mut results).unwrap();
        let line = |call| format!("{} Ok(()) -1 Some({})\n", call, libc::EPERM);
        assert_eq!(results, CALLS.iter().map(line).collect::<String>());
        assert!(child.wait().unwrap().success());
    }
}
