//! Flags about times, connections and threads.

use std::time::Duration;

use super::Flag;
use ptunnel_core::config::{Keepalive, Timeouts};
use ptunnel_proto::values::Splice;

/// Default of --half-close-delay with -W: longer than most proxies and servers take to send the next
/// byte of a reply.
const STDIO_HALF_CLOSE_DELAY: Duration = Duration::from_secs(5);

pub(super) const TIMEOUTS: &[Flag] = &[
    Flag::option("connect-timeout", "SECONDS", "Time to connect to each proxy")
        .default_time(Some(Timeouts::DEFAULT.connect))
        .short("w")
        .described(
            "Covers name resolution and the connection. It also applies to a destination that \
             ptunnel connects to directly. Fractions are allowed; 0 is an error.",
        )
        .example("ptunnel -p proxy.example:3128 --connect-timeout 5 8993:imap.example.org:993"),
    Flag::option("handshake-timeout", "SECONDS", "Time for each proxy's reply")
        .default_time(Some(Timeouts::DEFAULT.handshake))
        .described(
            "Starts when ptunnel is connected to the proxy, and ends with the proxy's last reply. \
             It includes TLS and all rounds of authentication. Each proxy of a chain has this time, \
             and so does TLS with a `tls://` destination. Clients of `--dynamic` and \
             `--serve-proxy` must send their request within it. Fractions are allowed; 0 is an \
             error.",
        )
        .example(
            "ptunnel -p proxy.example:3128 --handshake-timeout 60 8993:imap.example.org:993",
        ),
    Flag::option(
        "idle-timeout",
        "SECONDS",
        "Cut a tunnel without traffic after this time",
    )
    .default_time(Timeouts::DEFAULT.idle)
    .described(
        "ptunnel resets both sides of a tunnel that it cuts, because an ordinary end could make a \
         truncated stream look complete. Fractions are allowed. A tunnel is never cut early, and at \
         most half a second late.",
    )
    .example("ptunnel -p proxy.example:3128 --idle-timeout 3600 8993:imap.example.org:993"),
    Flag::option(
        "linger-timeout",
        "SECONDS",
        "Cut a half-closed tunnel without traffic after this time",
    )
    .default_time(Timeouts::DEFAULT.linger)
    .described(
        "A tunnel is half-closed when one side has ended its direction. After a reset of one side, \
         the other side also has this time to accept more of the data that was received before the \
         reset. Fractions are allowed; 0 sets no limit.",
    )
    .example("ptunnel -p proxy.example:3128 --linger-timeout 300 8993:imap.example.org:993"),
    Flag::option(
        "half-close-delay",
        "SECONDS",
        "Hold back a client's half-close until the server is silent for this time, or never",
    )
    .default_time(Timeouts::DEFAULT.half_close_delay)
    .default_with_stdio(STDIO_HALF_CLOSE_DELAY)
    .suggesting(&["never"])
    .described(
        "When a client ends its direction, as `nc -N` or a pipe into `-W` does, some proxies end \
         both directions, and the reply is lost. With a delay, ptunnel passes the end on only after \
         the server has sent nothing for this time or has ended its direction. With `never`, it \
         waits until the server has ended. 0 passes the end on at once. Fractions are allowed.\n\n\
         Use 30 or `never` for servers that need longer to send the next byte of a reply. If \
         `--idle-timeout` is shorter than the delay, the end is passed on after that time. With \
         `never`, `--linger-timeout` still limits a half-closed tunnel without traffic.",
    )
    .example("ptunnel -p proxy.example:3128 --half-close-delay 30 8080:www.example.org:80"),
    Flag::option(
        "drain-timeout",
        "SECONDS",
        "Time that open tunnels get to finish after SIGTERM",
    )
    .default_time(Some(Timeouts::DEFAULT.drain))
    .described(
        "After SIGTERM or SIGINT, ptunnel accepts no more clients. It cuts the tunnels that are \
         still open after this time, and exits with code 0. A second signal cuts them at once, as \
         does 0. Fractions are allowed. A reload doesn't change this time.",
    )
    .example("ptunnel -p proxy.example:3128 --drain-timeout 300 8993:imap.example.org:993"),
    Flag::option(
        "tcp-keepalive",
        "SECONDS",
        "Idle time before TCP keepalive probes; 0 sends none",
    )
    .default_time(Some(Keepalive::DEFAULT.time))
    .valid("60")
    .described(
        "Keepalive detects a client, proxy or destination that has disappeared. Use less than the \
         default where a firewall drops idle connections. The value is a whole number up to 32767. \
         A probe without an answer is repeated after the same time, or after 75 seconds if that is \
         shorter. Linux gives up after nine probes. Listeners that stay open in a reload keep \
         their value.",
    )
    .example("ptunnel -p proxy.example:3128 --tcp-keepalive 60 8022:host.example.org:22"),
];

pub(super) const RESOURCES: &[Flag] = &[
    Flag::option(
        "max-connections",
        "N",
        "Maximum number of clients; further clients wait",
    )
    .default_words("no limit")
    .valid("100")
    .described(
        "N is at most 1000000 and counts the clients of all listeners. Further connections wait in \
         the kernel's backlog. At the start, ptunnel raises its limit of open files to the hard \
         limit. A tunnel uses two descriptors and, while it is idle, about a kilobyte of memory. A \
         reload doesn't change N.",
    )
    .example("ptunnel -p proxy.example:3128 --max-connections 1000 -D 1080"),
    Flag::switch("multithreaded", "Run one thread per CPU core")
        .short("m")
        .replaced_by(&["threads"])
        .described(
            "Each thread has its own listening sockets on the same ports (SO_REUSEPORT), and the \
             kernel distributes the clients. One thread carries some hundred thousand small \
             messages a second. More threads help with many clients that transfer much data. \
             `--threads` overrides this option. A reload doesn't change the number of threads.",
        )
        .example("ptunnel -p proxy.example:3128 --multithreaded -D 1080"),
    Flag::option("threads", "N", "Number of threads")
        .default("1")
        .valid("4")
        .replaced_by(&["multithreaded"])
        .described("N is at most 1024. See `--multithreaded`.")
        .example("ptunnel -p proxy.example:3128 --threads 4 -D 1080"),
    Flag::switch("unconfined", "Keep system calls and privileges that ptunnel doesn't need")
        .described(
            "Without this option, ptunnel gives them up when it starts. Neither it nor a program that \
             it starts can gain privileges (`no_new_privs`). A filter (seccomp) makes system calls \
             fail that it never needs: to trace a process, to mount, to change the user and, unless \
             `--pac` or a command for a password is given, to start a program. The filter adds about \
             40 ns to each system call. A reload doesn't change it.",
        )
        .example("ptunnel --unconfined -p proxy.example:3128 -D 1080"),
    Flag::option(
        "splice",
        "WHEN",
        "When to use splice(2): auto, never or always",
    )
    .default(Splice::NAMES[0])
    .one_of(Splice::NAMES)
    .described(
        "splice(2) moves data inside the kernel. With `auto`, ptunnel uses it for a direction that \
         stays full, and copies everything else. With `never`, it always copies, for kernels and \
         security modules that reject splice(2). `always` is for tests. Data in TLS is always \
         copied.",
    )
    .example("ptunnel -p proxy.example:3128 --splice never 8993:imap.example.org:993"),
];
