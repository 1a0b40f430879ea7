//! System calls that std doesn't offer: the rig's only unsafe code.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem;
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::io::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use libc::c_void;

pub use libc::{SIGHUP, SIGINT, SIGKILL, SIGTERM};

fn check(answer: i32) -> io::Result<i32> {
    if answer < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(answer)
    }
}

fn set_option<T>(fd: RawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let (pointer, size) = (value as *const T as *const c_void, mem::size_of::<T>());
    // SAFETY: pointer and size are those of a value that lives through the call.
    check(unsafe { libc::setsockopt(fd, level, name, pointer, size as libc::socklen_t) }).map(drop)
}

/// Makes the next close of this socket a reset.
pub fn reset_on_close(stream: &TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set_option(
        stream.as_raw_fd(),
        libc::SOL_SOCKET,
        libc::SO_LINGER,
        &linger,
    )
    .expect("SO_LINGER");
}

/// Limits the kernel's buffer for the reader; for a listener, also that of accepted sockets.
pub fn set_receive_buffer(socket: &impl AsRawFd, size: usize) {
    let size = size as i32;
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, &size).expect("SO_RCVBUF");
}

/// Limits the kernel's buffer for the writer.
pub fn set_send_buffer(socket: &impl AsRawFd, size: usize) {
    let size = size as i32;
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUF, &size).expect("SO_SNDBUF");
}

/// Holds written bytes back, until this is switched off or the socket's end is sent.
pub fn set_cork(stream: &TcpStream, on: bool) {
    let on = on as i32;
    set_option(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CORK, &on).expect("TCP_CORK");
}

/// Changes the backlog of a socket that listens already.
pub fn set_backlog(listener: &impl AsRawFd, backlog: i32) {
    // SAFETY: no pointers.
    check(unsafe { libc::listen(listener.as_raw_fd(), backlog) }).expect("listen");
}

/// Sends one byte of urgent data.
pub fn send_urgent(stream: &TcpStream, byte: u8) {
    let pointer = &byte as *const u8 as *const c_void;
    // SAFETY: one byte that lives through the call.
    let sent = unsafe { libc::send(stream.as_raw_fd(), pointer, 1, libc::MSG_OOB) };
    assert_eq!(sent, 1, "{}", io::Error::last_os_error());
}

/// Returns the number of bytes that can be read at once.
pub fn readable(stream: &TcpStream) -> usize {
    let mut count: i32 = 0;
    // SAFETY: FIONREAD writes an int through the pointer, and it points at one.
    check(unsafe { libc::ioctl(stream.as_raw_fd(), libc::FIONREAD, &mut count) })
        .expect("FIONREAD");
    count as usize
}

/// Returns the number of written bytes that the other side hasn't acknowledged.
pub fn unacknowledged(stream: &TcpStream) -> usize {
    let mut count: i32 = 0;
    // SAFETY: TIOCOUTQ writes an int through the pointer, and it points at one.
    check(unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut count) })
        .expect("SIOCOUTQ");
    count as usize
}

/// Waits until a read from `file` returns at once: bytes, the end or an error.
pub fn wait_readable(file: &impl AsRawFd, limit: Duration) -> io::Result<()> {
    let mut wanted = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which lives through the call.
    match check(unsafe { libc::poll(&mut wanted, 1, limit.as_millis() as i32) })? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// Sends a signal to a process that the test started.
pub fn signal(process: u32, signal: i32) {
    // SAFETY: no pointers.
    check(unsafe { libc::kill(process as libc::pid_t, signal) }).expect("kill");
}

/// Returns the number of clock ticks of /proc per second.
pub fn clock_ticks() -> u64 {
    // SAFETY: no pointers.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as u64 }
}

/// Returns whether the test runs as root.
pub fn is_root() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::geteuid() == 0 }
}

/// Changes the owner and the group of a file; requires root.
pub fn give(path: &str, user: u32, group: u32) {
    let path = CString::new(path).expect("a path");
    // SAFETY: a string that ends in a NUL and lives through the call.
    check(unsafe { libc::chown(path.as_ptr(), user, group) }).expect("chown");
}

/// Makes the child die with the thread that starts it, so that it can't outlive a killed test. It
/// also resets SIGINT and SIGHUP to their defaults, which a shell in the background or nohup may
/// have set to be ignored.
pub fn die_with_parent(command: &mut Command) {
    let prepare = || {
        for signal in &[libc::SIGINT, libc::SIGHUP] {
            // SAFETY: no pointers; may be called between fork and exec.
            unsafe { libc::signal(*signal, libc::SIG_DFL) };
        }
        // SAFETY: the same.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
    };
    // SAFETY: the closure only makes two system calls and takes no lock.
    unsafe { command.pre_exec(prepare) };
}

/// Returns the two ends of a pseudo-terminal: the user's side, and the program's.
pub fn open_terminal() -> io::Result<(File, File)> {
    let (mut person, mut program): (i32, i32) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: two ints to write through; name, settings and size may be null.
    let answer = unsafe { libc::openpty(&mut person, &mut program, none, none as _, none as _) };
    check(answer)?;
    // SAFETY: openpty made both, and they have no other owner.
    let ends = unsafe { (File::from_raw_fd(person), File::from_raw_fd(program)) };
    for end in &[&ends.0, &ends.1] {
        // SAFETY: no pointers.
        check(unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) })?;
    }
    Ok(ends)
}

/// Returns whether the terminal shows typed characters.
pub fn echoes(terminal: &File) -> bool {
    // SAFETY: plain numbers, for which zeroes are a value.
    let mut settings: libc::termios = unsafe { mem::zeroed() };
    // SAFETY: tcgetattr fills in the struct that it is handed.
    check(unsafe { libc::tcgetattr(terminal.as_raw_fd(), &mut settings) }).expect("a terminal");
    settings.c_lflag & libc::ECHO != 0
}

/// Gives the child a new session with `terminal` as its terminal.
pub fn on_terminal(command: &mut Command, terminal: &File) {
    let fd = terminal.as_raw_fd();
    let prepare = move || {
        // SAFETY: no pointers; both may be called between fork and exec.
        check(unsafe { libc::setsid() })?;
        check(unsafe { libc::ioctl(fd, libc::TIOCSCTTY, 0) }).map(drop)
    };
    // SAFETY: the closure makes two system calls on a descriptor that the caller keeps open.
    unsafe { command.pre_exec(prepare) };
}

/// Raises this process's limit on descriptors to its maximum, and returns it.
pub fn raise_descriptor_limit() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a struct to fill in, which lives through the call.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }).expect("a limit");
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: a struct to read, which lives through the call.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }).expect("a limit");
    limit.rlim_cur as usize
}

/// Moves this thread, and the processes that it starts later, into a new network without any
/// interface that is up.
pub fn leave_network() -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Moves this thread, and the processes that it starts later, into the network of this file.
pub fn enter_network(network: &File) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Creates an interface in this thread's network. The file returns the packets that the kernel
/// sends there, one IP packet per read, and written packets arrive at the interface. No read waits.
pub fn open_tun(name: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: plain numbers, for which zeroes are a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1]
        .iter_mut()
        .zip(name.bytes())
    {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes the struct that it is handed.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &mut request) })?;
    Ok(file)
}
