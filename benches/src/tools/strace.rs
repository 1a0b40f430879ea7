//! The summary of `strace -c`.

use std::collections::BTreeMap;

/// Calls by name.
pub type Calls = BTreeMap<String, u64>;

/// Reads the table; lines that are not rows of it are passed over.
pub fn parse(summary: &str) -> Calls {
    let mut calls = Calls::new();
    for line in summary.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // % time, seconds, usecs/call, calls, errors when there were any, name.
        let (Some(count), Some(name)) = (words.get(3), words.last()) else {
            continue;
        };
        let (5..=6, Ok(count)) = (words.len(), count.parse::<u64>()) else {
            continue;
        };
        if *name != "total" {
            *calls.entry(name.to_string()).or_default() += count;
        }
    }
    calls
}

/// True for calls that move bytes or try to: these a relay can't do without.
pub fn moves_bytes(name: &str) -> bool {
    matches!(
        name,
        "read"
            | "readv"
            | "recvfrom"
            | "recvmsg"
            | "write"
            | "writev"
            | "sendto"
            | "sendmsg"
            | "sendfile"
            | "splice"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
strace: Process 12 attached
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 51.20    0.012345           3      4000           recvfrom
 48.30    0.011000           2      4000        12 sendto
  0.50    0.000100           1       80           epoll_wait
------ ----------- ----------- --------- --------- ----------------
100.00    0.023445           2      8080        12 total
";

    #[test]
    fn reads_rows_with_and_without_errors() {
        let calls = parse(SUMMARY);
        assert_eq!(calls.len(), 3);
        assert_eq!(calls["recvfrom"], 4000);
        assert_eq!(calls["sendto"], 4000);
        assert_eq!(calls["epoll_wait"], 80);
    }

    #[test]
    fn tells_calls_that_move_bytes_from_others() {
        assert!(moves_bytes("sendto") && moves_bytes("splice"));
        assert!(!moves_bytes("epoll_wait") && !moves_bytes("timerfd_settime"));
    }
}
