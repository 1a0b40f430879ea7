//! The bytes of a socket that its peer hasn't acknowledged.

use std::io;
use std::os::unix::io::AsRawFd;

use libc::c_int;

/// Returns how many bytes written to the socket its peer hasn't acknowledged yet (SIOCOUTQ, tcp(7)).
///
/// # Errors
///
/// Those of ioctl(2).
pub fn unacknowledged(socket: &impl AsRawFd) -> io::Result<usize> {
    let mut count: c_int = 0;
    // SAFETY: TIOCOUTQ, which is SIOCOUTQ for sockets, writes one int through the pointer, which
    // points to one that lives through the call.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut count) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(count.max(0) as usize)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn what_the_peer_has_no_room_for_is_unacknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut writer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut reader, _) = listener.accept().unwrap();
        assert_eq!(unacknowledged(&writer).unwrap(), 0);
        writer.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(count) = writer.write(&[7; 65_536]) {
            written += count;
        }
        assert!(unacknowledged(&writer).unwrap() > 0);
        reader.read_exact(&mut vec![0; written]).unwrap();
        for _ in 0..1000 {
            if unacknowledged(&writer).unwrap() == 0 {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("never acknowledged");
    }
}
