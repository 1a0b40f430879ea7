use super::*;

fn addresses(client: &str, listener: &str) -> ClientAddresses {
    ClientAddresses::new(client.parse().unwrap(), listener.parse().unwrap())
}

/// The headers of both versions that name these addresses, as proxy-protocol.txt has them.
fn samples() -> Vec<(Option<ClientAddresses>, Vec<u8>)> {
    let v4 = addresses("192.168.100.200:51234", "192.168.100.201:993");
    let v6 = addresses("[2001:db8::1]:1", "[2001:db8::2]:65535");
    let v2 = |rest: &[u8]| [V2_START, rest].concat();
    let v6_octets = |last: u8| {
        let mut octets = vec![0x20, 1, 0x0d, 0xb8];
        octets.extend([0; 11].iter());
        octets.push(last);
        octets
    };
    let line = b"PROXY TCP4 192.168.100.200 192.168.100.201 51234 993\r\n".to_vec();
    let block = [192, 168, 100, 200, 192, 168, 100, 201, 200, 34, 3, 225];
    let with_tlv = [&[0x21, 0x11, 0, 17][..], &block, &[4, 0, 2, 7, 7]].concat();
    let ports: &[u8] = &[0, 1, 255, 255];
    let over_v6 = [
        &[0x21, 0x21, 0, 36][..],
        &v6_octets(1),
        &v6_octets(2),
        ports,
    ]
    .concat();
    vec![
        (Some(v4), line),
        (Some(v4), v2(&[&[0x21, 0x11, 0, 12][..], &block].concat())),
        (Some(v4), v2(&with_tlv)),
        (
            Some(v6),
            b"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n".to_vec(),
        ),
        (Some(v6), v2(&over_v6)),
        (None, b"PROXY UNKNOWN\r\n".to_vec()),
        (None, b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n".to_vec()),
        (None, v2(&[0x20, 0, 0, 0])),
        // LOCAL with a family that isn't assigned, which the receiver ignores.
        (None, v2(&[0x20, 0xff, 0, 2, 9, 9])),
        (None, v2(&[0x21, 0, 0, 0])),
        // UDP.
        (None, v2(&[&[0x21, 0x12, 0, 12][..], &block].concat())),
    ]
}

#[test]
fn a_header_is_read_as_its_addresses_whatever_follows() {
    for (expected, header) in samples() {
        let whole = Ok(Decoded::Whole(expected, header.len()));
        assert_eq!(decode(&header), whole, "{}", Escaped(&header));
        let more = [&header[..], b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\r\n"].concat();
        assert_eq!(decode(&more), whole, "{}", Escaped(&header));
    }
}

/// A reader that asks for what is missing must not take a byte of the client.
#[test]
fn each_beginning_of_a_header_is_missing_no_more_than_its_rest() {
    for (_, header) in samples() {
        for length in 0..header.len() {
            match decode(&header[..length]) {
                Ok(Decoded::Missing(count)) => {
                    let rest = header.len() - length;
                    assert!(
                        (1..=rest).contains(&count),
                        "{} of {} after {}",
                        count,
                        rest,
                        Escaped(&header[..length])
                    );
                }
                other => panic!("{:?} after {}", other, Escaped(&header[..length])),
            }
        }
    }
}

#[test]
fn a_usual_header_takes_few_reads() {
    for (_, header) in &samples()[..3] {
        let (mut length, mut reads) = (0, 0);
        while let Ok(Decoded::Missing(count)) = decode(&header[..length]) {
            length += count;
            reads += 1;
        }
        assert_eq!(length, header.len());
        assert!(reads <= 10, "{} reads of {}", reads, Escaped(header));
    }
}

#[test]
fn what_is_no_header_is_refused() {
    let v2 = |rest: &[u8]| [V2_START, rest].concat();
    let block = [1; 36];
    for wrong in &[
        b"S".to_vec(),
        b"GET / HTTP/1.1\r\n".to_vec(),
        b"\x16\x03\x01".to_vec(),
        b"PROXY\t".to_vec(),
        b"\r\n\r\n\r".to_vec(),
        b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\n".to_vec(),
        b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1\rx".to_vec(),
        b"PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.1  1.1.1.1 1 1\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.1 ::1 1 1\r\n".to_vec(),
        b"PROXY TCP4 ::1 ::1 1 1\r\n".to_vec(),
        b"PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
        b"PROXY TCP6 fe80::1%eth0 ::1 1 1\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.256 1.1.1.1 1 1\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.1 1.1.1.1 1 65536\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.1 1.1.1.1 +1 1\r\n".to_vec(),
        b"PROXY TCP4 1.1.1.1 1.1.1.1 1 \r\n".to_vec(),
        b"PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
        b"PROXY UNKNOWNS\r\n".to_vec(),
        b"PROXY \r\n".to_vec(),
        v2(&[0x22]),
        v2(&[0x11, 0x11, 0, 12]),
        [&v2(&[0x21, 0x13, 0, 36])[..], &block].concat(),
        [&v2(&[0x21, 0x41, 0, 36])[..], &block].concat(),
        [&v2(&[0x21, 0x11, 0, 11])[..], &block].concat(),
        [&v2(&[0x21, 0x21, 0, 35])[..], &block].concat(),
    ] {
        assert!(decode(wrong).is_err(), "{}", Escaped(wrong));
    }
}

#[test]
fn the_length_is_bounded() {
    let longest = [&b"PROXY UNKNOWN "[..], &[b'f'; 91], b"\r\n"].concat();
    assert_eq!(decode(&longest), Ok(Decoded::Whole(None, 107)));
    let longer = [&b"PROXY UNKNOWN "[..], &[b'f'; 92], b"\r\n"].concat();
    for length in 106..longer.len() {
        assert!(decode(&longer[..length]).is_err(), "{}", length);
    }
    let v2 = |length: u16| {
        let [high, low] = length.to_be_bytes();
        [V2_START, &[0x21, 0x11, high, low]].concat()
    };
    assert_eq!(decode(&v2(4080)), Ok(Decoded::Missing(4080)));
    assert_eq!(decode(&v2(4081)), Err(BadHeader::TooLong(4096)));
}

#[test]
fn what_is_encoded_is_decoded() {
    for version in &[ProxyProtocol::V1, ProxyProtocol::V2] {
        for (addresses, _) in samples() {
            let header = encode(*version, addresses.as_ref());
            let whole = Ok(Decoded::Whole(addresses, header.len()));
            assert_eq!(decode(&header), whole, "{}", Escaped(&header));
        }
    }
    let mixed = addresses("192.0.2.1:5", "[2001:db8::1]:6");
    assert_eq!(
        Escaped(&encode(ProxyProtocol::V1, Some(&mixed))).to_string(),
        "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::1 5 6\\r\\n"
    );
    let mapped = addresses("[::ffff:192.0.2.1]:5", "[::ffff:192.0.2.2]:6");
    assert_eq!(
        Escaped(&encode(ProxyProtocol::V1, Some(&mapped))).to_string(),
        "PROXY TCP4 192.0.2.1 192.0.2.2 5 6\\r\\n"
    );
}
