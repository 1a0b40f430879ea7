//! The first bytes of a redirected client, compared with a second reading of a ClientHello and of an
//! HTTP/1 head.

use ptunnel_proto::values::Host;
use ptunnel_proto::{ConnectHead, NoServerName, ServerNameReader, HEAD_LIMIT};

pub fn check(bytes: &[u8]) {
    let whole = server_name(bytes);
    let size = 1 + bytes.len() / 256;
    for end in (0..bytes.len()).step_by(size) {
        let found = server_name(&bytes[..end]);
        assert!(
            found == Ok(None) || found == whole,
            "{end}: {found:?}, then {whole:?}"
        );
    }
    let mut reader = ServerNameReader::default();
    let mut found = bytes.chunks(size).map(|piece| reader.extend(piece));
    match found.find(|found| *found != Ok(None)) {
        // A fault in a field is found as late as with the end of the head.
        None => assert!(
            whole.is_err() || whole == Ok(None),
            "{whole:?}, but nothing in pieces"
        ),
        Some(found) => assert_eq!(found, whole, "in pieces of {size}"),
    }
    match &whole {
        Ok(None) => {
            let filled = [bytes, &vec![b'a'; HEAD_LIMIT]].concat();
            assert_ne!(server_name(&filled), Ok(None), "it would wait for ever");
        }
        Ok(Some(Host::Name(name))) => {
            let expected = match bytes[0] {
                22 => sni(bytes),
                _ => host(bytes),
            };
            assert_eq!(expected.as_ref(), Some(name));
            let destination = format!("{name}:1").parse().expect("a name");
            crate::destination(&destination);
        }
        Ok(Some(Host::Ip(ip))) => panic!("{ip} is no name"),
        Err(_) => {}
    }
}

fn server_name(bytes: &[u8]) -> Result<Option<Host>, NoServerName> {
    ServerNameReader::default().extend(bytes)
}

/// The name of a request that has one.
fn host(bytes: &[u8]) -> Option<String> {
    let (head, _) = ConnectHead::decode(bytes, HEAD_LIMIT).ok()??;
    assert!(head.target.starts_with(['/', '*']), "it is for a proxy");
    let host = head.host?;
    let end = host.rfind(':').unwrap_or(host.len());
    Some(host[..end].to_string())
}

/// The name in the message that these records hold, found by offsets.
fn sni(mut records: &[u8]) -> Option<String> {
    let mut hello = Vec::new();
    while records.len() > 5 {
        let length = usize::from(u16::from_be_bytes([records[3], records[4]]));
        let end = records.len().min(5 + length);
        hello.extend(&records[5..end]);
        records = &records[end..];
    }
    let number = |at: usize, count: usize| {
        let bytes = hello.get(at..at + count)?;
        Some(bytes.iter().fold(0, |sum, byte| sum * 256 + *byte as usize))
    };
    let mut at = 4 + 2 + 32;
    for size in [1, 2, 1] {
        at += size + number(at, size)?;
    }
    at += 2;
    while number(at, 2)? != 0 {
        at += 4 + number(at + 2, 2)?;
    }
    at += 6;
    while number(at, 1)? != 0 {
        at += 3 + number(at + 1, 2)?;
    }
    let name = hello.get(at + 3..at + 3 + number(at + 1, 2)?)?;
    String::from_utf8(name.to_vec()).ok()
}
