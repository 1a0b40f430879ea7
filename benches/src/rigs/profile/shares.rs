//! Whose instructions a function's are: by its name, with a table.
//!
//! What was inlined into a function counts as the function's, so shares are exact in sum and rough at their borders:
//! a chain of combinators that the compiler melts into its caller is the caller's.

use std::collections::BTreeMap;
use std::fmt;

use crate::report::results::Part;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Share {
    /// futures 0.1's combinators, futures-util's, and the small futures of the I/O crates.
    Combinators,
    /// Between both generations.
    Bridge,
    /// What the peer's own source does: hand-written futures, async fns, callbacks.
    Program,
    /// Waiting, waking, running tasks, timers, sockets' readiness.
    Reactor,
    Parsing,
    Copying,
    Allocation,
    /// Logging is formatting, for the most part.
    Formatting,
    /// The user's side of system calls.
    Calls,
    /// The other side of the work in memory.
    Load,
    Other,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Share::Combinators => "combinators",
            Share::Bridge => "bridge",
            Share::Program => "program",
            Share::Reactor => "reactor",
            Share::Parsing => "parsing",
            Share::Copying => "copying",
            Share::Allocation => "allocation",
            Share::Formatting => "formatting and logging",
            Share::Calls => "system calls, user side",
            Share::Load => "load",
            Share::Other => "other",
        })
    }
}

/// The first line that fits decides: a whole name, or its beginning where a star ends the line.
const TABLE: &[(&str, Share)] = &[
    // The C library.
    ("__memcpy*", Share::Copying),
    ("__memmove*", Share::Copying),
    ("__memset*", Share::Copying),
    ("memcpy*", Share::Copying),
    ("memmove*", Share::Copying),
    ("memset*", Share::Copying),
    ("__memcmp*", Share::Parsing),
    ("bcmp", Share::Parsing),
    ("malloc*", Share::Allocation),
    ("calloc", Share::Allocation),
    ("realloc", Share::Allocation),
    ("free", Share::Allocation),
    ("cfree*", Share::Allocation),
    ("_int_*", Share::Allocation),
    ("_mid_memalign*", Share::Allocation),
    ("posix_memalign", Share::Allocation),
    ("aligned_alloc", Share::Allocation),
    ("unlink_chunk*", Share::Allocation),
    ("sysmalloc", Share::Allocation),
    ("systrim*", Share::Allocation),
    ("mi_*", Share::Allocation),
    ("_mi_*", Share::Allocation),
    ("tcache_*", Share::Allocation),
    ("epoll_*", Share::Reactor),
    ("eventfd*", Share::Reactor),
    ("clock_gettime*", Share::Reactor),
    ("__vdso*", Share::Reactor),
    ("pthread_*", Share::Reactor),
    ("__tls_get_addr", Share::Reactor),
    ("__pthread_enable_asynccancel", Share::Calls),
    ("__pthread_disable_asynccancel", Share::Calls),
    ("__errno_location", Share::Calls),
    ("recv*", Share::Calls),
    ("send*", Share::Calls),
    ("read", Share::Calls),
    ("readv", Share::Calls),
    ("write", Share::Calls),
    ("writev", Share::Calls),
    ("splice", Share::Calls),
    ("accept*", Share::Calls),
    ("connect", Share::Calls),
    ("close", Share::Calls),
    ("socket", Share::Calls),
    ("bind", Share::Calls),
    ("listen", Share::Calls),
    ("shutdown", Share::Calls),
    ("setsockopt", Share::Calls),
    ("getsockopt", Share::Calls),
    ("getsockname", Share::Calls),
    ("getpeername", Share::Calls),
    ("ioctl", Share::Calls),
    ("fcntl*", Share::Calls),
    ("pipe2", Share::Calls),
    ("syscall", Share::Calls),
    // Ours.
    ("ptunnel::proto::*", Share::Parsing),
    ("ptunnel::config::*", Share::Parsing),
    ("ptunnel::observe::access_log::*", Share::Formatting),
    ("ptunnel::observe::logging::*", Share::Formatting),
    ("ptunnel::text::escape::*", Share::Formatting),
    ("ptunnel::engine::io::*", Share::Reactor),
    ("ptunnel::engine::timer::*", Share::Reactor),
    ("ptunnel::engine::ticker::*", Share::Reactor),
    ("ptunnel::os::sys::*", Share::Calls),
    ("tokio_core_compat::*", Share::Bridge),
    ("profile_work::work::*", Share::Load),
    ("ptunnel_benches::peer::work::*", Share::Load),
    ("profile_async::Scripted", Share::Load),
    // Their crates.
    ("futures::future::*", Share::Combinators),
    ("futures::stream::*", Share::Combinators),
    ("futures::sink::*", Share::Combinators),
    ("futures::poll::*", Share::Combinators),
    ("futures::*", Share::Reactor),
    ("futures_util::*", Share::Combinators),
    ("futures_core::*", Share::Combinators),
    ("tokio_io::*", Share::Combinators),
    ("tokio::io::util::*", Share::Combinators),
    ("tokio*", Share::Reactor),
    ("mio::*", Share::Reactor),
    ("may::*", Share::Reactor),
    ("generator::*", Share::Reactor),
    ("scoped_tls::*", Share::Reactor),
    ("slab::*", Share::Reactor),
    ("parking_lot*", Share::Reactor),
    ("crossbeam*", Share::Reactor),
    ("httparse::*", Share::Parsing),
    ("http::*", Share::Parsing),
    ("memchr::*", Share::Parsing),
    ("base64::*", Share::Parsing),
    ("percent_encoding::*", Share::Parsing),
    ("bytes::*", Share::Copying),
    ("log::*", Share::Formatting),
    ("httpdate::*", Share::Formatting),
    ("itoa::*", Share::Formatting),
    ("time::*", Share::Formatting),
    ("socket2::*", Share::Calls),
    ("rustix::*", Share::Calls),
    ("libc::*", Share::Calls),
    ("net2::*", Share::Calls),
    ("iovec::*", Share::Calls),
    // The standard library.
    ("alloc::alloc::*", Share::Allocation),
    ("alloc::raw_vec::*", Share::Allocation),
    ("__rust_*", Share::Allocation),
    ("__rdl_*", Share::Allocation),
    ("__rustc::*", Share::Allocation),
    ("alloc::fmt::*", Share::Formatting),
    ("<alloc::string::String as core::fmt*", Share::Formatting),
    ("core::fmt::*", Share::Formatting),
    ("core::str::*", Share::Parsing),
    ("core::num::*", Share::Parsing),
    ("core::slice::memchr::*", Share::Parsing),
    ("std::thread::local::*", Share::Reactor),
    ("std::time::*", Share::Reactor),
    ("std::sys::pal::unix::time::*", Share::Reactor),
    ("std::sync::*", Share::Reactor),
    ("std::sys::sync::*", Share::Reactor),
    ("std::net::*", Share::Calls),
    ("std::os::*", Share::Calls),
    ("std::sys::*", Share::Calls),
    // Closures, which are the peer's.
    ("core::ops::function::*", Share::Program),
    ("core::*", Share::Other),
    ("alloc::*", Share::Other),
    ("std::*", Share::Other),
    ("hashbrown::*", Share::Other),
];

/// The sums of the shares, the dearest first; then the functions behind them, as `SHARE: FUNCTION`.
pub fn of(functions: Vec<Part>) -> Vec<Part> {
    let mut sums: BTreeMap<Share, f64> = BTreeMap::new();
    for function in &functions {
        *sums.entry(share(&function.name)).or_default() += function.value;
    }
    let shares = sums.into_iter().map(|(share, value)| Part {
        name: share.to_string(),
        value,
    });
    let mut parts: Vec<Part> = shares.collect();
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    parts.extend(functions.into_iter().take(KEPT).map(|function| Part {
        name: format!("{}: {}", share(&function.name), function.name),
        ..function
    }));
    parts
}

/// Functions that the results keep.
const KEPT: usize = 40;

fn share(function: &str) -> Share {
    let path = owner(function);
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning) || function.starts_with(beginning),
        None => path == pattern || function == pattern,
    };
    match TABLE.iter().find(|(pattern, _)| fits(pattern)) {
        Some(&(_, share)) => share,
        // A path of a crate that no line names is the peer's own.
        None if path.contains("::") => Share::Program,
        None => Share::Other,
    }
}

/// The path that a function belongs to: of `<A as B>::f` it is A, or B where A has no path or is the standard library's
/// and B is not; of a drop it is what is dropped.
fn owner(function: &str) -> &str {
    if let Some(dropped) = function.strip_prefix("core::ptr::drop_in_place<") {
        return innermost(dropped);
    }
    let Some(rest) = function.strip_prefix('<') else {
        return function;
    };
    let (of, implemented) = rest.split_once(" as ").unwrap_or((rest, ""));
    let of = bare(of);
    if !of.contains("::") || (is_of_std(of) && is_of_a_crate(implemented)) {
        implemented
    } else {
        of
    }
}

/// Without references.
fn bare(path: &str) -> &str {
    let path = path.trim_start_matches(['&', '(', '[']);
    path.strip_prefix("mut ").unwrap_or(path)
}

/// What the standard library's containers hold.
fn innermost(path: &str) -> &str {
    let path = bare(path);
    match path.split_once('<') {
        Some((outer, inner)) if is_of_std(outer) => innermost(inner),
        _ => path.trim_end_matches('>'),
    }
}

fn is_of_a_crate(path: &str) -> bool {
    path.contains("::") && !is_of_std(path)
}

fn is_of_std(path: &str) -> bool {
    ["core::", "alloc::", "std::"]
        .iter()
        .any(|name| path.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_real_profiles_find_their_share() {
        for (function, wanted) in [
            (
                "<futures::future::then::Then<A,B,F> as futures::future::Future>::poll",
                Share::Combinators,
            ),
            (
                "futures::task_impl::Task::will_notify_current",
                Share::Reactor,
            ),
            (
                "<ptunnel::engine::io::reactor::Queue as futures::task_impl::Notify>::notify",
                Share::Reactor,
            ),
            (
                "ptunnel::engine::relay::half::HalfDuplex::poll",
                Share::Program,
            ),
            ("ptunnel_rung::engine::accept::serve::{{closure}}", Share::Program),
            (
                "ptunnel::proto::http::response::Response::decode",
                Share::Parsing,
            ),
            (
                "<tokio_core_compat::task::crossing::PutBack as core::ops::drop::Drop>::drop",
                Share::Bridge,
            ),
            (
                "tokio::runtime::io::registration::Registration::poll_ready",
                Share::Reactor,
            ),
            ("tokio_core::reactor::Core::poll", Share::Reactor),
            (
                "tokio::io::util::copy::CopyBuffer::poll_fill_buf",
                Share::Combinators,
            ),
            (
                "<&socket2::socket::Socket as std::io::Read>::read",
                Share::Calls,
            ),
            (
                "<&std::net::tcp::TcpStream as std::io::Write>::write",
                Share::Calls,
            ),
            (
                "core::ptr::drop_in_place<core::option::Option<ptunnel::engine::timer::TaskCountdown>>",
                Share::Reactor,
            ),
            (
                "core::ptr::drop_in_place<std::io::error::Error>",
                Share::Other,
            ),
            (
                "<alloc::boxed::Box<F> as futures::future::Future>::poll",
                Share::Combinators,
            ),
            ("<T as core::convert::Into<U>>::into", Share::Other),
            (
                "<&mut T as tokio_io::async_read::AsyncRead>::read_buf",
                Share::Combinators,
            ),
            (
                "<profile_work::work::Script as std::io::Read>::read",
                Share::Load,
            ),
            (
                "<profile_work::future::Serve as futures::future::Future>::poll",
                Share::Program,
            ),
            ("__memcpy_avx_unaligned_erms", Share::Copying),
            ("_int_free_chunk", Share::Allocation),
            ("core::fmt::write", Share::Formatting),
            (
                "<alloc::string::String as core::fmt::Write>::write_str",
                Share::Formatting,
            ),
            ("core::ops::function::FnOnce::call_once", Share::Program),
            ("recv", Share::Calls),
            ("epoll_wait", Share::Reactor),
            ("0x00000000001ab320", Share::Other),
        ] {
            assert_eq!(share(function), wanted, "{function}");
        }
    }

    #[test]
    fn shares_sum_up_to_all_functions() {
        let part = |name: &str, value| Part {
            name: name.to_string(),
            value,
        };
        let parts = of(vec![
            part("malloc", 30.0),
            part("free", 20.0),
            part("a::b", 40.0),
        ]);
        let found: Vec<(&str, f64)> = parts.iter().map(|p| (p.name.as_str(), p.value)).collect();
        assert_eq!(
            found,
            [
                ("allocation", 50.0),
                ("program", 40.0),
                ("allocation: malloc", 30.0),
                ("allocation: free", 20.0),
                ("program: a::b", 40.0)
            ]
        );
    }

    #[test]
    fn no_line_of_the_table_hides_a_later_one() {
        for (i, (later, _)) in TABLE.iter().enumerate() {
            let whole = later.trim_end_matches('*');
            let hides = |earlier: &str| match earlier.strip_suffix('*') {
                Some(beginning) => whole.starts_with(beginning),
                None => earlier == *later,
            };
            let hidden_by = TABLE[..i].iter().find(|(earlier, _)| hides(earlier));
            assert_eq!(hidden_by, None, "{later}");
        }
    }
}
