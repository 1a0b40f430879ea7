//! Whose instructions a function's are: by its name, with a table.
//!
//! What was inlined into a function counts as the function's, so shares are exact in sum and rough at their borders:
//! a chain of combinators that the compiler melts into its caller is the caller's.

use std::collections::BTreeMap;

use crate::model::Part;

/// Whose the functions are of these names, or with these beginnings where a star ends them: the longest that fits decides.
const TABLE: &[(&str, &str)] = &[
    // futures 0.1's combinators, futures-util's, and the small futures of the I/O crates.
    (
        "combinators",
        "futures::future::*, futures::stream::*, futures::sink::*, futures::poll::*, futures_util::*, \
         futures_core::*, tokio_io::*, tokio::io::util::*",
    ),
    // Between both generations.
    (
        "bridge",
        "tokio_core_compat::*",
    ),
    // What the peer's own source does: hand-written futures, async fns, callbacks. Closures are the peer's too.
    (
        "program",
        "core::ops::function::*",
    ),
    // Waiting, waking, running tasks, timers, sockets' readiness.
    (
        "reactor",
        "epoll_*, eventfd*, clock_gettime*, __vdso*, pthread_*, __tls_get_addr, ptunnel::io::*, \
         ptunnel::timer::*, ptunnel::ticker::*, ptunnel_notify::*, futures::*, tokio*, mio::*, may::*, \
         generator::*, scoped_tls::*, slab::*, parking_lot*, crossbeam*, std::thread::local::*, \
         std::time::*, std::sys::pal::unix::time::*, std::sync::*, std::sys::sync::*",
    ),
    (
        "parsing",
        "__memcmp*, bcmp, ptunnel_proto::*, ptunnel_core::config::*, httparse::*, http::*, memchr::*, \
         base64::*, percent_encoding::*, core::str::*, core::num::*, core::slice::memchr::*",
    ),
    (
        "copying",
        "__memcpy*, __memmove*, __memset*, memcpy*, memmove*, memset*, bytes::*",
    ),
    (
        "allocation",
        "malloc*, calloc, realloc, free, cfree*, _int_*, _mid_memalign*, posix_memalign, aligned_alloc, \
         unlink_chunk*, sysmalloc, systrim*, mi_*, _mi_*, tcache_*, alloc::alloc::*, alloc::raw_vec::*, \
         __rust_*, __rdl_*, __rustc::*",
    ),
    // Logging is formatting, for the most part.
    (
        "formatting and logging",
        "ptunnel_core::observe::access_log::*, ptunnel_core::observe::logging::*, ptunnel_proto::text::*, log::*, \
         httpdate::*, itoa::*, time::*, alloc::fmt::*, <alloc::string::String as core::fmt*, core::fmt::*",
    ),
    // The user's side of system calls.
    (
        "system calls, user side",
        "__pthread_enable_asynccancel, __pthread_disable_asynccancel, __errno_location, recv*, send*, \
         read, readv, write, writev, splice, accept*, connect, close, socket, bind, listen, shutdown, \
         setsockopt, getsockopt, getsockname, getpeername, ioctl, fcntl*, pipe2, syscall, \
         ptunnel_core::os::sys::*, socket2::*, rustix::*, libc::*, net2::*, iovec::*, std::net::*, std::os::*, \
         std::sys::*",
    ),
    // The other side of the work in memory.
    (
        "load",
        "profile_work::work::*, ptunnel_benches::peer::work::*, profile_async::Scripted",
    ),
    (
        "other",
        "core::*, alloc::*, std::*, hashbrown::*",
    ),
];

/// Of a path of a crate that the table doesn't name: the peer's own.
const PROGRAM: &str = "program";
const OTHER: &str = "other";

/// The sums of the shares, the dearest first; then the functions behind them, as `SHARE: FUNCTION`.
pub fn of(functions: Vec<Part>) -> Vec<Part> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for function in &functions {
        *sums.entry(share(&function.name)).or_default() += function.value;
    }
    let shares = sums
        .into_iter()
        .map(|(share, value)| Part::new(share, value));
    let mut parts: Vec<Part> = shares.collect();
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    let named = |Part { name, value }| Part::new(format!("{}: {name}", share(&name)), value);
    parts.extend(functions.into_iter().map(named));
    parts
}

fn share(function: &str) -> &'static str {
    let path = owner(function);
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => path.starts_with(beginning) || function.starts_with(beginning),
        None => path == pattern || function == pattern,
    };
    match patterns()
        .filter(|(_, pattern)| fits(pattern))
        .max_by_key(|(_, pattern)| pattern.len())
    {
        Some((share, _)) => share,
        None if path.contains("::") => PROGRAM,
        None => OTHER,
    }
}

fn patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_share =
        |&(share, names): &(_, &'static str)| names.split(", ").map(move |name| (share, name));
    TABLE.iter().flat_map(of_share)
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

    const FUNCTIONS: &str = "\
<futures::future::then::Then<A,B,F> as futures::future::Future>::poll = combinators
futures::task_impl::Task::will_notify_current = reactor
<ptunnel::io::reactor::Queue as futures::task_impl::Notify>::notify = reactor
ptunnel::relay::half::HalfDuplex::poll = program
ptunnel_rung::accept::serve::{{closure}} = program
ptunnel_proto::http::response::Response::decode = parsing
<tokio_core_compat::task::crossing::PutBack as core::ops::drop::Drop>::drop = bridge
tokio::runtime::io::registration::Registration::poll_ready = reactor
tokio_core::reactor::Core::poll = reactor
tokio::io::util::copy::CopyBuffer::poll_fill_buf = combinators
<&socket2::socket::Socket as std::io::Read>::read = system calls, user side
<&std::net::tcp::TcpStream as std::io::Write>::write = system calls, user side
core::ptr::drop_in_place<core::option::Option<ptunnel::timer::TaskCountdown>> = reactor
core::ptr::drop_in_place<std::io::error::Error> = other
<alloc::boxed::Box<F> as futures::future::Future>::poll = combinators
<T as core::convert::Into<U>>::into = other
<&mut T as tokio_io::async_read::AsyncRead>::read_buf = combinators
<profile_work::work::Script as std::io::Read>::read = load
<profile_work::future::Serve as futures::future::Future>::poll = program
__memcpy_avx_unaligned_erms = copying
_int_free_chunk = allocation
core::fmt::write = formatting and logging
<alloc::string::String as core::fmt::Write>::write_str = formatting and logging
core::ops::function::FnOnce::call_once = program
recv = system calls, user side
epoll_wait = reactor
0x00000000001ab320 = other";

    #[test]
    fn functions_of_real_profiles_find_their_share() {
        for line in FUNCTIONS.lines() {
            let (function, wanted) = line.split_once(" = ").unwrap();
            assert_eq!(share(function), wanted, "{function}");
        }
    }

    #[test]
    fn shares_sum_up_to_all_functions() {
        let functions = [("malloc", 30.0), ("free", 20.0), ("a::b", 40.0)];
        let part = |(name, value): (&str, f64)| Part::new(name, value);
        let wanted = [
            ("allocation", 50.0),
            ("program", 40.0),
            ("allocation: malloc", 30.0),
            ("allocation: free", 20.0),
            ("program: a::b", 40.0),
        ];
        assert_eq!(of(functions.map(part).to_vec()), wanted.map(part));
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<&str> = patterns().map(|(_, name)| name).collect();
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
