//! The PROXY header with which a balancer begins a connection, compared with a second decoder.

use std::net::{IpAddr, SocketAddr};

use ptunnel_proto::proxy_protocol::{decode, encode, BadHeader, ClientAddresses, Decoded};
use ptunnel_proto::values::ProxyProtocol;

/// The longest header of each version.
const LIMITS: [usize; 2] = [107, 4096];

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

pub fn check(bytes: &[u8]) {
    let decoded = decode(bytes);
    in_steps(bytes, &decoded);
    match &decoded {
        Ok(Decoded::Whole(addresses, length)) => {
            let header = &bytes[..*length];
            assert_eq!(
                decode(header),
                decoded,
                "bytes behind the header make a difference"
            );
            assert_eq!(
                *addresses,
                second(header),
                "{:?}",
                header.escape_ascii().to_string()
            );
            let limit = LIMITS[usize::from(header.starts_with(SIGNATURE))];
            assert!(header.len() <= limit, "{} bytes", header.len());
            for version in [ProxyProtocol::V1, ProxyProtocol::V2] {
                let again = encode(version, addresses.as_ref());
                assert_eq!(decode(&again), Ok(Decoded::Whole(*addresses, again.len())));
            }
        }
        Ok(Decoded::Missing(count)) => {
            assert!(
                *count > 0 && bytes.len() < LIMITS[1],
                "it would wait for ever"
            );
            // Whatever comes ends it.
            let filled = [bytes, &vec![b'a'; LIMITS[1]]].concat();
            assert!(
                !matches!(decode(&filled), Ok(Decoded::Missing(_))),
                "it would wait for ever"
            );
        }
        Err(why) => {
            crate::shown(&why.to_string());
            let more = [bytes, b"\r\n"].concat();
            assert!(
                decode(&more).is_err(),
                "a fault is mended by bytes behind it"
            );
        }
    }
}

/// Reads the bytes as the engine does, no more than is missing each time: no byte behind the header
/// is read, and the result is the same.
fn in_steps(bytes: &[u8], whole: &Result<Decoded, BadHeader>) {
    let mut length = 0;
    let end = loop {
        match decode(&bytes[..length]) {
            Ok(Decoded::Missing(count)) if length < bytes.len() => {
                length = bytes.len().min(length + count);
            }
            end => break end,
        }
    };
    match (&end, whole) {
        (Ok(Decoded::Whole(_, end)), _) => {
            assert_eq!(*end, length, "bytes behind the header were read");
            assert_eq!(decode(&bytes[..length]), *whole);
        }
        (Ok(Decoded::Missing(_)), Ok(Decoded::Missing(_))) | (Err(_), Err(_)) => {}
        other => panic!("{other:?}"),
    }
}

/// A second decoder of a whole header, after proxy-protocol.txt §2.1 and §2.2.
fn second(header: &[u8]) -> Option<ClientAddresses> {
    let (client, listener): (SocketAddr, SocketAddr) = match header.strip_prefix(SIGNATURE) {
        None => {
            let line = std::str::from_utf8(header).expect("text");
            let line = line.strip_suffix("\r\n").expect("a line");
            let words: Vec<&str> = line.split(' ').collect();
            let family = match words[1] {
                "UNKNOWN" => return None,
                family => family,
            };
            let [_, _, from, to, from_port, to_port] = words[..] else {
                panic!("{line}");
            };
            let address = |ip: &str, port: &str| {
                let ip: IpAddr = ip.parse().expect("an address");
                assert_eq!(if ip.is_ipv4() { "TCP4" } else { "TCP6" }, family);
                SocketAddr::new(ip, port.parse().expect("a port"))
            };
            (address(from, from_port), address(to, to_port))
        }
        Some([0x20, ..]) => return None,
        Some([0x21, 0x11, _, _, a, b, c, d, e, f, g, h, ports @ ..]) => {
            let ports: Vec<u16> = read_ports(ports);
            (
                ([*a, *b, *c, *d], ports[0]).into(),
                ([*e, *f, *g, *h], ports[1]).into(),
            )
        }
        Some([0x21, 0x21, _, _, block @ ..]) => {
            let ip = |at: usize| <[u8; 16]>::try_from(&block[at..at + 16]).expect("16 octets");
            let ports = read_ports(&block[32..]);
            ((ip(0), ports[0]).into(), (ip(16), ports[1]).into())
        }
        Some([0x21, family, ..]) => {
            assert!(family >> 4 <= 3 && family & 15 <= 2, "{family:#x}");
            return None;
        }
        Some(other) => panic!("{other:?}"),
    };
    Some(ClientAddresses::new(client, listener))
}

fn read_ports(bytes: &[u8]) -> Vec<u16> {
    let pairs = bytes.chunks_exact(2).take(2);
    pairs
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
        .collect()
}
