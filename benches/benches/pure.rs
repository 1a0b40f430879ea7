//! The part of ptunnel that doesn't poll: bytes to values and back, per call.

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use ptunnel_proto::values::{HostPort, NoProxy, Secret, TunnelUrl};
use ptunnel_proto::{ConnectHead, HeadReader, Request, Response, StatusClass, HEAD_LIMIT};

const GRANTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
const REFUSED: &[u8] = b"HTTP/1.1 407 Proxy Authentication Required\r\n\
    Server: squid/5.7\r\n\
    Date: Fri, 21 Nov 2025 11:00:00 GMT\r\n\
    Content-Type: text/html;charset=utf-8\r\n\
    Content-Length: 3719\r\n\
    Proxy-Authenticate: Negotiate\r\n\
    Proxy-Authenticate: Basic realm=\"proxy\"\r\n\
    Connection: keep-alive\r\n\r\n";
const ASKED: &[u8] = b"CONNECT imap.example.org:993 HTTP/1.1\r\n\
    Host: imap.example.org:993\r\n\
    Proxy-Authorization: Basic am9lOnNlY3JldA==\r\n\
    User-Agent: mail/1.0\r\n\r\n";
const NO_PROXY: &str = "localhost,127.0.0.0/8,::1,10.0.0.0/8,192.168.0.0/16,.internal.example,\
    example.net:8443,intranet,fd00::/8,build.example.com";

fn heads(c: &mut Criterion) {
    let mut group = c.benchmark_group("head");
    for (name, bytes) in [("granted", GRANTED), ("refused", REFUSED)] {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| match Response::decode(black_box(bytes), HEAD_LIMIT) {
                Ok(Some((response, _))) => response.status_class() == StatusClass::Granted,
                other => panic!("{other:?}"),
            })
        });
    }
    group.throughput(Throughput::Bytes(ASKED.len() as u64));
    group.bench_function("asked", |b| {
        b.iter(|| match ConnectHead::decode(black_box(ASKED), HEAD_LIMIT) {
            Ok(Some((_, length))) => length,
            other => panic!("{other:?}"),
        })
    });
    // What a proxy that sends its head in pieces costs: each prefix is looked at once.
    group.throughput(Throughput::Bytes(REFUSED.len() as u64));
    group.bench_function("refused in pieces of 64", |b| {
        b.iter(|| {
            let mut reader = HeadReader::new(HEAD_LIMIT);
            let pieces = black_box(REFUSED).chunks(64);
            let heads = pieces.filter_map(|piece| reader.extend(piece, Response::decode).ok()?);
            heads.count()
        })
    });
    group.finish();
}

fn requests(c: &mut Criterion) {
    let target: HostPort = "imap.example.org:993".parse().unwrap();
    let plain = Request::connect(&target);
    let known = Request::connect(&target)
        .authorization(Secret::new("Basic am9lOnNlY3JldA=="))
        .header("User-Agent: mail/1.0".parse().unwrap());
    let mut group = c.benchmark_group("request");
    group.bench_function("plain", |b| b.iter(|| black_box(&plain).encode()));
    group.bench_function("with credentials", |b| {
        b.iter(|| black_box(&known).encode())
    });
    group.finish();
}

fn no_proxy(c: &mut Criterion) {
    let list: NoProxy = NO_PROXY.parse().unwrap();
    let mut group = c.benchmark_group("NO_PROXY, ten entries");
    for (name, destination) in [
        ("first entry", "localhost:80"),
        ("a block", "192.168.7.9:22"),
        ("no entry", "imap.example.org:993"),
    ] {
        let destination: HostPort = destination.parse().unwrap();
        group.bench_function(name, |b| {
            b.iter(|| black_box(&list).covers(black_box(&destination)))
        });
    }
    group.bench_function("parsed", |b| {
        b.iter(|| black_box(NO_PROXY).parse::<NoProxy>())
    });
    group.finish();
}

fn specs(c: &mut Criterion) {
    let mut group = c.benchmark_group("spec");
    for text in ["8993:imap.example.org:993", "[::1]:8022:[2001:db8::1]:22"] {
        group.bench_function(text, |b| b.iter(|| black_box(text).parse::<TunnelUrl>()));
    }
    group.finish();
}

criterion_group!(benches, heads, requests, no_proxy, specs);
criterion_main!(benches);
