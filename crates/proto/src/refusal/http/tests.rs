use super::*;
use crate::values::Secret;
use crate::{Framing, HEAD_LIMIT};

fn refusal(status: u16, reason: &str, schemes: &[&str], body: &str) -> HttpRefusal {
    HttpRefusal::new(
        response(status, reason, schemes),
        body.as_bytes(),
        &Secrets::default(),
    )
}

fn response(status: u16, reason: &str, schemes: &[&str]) -> Response {
    let challenges = schemes
        .iter()
        .map(|it| format!("Proxy-Authenticate: {}\r\n", it));
    let fields: String = challenges.collect();
    let head = format!("HTTP/1.1 {:03} {}\r\n{}\r\n", status, reason, fields);
    let decoded = Response::decode(head.as_bytes(), HEAD_LIMIT);
    decoded.unwrap().expect("a whole head").0
}

fn shown(status: u16, reason: &str, schemes: &[&str], body: &str) -> String {
    refusal(status, reason, schemes, body).to_string()
}

#[test]
fn shows_the_proxys_reason() {
    assert_eq!(shown(502, "Bad Gateway", &[], ""), "502 Bad Gateway");
    assert_eq!(shown(503, "", &[], "no\r\n  route\n"), "503 (no route)");
    let page = "<!DOCTYPE html>\n<html><head><TITLE>Not\n allowed</TITLE></head>";
    assert_eq!(
        shown(403, "Forbidden", &[], page),
        "403 Forbidden (Not allowed)"
    );
    assert_eq!(shown(403, "Forbidden", &[], "<html>?"), "403 Forbidden");
    let long = shown(500, "x", &[], &"é".repeat(500));
    assert_eq!(long.chars().filter(|c| *c == 'é').count(), 120);
}

/// Regression: `400 Bad Request (400 Bad Request)`.
#[test]
fn a_title_that_repeats_the_status_line_is_left_out() {
    for title in &["400 Bad Request", "Bad request", " 400  BAD\nRequest "] {
        let page = format!("<html><title>{}</title></html>", title);
        let text = shown(400, "Bad Request", &[], &page);
        assert_eq!(text, "400 Bad Request", "{}", title);
    }
    let page = "<title>400 The plain HTTP request was sent to HTTPS port</title>";
    assert!(shown(400, "Bad Request", &[], page).contains("HTTPS port"));
}

#[test]
fn shows_squids_and_tinyproxys_reason_instead_of_their_page() {
    let text = |squid_error: &str| {
        let page = "<title>ERROR: The requested URL could not be retrieved</title>";
        let mut refusal = refusal(503, "Service Unavailable", &[], page);
        refusal.response.squid_error = Some(squid_error.as_bytes().to_vec());
        let text = refusal.to_string();
        assert!(!text.contains("URL"), "{}", text);
        text
    };
    assert_eq!(
        text("ERR_CONNECT_FAIL 111"),
        "503 Service Unavailable: the proxy can't connect to the destination: Connection \
         refused (squid reports ERR_CONNECT_FAIL 111)"
    );
    assert!(text("ERR_DNS_FAIL 0").contains("the destination's name (squid reports"));
    assert!(text("ERR_ACCESS_DENIED 0").contains("rules forbid the request (squid reports"));
    assert!(text("ERR_NEW\x1b[2J x").ends_with(": squid reports ERR_NEW\\x1b[2J x"));
    assert!(text(&"x".repeat(5000)).len() < 300);
    let page = "<title>500 Unable to connect</title>";
    assert_eq!(
        shown(500, "Unable to connect", &[], page),
        "500 Unable to connect: the proxy can't connect to the destination, or resolve its name"
    );
}

#[test]
fn escapes_control_characters() {
    let text = shown(403, "a\x1b[31m", &[], "b\x07\x1b]0;c");
    assert_eq!(text, "403 a\\x1b[31m (b\\x07\\x1b]0;c)");
}

/// Regression: a credential was found by its pattern, so that it was shown in all other places.
#[test]
fn shows_no_secret_that_the_proxy_repeats() {
    let mut secrets = Secrets::default();
    secrets.add_authorization(&Secret::new("Basic am9lOmh1bnRlcjI="));
    let head = "CONNECT a:1 HTTP/1.1\r\nProxy-Authorization: Basic am9lOmh1bnRlcjI=\r\nA: b\r\n";
    let shown = |mut response: Response, body: &str| {
        response.location = Some(b"/?auth=Basic+am9lOmh1bnRlcjI%3D".to_vec());
        response.squid_error = Some(b"ERR_X hunter2".to_vec());
        HttpRefusal::new(response, body.as_bytes(), &secrets).to_string()
    };
    let text = shown(response(403, "No Basic am9lOmh1bnRlcjI=", &[]), head);
    let expected = "403 No Basic ***=: redirect to /?auth=Basic+***%3D: squid reports ERR_X ***";
    assert_eq!(text, expected);
    let mut framed = response(403, "", &[]);
    framed.framing = Some(Framing::Chunked);
    let text = HttpRefusal::new(framed, b"6\r\nx hunt\r\n3\r\ner2\r\n", &secrets);
    assert_eq!(text.to_string(), "403 (x ***)");
    let text = shown(response(407, "", &["hunter2 realm=x"]), "");
    assert!(text.starts_with("407 (offers ***)"), "{}", text);
    // The limit of the excerpt cuts no secret in two.
    for length in 100..130 {
        let body = format!("{} hunter2 {}", "x".repeat(length), "y".repeat(100));
        let refusal = HttpRefusal::new(response(403, "", &[]), body.as_bytes(), &secrets);
        assert!(!refusal.to_string().contains('h'), "{}", refusal);
    }
}

/// Regression: the address of a network's login page was dropped.
#[test]
fn shows_the_location() {
    let mut portal = refusal(302, "Found", &[], "<title>Log in</title>");
    portal.response.location = Some(b"http://portal.example/?a=b\x1b[2J".to_vec());
    assert_eq!(
        portal.to_string(),
        "302 Found: redirect to http://portal.example/?a=b\\x1b[2J (Log in)"
    );
    portal.response.location = Some(vec![b'x'; 5000]);
    assert!(portal.to_string().len() < 300);
}

#[test]
fn a_407_has_a_hint() {
    let missing = refusal(407, "Auth", &["Negotiate", "basic"], "<html>");
    assert_eq!(
        missing.to_string(),
        "407 Auth (offers Negotiate, basic): the proxy requires authentication"
    );
    assert_eq!(missing.hint(), Some(Hint::Give));
    let other = shown(407, "Auth", &["Bearer"], "");
    assert_eq!(
        other,
        "407 Auth (offers Bearer): ptunnel supports only Basic, Digest (MD5, SHA-256), NTLM \
         and Negotiate"
    );
    let ticket = refusal(407, "", &["Negotiate"], "");
    let expected = "407 (offers Negotiate): the proxy requires Kerberos; to use a ticket, add \
         --proxy-auth negotiate";
    assert_eq!(
        (ticket.to_string().as_str(), ticket.hint()),
        (expected, None)
    );
    let after = |failure| {
        let refusal = refusal(407, "", &["NTLM, Basic, ntlm"], "").after(failure);
        (refusal.to_string(), refusal.hint())
    };
    let (text, hint) = after(AuthFailure::Refused(Scheme::Ntlm));
    assert_eq!(
        text,
        "407 (offers NTLM, Basic): the proxy rejected the username or the password, sent with \
         NTLM"
    );
    assert_eq!(hint, Some(Hint::Check));
    let (text, hint) = after(AuthFailure::NotAllowed);
    let restricted = "407 (offers NTLM, Basic): --proxy-auth allows none of these schemes; add \
                      one that the proxy offers";
    assert_eq!((text.as_str(), hint), (restricted, None));
}

/// smokescreen refuses destinations so. Regression: the advice was to set a password.
#[test]
fn a_407_without_a_challenge_is_a_refusal_with_its_reason() {
    let denied = refusal(407, "Rejected", &[], "denied by rule 7");
    assert_eq!(denied.to_string(), "407 Rejected (denied by rule 7)");
    assert_eq!(denied.hint(), None);
    assert!(!denied.wants_credentials());
    assert_eq!(shown(407, "", &[], ""), "407 (offers no scheme)");
}

#[test]
fn a_407_for_a_destination_is_a_refusal_with_its_reason() {
    let after = |left| {
        let page = "<title>ERROR: Cache Access Denied</title>";
        let mut denied = refusal(407, "Auth", &["Basic"], page);
        denied.response.squid_error = Some(b"ERR_CACHE_ACCESS_DENIED 0".to_vec());
        let denied = denied.after(AuthFailure::Destination(left));
        assert_eq!(denied.hint(), None);
        assert!(!denied.wants_credentials());
        denied.to_string()
    };
    let reason = "407 Auth: the proxy's rules forbid the request (squid reports \
                  ERR_CACHE_ACCESS_DENIED 0); the proxy accepted the credentials for other \
                  destinations";
    assert_eq!(after(None), reason);
    let withheld = after(Some(Duration::from_secs(24)));
    let again = ", and ptunnel sends them for this one again in 25s";
    assert_eq!(withheld, format!("{}{}", reason, again));
}
