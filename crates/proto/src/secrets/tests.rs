use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use percent_encoding::{utf8_percent_encode, NON_ALPHANUMERIC};
use proptest::prelude::*;

use super::*;
use crate::auth::basic;
use crate::text::json::Quoted;

const PASSWORD: &str = "hunter2-<&>\"'/+ \\ü";

fn credentials(password: &str) -> Credentials {
    Credentials::new("joe", Secret::new(password)).unwrap()
}

fn secrets(password: &str) -> Secrets {
    let credentials = credentials(password);
    let mut secrets = Secrets::default();
    secrets.add_credentials(&credentials);
    secrets.add_authorization(&basic(&credentials));
    secrets
}

fn hidden(secrets: &Secrets, text: &str) -> String {
    String::from_utf8(secrets.hide(text.as_bytes(), false)).unwrap()
}

fn in_html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;").replace('"', "&quot;");
    text.replace('\'', "&#39;").replace('ü', "&uuml;")
}

fn in_ascii_json(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' | '/' => format!("\\{}", c),
        c if c.is_ascii_alphanumeric() => c.to_string(),
        c => format!("\\u{:04X}", u32::from(c)),
    };
    text.chars().map(escaped).collect()
}

/// The forms in which a proxy or a gateway can show a text.
fn forms(text: &str) -> Vec<String> {
    let percent = utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let json = Quoted(text).to_string();
    let json = json[1..json.len() - 1].to_string();
    let decimal = |c: char| format!("&#{};", u32::from(c));
    vec![
        text.into(),
        text.to_uppercase(),
        percent.replace("%20", "+"),
        in_ascii_json(text),
        in_html(text),
        in_html(&json),
        in_html(&percent),
        utf8_percent_encode(&percent, NON_ALPHANUMERIC).to_string(),
        text.chars().map(decimal).collect(),
        text.chars()
            .map(|c| format!("&#X{:x};", u32::from(c)))
            .collect(),
        percent.chars().map(decimal).collect(),
        // A program that takes UTF-8 for Latin-1.
        text.bytes().map(char::from).collect(),
        percent,
        json,
    ]
}

#[test]
fn a_password_is_hidden_in_every_form() {
    let secrets = secrets(PASSWORD);
    for form in forms(PASSWORD) {
        let text = format!("[{}], '{}'", form, form);
        assert_eq!(hidden(&secrets, &text), "[***], '***'", "{}", form);
    }
    let latin_1: Vec<u8> = PASSWORD.chars().map(|c| c as u8).collect();
    assert_eq!(secrets.hide(&latin_1, false), b"***");
}

#[test]
fn base64_is_hidden_in_every_form_and_place() {
    let secrets = secrets(PASSWORD);
    let (user, alone) = (format!("joe:{}", PASSWORD), PASSWORD.to_string());
    for text in &[user, alone] {
        for encoded in &[STANDARD.encode(text), URL_SAFE.encode(text)] {
            for form in forms(encoded.trim_end_matches('=')) {
                assert_eq!(hidden(&secrets, &form), "***", "{} of {}", form, text);
            }
        }
    }
    for before in &["", "x", "xy", "CORP\\joe:"] {
        for after in &["", "y", "yz"] {
            let encoded = STANDARD.encode([before, PASSWORD, after].concat());
            let shown = hidden(&secrets, &encoded);
            let left = shown.len() - "***".len();
            assert!(shown.contains("***"), "{}", shown);
            let around = before.len() + after.len();
            assert!(left <= (around + 4) / 3 * 4 + 4, "{} of {}", shown, encoded);
        }
    }
}

#[test]
fn answers_of_other_schemes_are_hidden() {
    let mut secrets = Secrets::default();
    let digest = "username=\"joe\", realm=\"r\", nonce=\"n1n1\", response=\"0f0f0f0f\", \
                  cnonce=\"c2c2c2\"";
    secrets.add_authorization(&Secret::new(format!("Digest {}", digest)));
    secrets.add_authorization(&Secret::new("NTLM TlRMTVNTUAADAAAA"));
    secrets.add_authorization(&Secret::new("Negotiate YIIB/+c="));
    for (text, expected) in &[
        (digest, "***"),
        ("nonce=n1n1,response=0f0f0f0f", "nonce=n1n1,response=***"),
        ("{\"cnonce\":\"c2c2c2\"}", "{\"cnonce\":\"***\"}"),
        ("NTLM TlRMTVNTUAADAAAA", "NTLM ***"),
        ("Negotiate YIIB\\/+c", "Negotiate ***"),
        // Shortened by a gateway.
        ("NTLM TlRMTVNTUAAD...", "NTLM ***..."),
        ("wrong response=0f0f0f0f", "wrong response=***"),
        ("the username is wrong", "the username is wrong"),
    ] {
        assert_eq!(hidden(&secrets, text), *expected);
    }
    assert_eq!(hidden(&secrets, &in_html(digest)), "***");
}

#[test]
fn values_of_headers_are_hidden_and_their_parts() {
    let mut secrets = Secrets::default();
    for header in &[
        "Cookie: sid=abc123; theme=x",
        "Authorization: Bearer t0k3n-t0k3n",
        "X-Login: Basic am9lOmh1bnRlcjI=",
        "X-Short: ab",
    ] {
        secrets.add_header(&header.parse().unwrap());
    }
    for (text, expected) in &[
        ("sid=abc123; theme=x", "***"),
        ("your sid is abc123", "your sid is ***"),
        ("Bearer%20t0k3n-t0k3n", "***"),
        ("no t0k3n-t0k3n", "no ***"),
        ("joe has hunter2", "joe has ***"),
        ("theme ab", "theme ab"),
    ] {
        assert_eq!(hidden(&secrets, text), *expected);
    }
}

/// A text with a gap would show the reader which word is the password.
#[test]
fn a_text_with_a_short_password_is_hidden_as_a_whole() {
    for password in &["a", "x1", "b-c"] {
        let secrets = secrets(password);
        for text in &[
            format!("user joe password {}", password),
            format!("{{\"password\":\"{}\"}}", password),
        ] {
            assert_eq!(hidden(&secrets, text), "***", "{}", text);
        }
        let ordinary = "cat x12 b-cd forbidden";
        assert_eq!(hidden(&secrets, ordinary), ordinary);
        let encoded = basic(&credentials(password)).reveal().to_string();
        assert!(hidden(&secrets, &encoded).starts_with("Basic ***"));
    }
}

/// A sandbox can have a token as the username.
#[test]
fn a_username_without_a_password_is_the_secret() {
    let mut secrets = Secrets::default();
    let token = Credentials::new("t0k3n", Secret::new("")).unwrap();
    secrets.add_credentials(&token);
    assert_eq!(
        hidden(&secrets, "user t0k3n is unknown"),
        "user *** is unknown"
    );
}

#[test]
fn a_cut_text_does_not_end_in_a_part_of_a_secret() {
    let secrets = secrets("hunter2<x>");
    let token = basic(&credentials("hunter2<x>")).reveal()[6..].to_string();
    for secret in &["hunter2<x>", token.trim_end_matches('=')] {
        for form in forms(secret) {
            for cut in (1..form.len()).filter(|cut| form.is_char_boundary(*cut)) {
                let text = format!("denied: {}", &form[..cut]);
                let shown = secrets.hide(text.as_bytes(), true);
                let shown = String::from_utf8(shown).unwrap();
                let left = shown.replace("***", "").replace('…', "");
                assert_eq!(left, "denied: ", "{}", text);
            }
        }
    }
    let whole = secrets.hide(b"denied: hu", false);
    assert_eq!(whole, b"denied: hu");
    for before in LIMIT - 12..LIMIT {
        let text = format!("{}hunter2<x>", ".".repeat(before));
        let shown = hidden(&secrets, &text);
        assert!(
            shown.len() < LIMIT + 4 && !shown.contains('h'),
            "{}",
            before
        );
    }
}

/// Together with the text around it, a secret can look like an escape.
#[test]
fn escapes_that_are_none_hide_no_secret() {
    for (password, text) in &[
        ("aa A", "%aa%20A"),
        ("aa A", "%25aa%2520A"),
        ("lt;\"x", "&lt;&quot;x"),
        ("u00e4\"x", "\\u00e4\\\"x"),
        ("\"a\"b", "\\\\\"a\\\"b"),
        ("ü&abc; d", "ü&abc;%20d"),
        ("a %41", "a%20%41"),
        ("hunter2", "a=b&hunter2;c"),
        ("abc%4", "abc%41"),
        ("41abc", "%41abc"),
        ("x41abc", "\\x41abc"),
        ("p%40ss", "p%2540ss"),
        ("&amp;&amp;", "&amp;&amp;"),
    ] {
        let shown = hidden(&secrets(password), text);
        assert!(
            shown.contains("***") && !shown.contains(password),
            "{}",
            shown
        );
    }
}

#[test]
fn other_texts_stay_as_they_are() {
    let secrets = secrets(PASSWORD);
    for text in &["", "100 % of R&D\\n &amp; ü", "hunter1-<&>", "\u{1b}[m"] {
        assert_eq!(hidden(&secrets, text), *text);
        assert_eq!(hidden(&Secrets::default(), text), *text);
    }
}

#[test]
fn debug_text_holds_no_secret() {
    assert_eq!(format!("{:?}", secrets(PASSWORD)), "Secrets { .. }");
}

proptest! {
    /// Whatever the text around it, and wherever it is cut.
    #[test]
    fn no_text_shows_a_secret(
        before in r"[ -~ü]{0,8}[%&\\]?",
        password in "[ -~ü]{4,9}",
        after in "[ -~ü]{0,9}",
        form in 0..14_usize,
        cut in 0..99_usize,
    ) {
        let form = &forms(&password)[form];
        let text = [&before, &form[..], &after].concat().into_bytes();
        let secrets = secrets(&password);
        let whole = String::from_utf8_lossy(&secrets.hide(&text, false)).into_owned();
        prop_assert!(!whole.contains(&form[..]) || before.contains(&form[..]), "{}", whole);
        let _ = secrets.hide(&text[..cut.min(text.len())], true);
    }

    #[test]
    fn no_bytes_cause_a_panic(text in prop::collection::vec(any::<u8>(), 0..99), is_cut: bool) {
        let _ = secrets("%c3\\u00").hide(&text, is_cut);
    }
}
