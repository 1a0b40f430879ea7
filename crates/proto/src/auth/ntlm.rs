//! NTLM version 2 (MS-NLMP) over HTTP (MS-NTHT), in three messages: NEGOTIATE from ptunnel, CHALLENGE
//! from the proxy, AUTHENTICATE from ptunnel.
//!
//! Version 1 is never sent: its answers can be broken in a day. Nothing is signed or sealed afterwards,
//! so no session key is exchanged.

use std::time::{Duration, SystemTime};

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use hmac::{Hmac, Mac};
use md4::{Digest, Md4};
use md5::Md5;

use super::random;
use crate::values::{Credentials, Secret};

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";

// MS-NLMP §2.2.2.5
const UNICODE: u32 = 0x1;
const OEM: u32 = 0x2;
const REQUEST_TARGET: u32 = 0x4;
const NTLM: u32 = 0x200;
const ALWAYS_SIGN: u32 = 0x8000;
const EXTENDED_SESSION_SECURITY: u32 = 0x8_0000;
const TARGET_INFO: u32 = 0x80_0000;
const FLAGS: u32 = UNICODE | REQUEST_TARGET | NTLM | ALWAYS_SIGN | EXTENDED_SESSION_SECURITY;

// MS-NLMP §2.2.2.1
const AV_END: u16 = 0;
const AV_TIMESTAMP: u16 = 7;

/// Offset of the payload of an AUTHENTICATE_MESSAGE that has neither a version nor a MIC (MS-NLMP
/// §2.2.1.3).
const PAYLOAD: usize = 64;

/// Returns the value of `Proxy-Authorization` with the NEGOTIATE_MESSAGE (MS-NLMP §2.2.1.1).
pub(super) fn negotiate() -> Secret {
    let mut message = SIGNATURE.to_vec();
    message.extend_from_slice(&1_u32.to_le_bytes());
    message.extend_from_slice(&FLAGS.to_le_bytes());
    // Neither domain nor workstation: both fields are empty, at the end of the message.
    for _ in 0..2 {
        message.extend_from_slice(&[0, 0, 0, 0, 32, 0, 0, 0]);
    }
    value(&message)
}

fn value(message: &[u8]) -> Secret {
    Secret::new(format!("NTLM {}", STANDARD.encode(message)))
}

/// The proxy's CHALLENGE_MESSAGE (MS-NLMP §2.2.1.2).
pub(super) struct ChallengeMessage {
    nonce: [u8; 8],
    is_unicode: bool,
    /// TargetInfo: a list of identifiers, lengths and values (AV_PAIR, MS-NLMP §2.2.2.1).
    target: Vec<u8>,
}

impl ChallengeMessage {
    /// Decodes the token of an `NTLM` challenge; `None` if it is invalid.
    pub(super) fn read(token: &str) -> Option<ChallengeMessage> {
        let message = STANDARD.decode(token).ok()?;
        if !message.starts_with(SIGNATURE) || word(&message, 8)? != 2 {
            return None;
        }
        let mut nonce = [0; 8];
        nonce.copy_from_slice(message.get(24..32)?);
        let flags = word(&message, 20)?;
        let target = if flags & TARGET_INFO == 0 {
            &[]
        } else {
            let (length, start) = (short(&message, 40)?, word(&message, 44)? as usize);
            message.get(start..start.checked_add(length.into())?)?
        };
        Some(ChallengeMessage {
            nonce,
            is_unicode: flags & UNICODE != 0,
            target: target.to_vec(),
        })
    }

    /// Returns the server's time, which the answer must use.
    fn time(&self) -> Option<[u8; 8]> {
        let mut left = &self.target[..];
        loop {
            let (id, length) = (short(left, 0)?, usize::from(short(left, 2)?));
            let value = left.get(4..4 + length)?;
            match id {
                AV_END => return None,
                AV_TIMESTAMP if length == 8 => {
                    let mut time = [0; 8];
                    time.copy_from_slice(value);
                    return Some(time);
                }
                _ => left = &left[4 + length..],
            }
        }
    }

    /// Returns the value of `Proxy-Authorization` with the AUTHENTICATE_MESSAGE (MS-NLMP §2.2.1.3);
    /// `None` if the operating system has no randomness.
    pub(super) fn answer(&self, credentials: &Credentials) -> Option<Secret> {
        let mut nonce = [0; 8];
        random(&mut nonce)?;
        Some(value(&self.answer_with(
            credentials,
            &nonce,
            file_time(SystemTime::now()),
        )))
    }

    fn answer_with(&self, credentials: &Credentials, nonce: &[u8; 8], now: [u8; 8]) -> Vec<u8> {
        let (domain, user) = names(credentials.user());
        let key = key(domain, user, credentials.password());
        let time = self.time();
        let proof = self.proof(&key, nonce, time.unwrap_or(now));
        // MS-NLMP §3.1.5.1.2: zeros for a server that sends its time.
        let lm = match time {
            Some(_) => vec![0; 24],
            None => [&hmac(&key, &[&self.nonce, nonce])[..], nonce].concat(),
        };
        let text = |text: &str| match self.is_unicode {
            true => utf16(text),
            false => text.as_bytes().to_vec(),
        };
        let workstation = Vec::new();
        let session_key = Vec::new();
        let fields = [
            lm,
            proof,
            text(domain),
            text(user),
            workstation,
            session_key,
        ];

        let mut message = SIGNATURE.to_vec();
        message.extend_from_slice(&3_u32.to_le_bytes());
        let mut offset = PAYLOAD;
        for field in &fields {
            let length = (field.len() as u16).to_le_bytes();
            message.extend_from_slice(&length);
            message.extend_from_slice(&length);
            message.extend_from_slice(&(offset as u32).to_le_bytes());
            offset += field.len();
        }
        let charset = if self.is_unicode { UNICODE } else { OEM };
        message.extend_from_slice(&(FLAGS & !UNICODE | charset).to_le_bytes());
        message.extend_from_slice(&fields.concat());
        message
    }

    /// Returns the NTLMv2_RESPONSE (MS-NLMP §3.3.2): a proof, and its input without the key.
    fn proof(&self, key: &[u8], nonce: &[u8; 8], time: [u8; 8]) -> Vec<u8> {
        let temp = [
            &[1, 1, 0, 0, 0, 0, 0, 0],
            &time[..],
            nonce,
            &[0; 4],
            &self.target,
            &[0; 4],
        ]
        .concat();
        let proof = hmac(key, &[&self.nonce, &temp]);
        [&proof[..], &temp].concat()
    }
}

/// Splits `DOMAIN\user`; any other form, such as `user@domain.example`, is a user without a domain.
fn names(user: &str) -> (&str, &str) {
    match user.find('\\') {
        Some(end) => (&user[..end], &user[end + 1..]),
        None => ("", user),
    }
}

/// Returns NTOWFv2, the key of an answer (MS-NLMP §3.3.2).
fn key(domain: &str, user: &str, password: &Secret) -> Vec<u8> {
    let hash = Md4::digest(utf16(password.reveal()));
    // Each character becomes one character, as in Windows: 'ß' stays.
    let upper: String = user.chars().map(upper).collect();
    hmac(&hash, &[&utf16(&upper), &utf16(domain)])
}

fn upper(c: char) -> char {
    let mut all = c.to_uppercase();
    match (all.next(), all.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

fn utf16(text: &str) -> Vec<u8> {
    let units = text.encode_utf16();
    units.flat_map(|unit| unit.to_le_bytes().to_vec()).collect()
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Md5>::new_from_slice(key).expect("a key may have any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

/// Returns a FILETIME: tenths of microseconds since 1601 (MS-DTYP §2.3.3).
fn file_time(time: SystemTime) -> [u8; 8] {
    const TO_1970: Duration = Duration::from_secs(11_644_473_600);
    let unix = time.duration_since(SystemTime::UNIX_EPOCH);
    let ticks = (unix.unwrap_or_default() + TO_1970).as_nanos() / 100;
    (ticks as u64).to_le_bytes()
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(short(bytes, at)?) | u32::from(short(bytes, at + 2)?) << 16)
}

/// MS-NLMP §4.2.1 and §4.2.4: the published example.
#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; 8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
    const CLIENT_NONCE: [u8; 8] = [0xaa; 8];

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: String = hex.split_whitespace().collect();
        let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(pair).collect()
    }

    /// The example's TargetInfo: "Domain" and "Server".
    fn target() -> Vec<u8> {
        bytes("02000c00 44006f006d00610069006e00 01000c00 530065007200760065007200 00000000")
    }

    fn challenge(flags: u32, target: &[u8]) -> Vec<u8> {
        let mut message = SIGNATURE.to_vec();
        message.extend_from_slice(&2_u32.to_le_bytes());
        message.extend_from_slice(&[0, 0, 0, 0, 48, 0, 0, 0]);
        message.extend_from_slice(&flags.to_le_bytes());
        message.extend_from_slice(&NONCE);
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(&(target.len() as u16).to_le_bytes());
        message.extend_from_slice(&(target.len() as u16).to_le_bytes());
        message.extend_from_slice(&48_u32.to_le_bytes());
        message.extend_from_slice(target);
        message
    }

    fn read(message: &[u8]) -> Option<ChallengeMessage> {
        ChallengeMessage::read(&STANDARD.encode(message))
    }

    fn user(name: &str) -> Credentials {
        Credentials::new(name, Secret::new("Password")).unwrap()
    }

    /// Returns a field of an AUTHENTICATE_MESSAGE.
    fn field(message: &[u8], number: usize) -> Vec<u8> {
        let at = 12 + 8 * number;
        let length = usize::from(short(message, at).unwrap());
        let start = word(message, at + 4).unwrap() as usize;
        message[start..start + length].to_vec()
    }

    #[test]
    fn the_key_equals_the_example() {
        assert_eq!(
            key("Domain", "User", &Secret::new("Password")),
            bytes("0c868a403bfd7a93a3001ef22ef02e3f")
        );
    }

    #[test]
    fn answers_as_the_example_does() {
        let challenge = read(&challenge(FLAGS | TARGET_INFO, &target())).unwrap();
        let message = challenge.answer_with(&user("Domain\\User"), &CLIENT_NONCE, [0; 8]);
        assert_eq!(
            field(&message, 0),
            bytes("86c35097ac9cec102554764a57cccc19 aaaaaaaaaaaaaaaa")
        );
        let proof = field(&message, 1);
        assert_eq!(proof[..16], bytes("68cd0ab851e51c96aabc927bebef6a1c")[..]);
        assert_eq!(
            proof[16..],
            [
                bytes("0101000000000000 0000000000000000 aaaaaaaaaaaaaaaa 00000000"),
                target(),
                bytes("00000000")
            ]
            .concat()[..]
        );
        assert_eq!(field(&message, 2), utf16("Domain"));
        assert_eq!(field(&message, 3), utf16("User"));
        assert_eq!(word(&message, 60), Some(FLAGS));
    }

    /// The server checks that the answer is made for its time.
    #[test]
    fn uses_the_servers_time() {
        let time = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut target = bytes("07000800");
        target.extend_from_slice(&time);
        target.extend_from_slice(&[0; 4]);
        let challenge = read(&challenge(FLAGS | TARGET_INFO, &target)).unwrap();
        let message = challenge.answer_with(&user("User"), &CLIENT_NONCE, [0; 8]);
        assert_eq!(field(&message, 0), [0; 24]);
        assert_eq!(field(&message, 1)[24..32], time);
    }

    #[test]
    fn a_domain_is_split_from_the_user() {
        assert_eq!(names("NORTH\\joe"), ("NORTH", "joe"));
        assert_eq!(names("joe@north.example"), ("", "joe@north.example"));
        assert_eq!(names("joe"), ("", "joe"));
        let key = |user| key("", user, &Secret::new("x"));
        assert_eq!(key("straßé"), key("STRAßÉ"));
    }

    #[test]
    fn an_old_server_gets_its_names_in_bytes() {
        let old = read(&challenge(NTLM, &[])[..32]).unwrap();
        assert!(read(&challenge(NTLM, b"NORTH")).is_some());
        let message = old.answer_with(&user("NORTH\\joe"), &CLIENT_NONCE, [0; 8]);
        assert_eq!(field(&message, 2), b"NORTH");
        assert_eq!(field(&message, 3), b"joe");
        assert_eq!(word(&message, 60), Some(FLAGS & !UNICODE | OEM));
    }

    #[test]
    fn malformed_tokens_are_no_challenge() {
        let good = challenge(FLAGS | TARGET_INFO, &target());
        for end in 0..32 {
            assert!(read(&good[..end]).is_none(), "{}", end);
        }
        // The target information is announced but missing.
        assert!(read(&good[..good.len() - 1]).is_none());
        let mut other = good.clone();
        other[8] = 1;
        assert!(read(&other).is_none());
        assert!(ChallengeMessage::read("*").is_none());
        let endless = read(&challenge(FLAGS | TARGET_INFO, &[1, 0, 255, 255])).unwrap();
        assert_eq!(endless.time(), None);
    }

    #[test]
    fn begins_without_a_name() {
        let value = negotiate();
        let token = value.reveal().strip_prefix("NTLM ").unwrap();
        let message = STANDARD.decode(token).unwrap();
        assert_eq!(message.len(), 32);
        assert_eq!(word(&message, 8), Some(1));
        assert_eq!(word(&message, 12), Some(FLAGS));
    }

    #[test]
    fn time_begins_in_1601() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1);
        let ticks = u64::from_le_bytes(file_time(time));
        assert_eq!(ticks, 116_444_736_000_010_000);
    }
}
