//! The head of a proxy's reply, and what is made of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptunnel::wire::{Malformed, Refusal, Response, Verdict, HEAD_LIMIT};

fuzz_target!(|bytes: &[u8]| {
    let (response, length) = match ptunnel_fuzz::head(bytes, Response::decode) {
        Some(whole) => whole,
        None => return,
    };
    assert_eq!(status(&bytes[..length]), response.status);
    let verdict = match response.status {
        101 => Err(Malformed::Switching),
        100..=199 => Ok(Verdict::Interim),
        200..=299 => Ok(Verdict::Granted),
        300..=599 => Ok(Verdict::Refused),
        other => Err(Malformed::Status(other)),
    };
    assert_eq!(response.verdict(), verdict);

    let is_text = |b: &u8| *b == b'\t' || (*b >= b' ' && *b != 0x7f);
    assert!(response.reason.iter().all(is_text), "{:?}", response.reason);
    for (index, scheme) in response.schemes.iter().enumerate() {
        assert!(
            scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-'),
            "{scheme:?}"
        );
        let before = &response.schemes[..index];
        assert!(
            !before
                .iter()
                .any(|other| other.eq_ignore_ascii_case(scheme)),
            "{scheme:?}"
        );
    }

    let told = Refusal::new(response, &bytes[length..]).to_string();
    ptunnel_fuzz::shown(&told);
    assert!(
        told.len() <= 2 * HEAD_LIMIT,
        "{} bytes to be shown",
        told.len()
    );
});

/// Read anew, without the parser that is tested: the first line that isn't blank.
fn status(head: &[u8]) -> u16 {
    let mut lines = head
        .split(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let line = lines.find(|line| !line.is_empty()).expect("a status line");
    assert!(
        line.starts_with(b"HTTP/1.0 ") || line.starts_with(b"HTTP/1.1 "),
        "{line:?}"
    );
    assert!(line.len() == 12 || line[12] == b' ', "{line:?}");
    let digits = std::str::from_utf8(&line[9..12]).expect("digits");
    assert!(digits.bytes().all(|b| b.is_ascii_digit()), "{digits:?}");
    digits.parse().expect("a number")
}
