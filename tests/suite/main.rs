//! Tests the program from outside: its command line, streams, sockets and exit codes.
//!
//! One module for each subject. `PTUNNEL_BIN` points the same suite at any other binary with this
//! command line. `access`, `authorization`, `chains`, `challenges`, `delivery`, `diagnose`, `dynamic`, `fdpass`,
//! `forward`, `half_close_delay`, `listen_tls`, `pac`, `pac_url`, `probes`, `proxy_protocol`, `real`, `redirect`,
//! `sandbox`, `serve`, `socket_activation`, `socks`, `socks4`, `status`, `stdio`, `tls`, `tls_behind`,
//! `unix` and `users` use real proxies, servers and clients; everywhere else the peers are scripted
//! and in this process.

mod examples;

mod access;
mod auth;
mod authorization;
mod balancer;
mod bounds;
mod chains;
mod challenges;
mod checks;
mod config;
mod confinement;
mod connect;
mod delivery;
mod demo;
mod denials;
mod diagnose;
mod documents;
mod dynamic;
mod failed_logins;
mod fdpass;
mod forward;
mod generate;
mod guide;
mod half_close;
mod half_close_delay;
mod help;
mod keepalive;
mod kerberos;
mod linger;
mod listen;
mod listen_tls;
mod logging;
mod logs;
mod loops;
mod messages;
mod mixture;
mod names;
mod pac;
mod pac_url;
mod password_command;
mod probes;
mod proxy_protocol;
mod readme;
mod real;
mod redirect;
mod relay;
mod reload;
mod reload_matrix;
mod reply;
mod route;
mod sandbox;
mod sd_notify;
mod secrets;
mod serve;
mod shutdown;
mod socket_activation;
mod socks;
mod socks4;
mod start_tls;
mod status;
mod stdio;
mod tls;
mod tls_behind;
mod unix;
mod usage;
mod users;
