//! Proxies that refuse a destination with the status of a wrong password.

use super::*;

/// A proxy that offers these schemes, and accepts joe's password in one of them.
struct Strict {
    offers: String,
    accepts: &'static str,
    /// The second message of NTLM, or of Negotiate.
    second: Option<String>,
    /// Grants these without credentials, and refuses those with them.
    open: &'static [&'static str],
    refuses: &'static [&'static str],
    /// The password has expired.
    is_over: bool,
    /// The requests so far: the destination, and the scheme if there was one.
    asked: Vec<String>,
}

impl Strict {
    fn new(offers: &[&str], accepts: &'static str) -> Strict {
        Strict {
            offers: offers.concat(),
            accepts,
            second: None,
            open: &[],
            refuses: &["x:1", "x2:1"],
            is_over: false,
            asked: Vec::new(),
        }
    }

    /// Returns the reply to a request.
    fn reply(&mut self, request: &[u8]) -> String {
        let (head, _) = ConnectHead::decode(request, HEAD_LIMIT).unwrap().unwrap();
        let target = head.target.as_str();
        let given = head.authorization.as_ref();
        let given = given.map_or("", |value| value.reveal());
        let scheme = given.split(' ').next().unwrap_or_default();
        self.asked
            .push(format!("{} {}", target, scheme).trim_end().into());
        if self.open.contains(&target) {
            return GRANTED.into();
        }
        if let Some(second) = self
            .second
            .as_ref()
            .filter(|_| given.contains("TVNTUAABAAAA"))
        {
            return second.clone();
        }
        let is_granted = !self.is_over && !self.refuses.contains(&target);
        if scheme == self.accepts && is_granted {
            return GRANTED.into();
        }
        challenge(&self.offers)
    }

    /// Asks for a destination until the end; returns it as [`said`] does.
    fn ask(&mut self, auth: &AuthCache, target: &str) -> String {
        let request = Request::connect(&target.parse().unwrap());
        let mut negotiation = Negotiation::new(request, Some(auth.clone()));
        let mut message = negotiation.begin();
        loop {
            let reply = self.reply(&message);
            message = match negotiation.feed(reply.as_bytes()).unwrap() {
                NegotiationStep::Send(message) => message,
                NegotiationStep::Redial => negotiation.begin(),
                NegotiationStep::Granted(_) => return "granted".into(),
                NegotiationStep::Refused(refusal) => return refusal.to_string(),
                NegotiationStep::Read => panic!("a whole reply"),
            };
        }
    }

    /// Returns the requests since the last call.
    fn asked(&mut self) -> Vec<String> {
        self.asked.drain(..).collect()
    }
}

const OF_DESTINATION: &str = "; the proxy accepted the credentials for other destinations";
const OF_PASSWORD: &str = "rejected the username or the password";

/// Regression: one such destination kept all others from the password, for 30 or 300 seconds.
#[test]
fn a_refused_destination_is_refused_and_others_are_not() {
    let ntlm = |proxy: Strict| Strict {
        second: Some(ntlm_challenge()),
        ..proxy
    };
    for (proxy, auth, checks) in vec![
        (
            Strict::new(&[BASIC], "Basic"),
            joe(None),
            &["x:1 Basic", "a:1", "a:1 Basic"][..],
        ),
        (
            Strict::new(&[DIGEST], "Digest"),
            joe(None),
            &["x:1 Digest", "x:1 Digest", "a:1", "a:1 Digest"],
        ),
        (
            ntlm(Strict::new(&[NTLM], "NTLM")),
            joe(None),
            &["x:1 NTLM", "x:1 NTLM", "a:1", "a:1 NTLM", "a:1 NTLM"],
        ),
        (
            Strict::new(&[NEGOTIATE], "Negotiate"),
            negotiating("negotiate", 3, 0),
            &["x:1 Negotiate", "a:1", "a:1 Negotiate"],
        ),
        // In another scheme the same user may have another password.
        (
            Strict::new(&[DIGEST, BASIC], "Basic"),
            joe(None),
            &["x:1 Basic", "a:1", "a:1 Basic"],
        ),
    ] {
        let mut proxy = proxy;
        assert_eq!(proxy.ask(&auth, "a:1"), "granted");
        proxy.asked();
        let refused = proxy.ask(&auth, "x:1");
        assert_eq!(refused, format!("407 Who (body){}", OF_DESTINATION));
        assert_eq!(proxy.asked(), checks);
        assert_eq!(proxy.ask(&auth, "b:1"), "granted");
        assert_eq!(proxy.ask(&auth, "a:1"), "granted");
        proxy.asked();
        let again = proxy.ask(&auth, "x:1");
        assert_eq!(proxy.asked(), ["x:1"]);
        assert_says(again, &[OF_DESTINATION, "for this one again in 30s"]);
    }
}

/// Others take the tickets that are ready.
#[test]
fn without_a_ticket_for_the_check_the_destination_is_blamed() {
    let auth = with_tickets("negotiate", 3, 0, 2);
    let mut proxy = Strict::new(&[NEGOTIATE], "Negotiate");
    assert_eq!(proxy.ask(&auth, "a:1"), "granted");
    assert_says(proxy.ask(&auth, "x:1"), &[OF_DESTINATION]);
    assert_eq!(proxy.asked(), ["a:1 Negotiate", "x:1 Negotiate", "a:1"]);
}

/// The first tunnel of all is refused for its destination.
#[test]
fn the_next_destination_decides_if_none_was_granted() {
    let (auth, mut proxy) = (joe(None), Strict::new(&[BASIC], "Basic"));
    assert_says(proxy.ask(&auth, "x:1"), &[OF_PASSWORD]);
    assert_says(proxy.ask(&auth, "x:1"), &["rejected the password before"]);
    assert_eq!(proxy.ask(&auth, "a:1"), "granted");
    assert_says(proxy.ask(&auth, "x:1"), &[OF_DESTINATION]);
    assert_eq!(proxy.ask(&auth, "b:1"), "granted");
    let sent = proxy.asked();
    assert_eq!(sent[..3], ["x:1 Basic", "x:1", "a:1 Basic"]);
}

#[test]
fn a_password_that_expires_is_withheld_after_one_check() {
    for (fields, scheme) in &[(BASIC, "Basic"), (DIGEST, "Digest")] {
        let (auth, mut proxy) = (joe(None), Strict::new(&[fields], scheme));
        assert_eq!(proxy.ask(&auth, "a:1"), "granted");
        assert_eq!(proxy.ask(&auth, "b:1"), "granted");
        proxy.is_over = true;
        proxy.asked();
        assert_says(proxy.ask(&auth, "b:1"), &[OF_PASSWORD]);
        let sent = proxy.asked();
        let checks = sent.iter().filter(|asked| asked.starts_with("a:1 "));
        assert_eq!(checks.count(), 1, "{:?}", sent);
        for target in &["x:1", "a:1", "b:1", "c:1"] {
            let refused = proxy.ask(&auth, target);
            assert_says(refused, &["rejected the password before"]);
        }
        let sent = proxy.asked().concat();
        assert!(!sent.contains(scheme), "{}", sent);
    }
}

#[test]
fn a_destination_that_needs_no_password_decides_nothing() {
    let (auth, mut proxy) = (joe(None), Strict::new(&[BASIC], "Basic"));
    proxy.open = &["o:1", "p:1"];
    for target in &["a:1", "p:1", "o:1"] {
        assert_eq!(proxy.ask(&auth, target), "granted");
    }
    proxy.asked();
    assert_says(proxy.ask(&auth, "x:1"), &[OF_DESTINATION]);
    let expected = ["x:1 Basic", "o:1", "p:1", "a:1", "a:1 Basic"];
    assert_eq!(proxy.asked(), expected);
    assert_eq!(proxy.ask(&auth, "b:1"), "granted");

    // A password that is sent ahead to them hasn't been accepted.
    let auth = joe(None);
    proxy.is_over = true;
    assert_eq!(proxy.ask(&auth, "o:1"), "granted");
    assert_says(proxy.ask(&auth, "x:1"), &[OF_PASSWORD]);
    proxy.asked();
    for target in &["b:1", "c:1", "d:1"] {
        assert_says(proxy.ask(&auth, target), &["the password"]);
    }
    assert_eq!(proxy.asked(), ["b:1 Basic", "c:1", "d:1"]);
}

/// Regression: they took the places of all others, and two refused destinations then kept all
/// tunnels from the password.
#[test]
fn many_destinations_that_need_no_password_take_no_places() {
    let (auth, mut proxy) = (joe(None), Strict::new(&[BASIC], "Basic"));
    proxy.open = &[
        "o1:1", "o2:1", "o3:1", "o4:1", "o5:1", "o6:1", "o7:1", "o8:1", "o9:1", "o10:1", "o11:1",
        "o12:1", "o13:1", "o14:1", "o15:1", "o16:1", "o17:1", "o18:1",
    ];
    for target in proxy.open {
        assert_eq!(proxy.ask(&auth, target), "granted");
    }
    let asked = proxy.asked();
    assert_eq!(asked[..2], ["o1:1 Basic", "o2:1 Basic"]);
    assert_eq!(asked[16..], ["o17:1", "o18:1"], "they wait for a proof");
    for target in &["b:1", "c:1"] {
        assert_eq!(proxy.ask(&auth, target), "granted");
    }
    assert_eq!(proxy.asked(), ["b:1", "b:1 Basic", "c:1 Basic"]);
    assert_says(proxy.ask(&auth, "x:1"), &[OF_DESTINATION]);
    assert_eq!(proxy.asked(), ["x:1 Basic", "b:1", "b:1 Basic"]);
    // It is known from the check just now.
    assert_says(proxy.ask(&auth, "x2:1"), &[OF_DESTINATION]);
    assert_eq!(proxy.asked(), ["x2:1 Basic"]);
}

/// Regression: it said that the proxy accepted the credentials for others, which it didn't any more.
#[test]
fn a_refusal_during_another_check_claims_nothing() {
    let (auth, mut proxy) = (joe(None), Strict::new(&[BASIC], "Basic"));
    assert_eq!(proxy.ask(&auth, "a:1"), "granted");
    let begun = |target: &str| {
        let request = Request::connect(&target.parse().unwrap());
        let mut negotiation = Negotiation::new(request, Some(auth.clone()));
        negotiation.begin();
        negotiation
    };
    let (mut check, mut other) = (begun("x:1"), begun("b:1"));
    assert_eq!(said(&mut check, &challenge(BASIC)), "redial: ");
    let end = said(&mut other, &challenge(BASIC));
    assert_says(
        end.clone(),
        &["(offers Basic): the proxy rejected the credentials for this"],
    );
    assert!(!end.contains(OF_DESTINATION), "{}", end);
    assert_says(said(&mut check, &challenge(BASIC)), &["Basic "]);
    assert_says(said(&mut check, &challenge(BASIC)), &[OF_PASSWORD]);
    let next = proxy.ask(&auth, "c:1");
    assert_says(next, &["rejected the password before"]);
}

/// The proxy checks the password before it connects.
#[test]
fn a_destination_that_cannot_be_reached_any_more_decides_too() {
    let auth = joe(None);
    let mut proxy = Strict::new(&[BASIC], "Basic");
    assert_eq!(proxy.ask(&auth, "a:1"), "granted");
    let mut refused = {
        let request = Request::connect(&"x:1".parse().unwrap());
        let mut negotiation = Negotiation::new(request, Some(auth.clone()));
        negotiation.begin();
        negotiation
    };
    assert_eq!(said(&mut refused, &challenge(BASIC)), "redial: ");
    assert_says(said(&mut refused, &challenge(BASIC)), &["Basic "]);
    let end = said(&mut refused, "HTTP/1.1 503 No\r\n\r\n");
    assert_says(end, &["refused: 407 Who", OF_DESTINATION]);
    assert_eq!(proxy.ask(&auth, "b:1"), "granted");
}

/// It is final: no other proxy is asked.
#[test]
fn a_check_that_fails_leaves_the_refusal() {
    let auth = joe(None);
    let mut proxy = Strict::new(&[BASIC], "Basic");
    assert_eq!(proxy.ask(&auth, "a:1"), "granted");
    let standing = StandingRefusal::default();
    let request = Request::connect(&"x:1".parse().unwrap());
    let refused = Negotiation::new(request, Some(auth.clone()));
    let mut refused = refused.with_standing(standing.clone());
    refused.begin();
    assert_eq!(said(&mut refused, &challenge(BASIC)), "redial: ");
    assert!(refused.feed(b"nonsense\r\n\r\n").is_err());
    let refusal = standing.take().expect("a refusal");
    assert_says(refusal.to_string(), &[OF_PASSWORD]);
    // The others go on.
    let wake = || Box::new(|| {}) as Box<dyn FnOnce() + Send>;
    assert!(!auth.is_clear(wake));
    drop(refused);
    assert!(auth.is_clear(wake));
    assert_eq!(proxy.ask(&auth, "b:1"), "granted");
}

/// px and tinyproxy refuse a password with it.
#[test]
fn a_401_is_checked_too() {
    let auth = joe(None);
    let mut proxy = Strict::new(&[BASIC], "Basic");
    assert_eq!(proxy.ask(&auth, "a:1"), "granted");
    let request = Request::connect(&"x:1".parse().unwrap());
    let mut refused = Negotiation::new(request, Some(auth.clone()));
    refused.begin();
    let reply = "HTTP/1.1 401 No\r\n\r\n";
    assert_eq!(said(&mut refused, reply), "redial: ");
    assert_says(said(&mut refused, &challenge(BASIC)), &["Basic "]);
    let end = said(&mut refused, GRANTED);
    assert_eq!(end, format!("refused: 401 No{}", OF_DESTINATION));
    let again = Request::connect(&"x:1".parse().unwrap());
    let mut again = Negotiation::new(again, Some(auth));
    assert_eq!(credential(&again.begin()), "");
    assert_says(said(&mut again, reply), &[OF_DESTINATION, "again in 30s"]);
}
