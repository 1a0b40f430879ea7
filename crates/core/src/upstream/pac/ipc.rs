//! Messages between ptunnel and the process that runs a PAC file: a byte for the kind, the length of
//! the text in four bytes (big-endian), and the text in UTF-8.

use std::io::{self, ErrorKind, Read, Write};

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// The file's text, to be run up to the first call of FindProxyForURL.
    Load,
    /// A URL, a space and a host, for FindProxyForURL.
    Ask,
    /// The response to `Addresses` or `Own`.
    Reply,
    /// The result of FindProxyForURL; empty after `Load`.
    Answer,
    /// An error: its line, a space and its text.
    Thrown,
    /// A request for the addresses of a host name.
    Addresses,
    /// A request for this machine's addresses.
    Own,
    /// A text for the log.
    Log,
}

impl MessageKind {
    const ALL: [MessageKind; 8] = [
        MessageKind::Load,
        MessageKind::Ask,
        MessageKind::Reply,
        MessageKind::Answer,
        MessageKind::Thrown,
        MessageKind::Addresses,
        MessageKind::Own,
        MessageKind::Log,
    ];
}

/// Writes one message, with one call.
pub(super) fn write(mut to: impl Write, kind: MessageKind, text: &str) -> io::Result<()> {
    let mut message = vec![kind as u8];
    message.extend_from_slice(&(text.len() as u32).to_be_bytes());
    message.extend_from_slice(text.as_bytes());
    to.write_all(&message)
}

/// Reads one message, with a text of at most `most` bytes.
///
/// # Errors
///
/// `InvalidData` for an unknown kind or a longer text; those of the reader.
pub(super) fn read(mut from: impl Read, most: usize) -> io::Result<(MessageKind, String)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [kind, a, b, c, d] = head;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    let is_it = |candidate: &&MessageKind| **candidate as u8 == kind;
    match MessageKind::ALL.iter().find(is_it) {
        Some(kind) if length <= most => {
            let mut text = vec![0; length];
            from.read_exact(&mut text)?;
            Ok((*kind, String::from_utf8_lossy(&text).into_owned()))
        }
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

/// Returns the beginning of a text, at most `most` bytes, cut between characters.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let fits = |end: &usize| *end <= most && text.is_char_boundary(*end);
    let end = (0..=most.min(text.len())).rev().find(fits).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_written_and_a_part_of_it_is_an_error() {
        for kind in &MessageKind::ALL {
            let mut bytes = Vec::new();
            write(&mut bytes, *kind, "grün").unwrap();
            assert_eq!(read(&bytes[..], 5).unwrap(), (*kind, "grün".into()));
            for end in 0..bytes.len() {
                assert!(read(&bytes[..end], 5).is_err(), "{}", end);
            }
        }
    }

    /// The PAC file can control the other side.
    #[test]
    fn a_malformed_message_is_refused_before_its_text_is_read() {
        let mut long = Vec::new();
        write(&mut long, MessageKind::Log, "12345").unwrap();
        for bytes in &[&long[..5], &[200, 0, 0, 0, 1, 65], &[0, 255, 255, 255, 255]] {
            let e = read(*bytes, 4).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(
            (cut("grün", 3), cut("grün", 4), cut("", 3)),
            ("gr", "grü", "")
        );
    }
}
