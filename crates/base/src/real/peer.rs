//! Whether the other side of a socket is still there, seen without reading from it.

use std::os::fd::RawFd;

/// Whether the other side has closed the connection, or its sending half. False for what is no open socket.
#[allow(unsafe_code)]
pub fn has_hung_up(socket: RawFd) -> bool {
    let mut asked = libc::pollfd {
        fd: socket,
        events: libc::POLLRDHUP,
        revents: 0,
    };
    // SAFETY: one entry is passed, and lives until the call has returned, at once. A number that is no open file is answered, not followed.
    let n = unsafe { libc::poll(&raw mut asked, 1, 0) };
    n == 1 && asked.revents & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::Shutdown;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_end_that_is_closed_is_seen_behind_bytes_that_nobody_has_read() {
        let (here, mut there) = UnixStream::pair().expect("sockets");
        assert!(!has_hung_up(here.as_raw_fd()));
        there.write_all(b"more").expect("written");
        assert!(!has_hung_up(here.as_raw_fd()));
        there.shutdown(Shutdown::Write).expect("shut");
        assert!(has_hung_up(here.as_raw_fd()));
        assert!(!has_hung_up(-1));
    }
}
