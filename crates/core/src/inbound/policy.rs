//! Which clients and destinations `--serve-proxy` allows, and the HTTP rejections of both inbounds.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use super::http::HttpRules;
use super::login::Login;
use super::password_check::Logins;
use super::{ConnectRequest, Inbound, InboundHandshake, Rejection};
use crate::config::{Route, ServeSpec, TlsSpec};
use crate::error::{Error, TunnelPath};
use crate::upstream::{ProxyChain, ProxySelector, Tunnel};
use ptunnel_proto::auth::{decode_basic, LoginCheck, LoginFault, Verdict};
use ptunnel_proto::proxy_protocol::ClientAddresses;
use ptunnel_proto::text::escape::{excerpt, Escaped};
use ptunnel_proto::values::{Host, HostPort, SendProxyProtocol, Users};
use ptunnel_proto::{
    encode_response, reason_phrase, ConnectHead, ForwardError, Malformed, Refusal,
};

/// The reply to a CONNECT request after its destination is connected (RFC 9110 §9.3.6).
pub(super) const GRANTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// The rules of `--serve-proxy`: which clients may have which destination. Cheap to clone, and to
/// send to another thread.
#[derive(Clone, Debug)]
pub struct Policy {
    spec: Arc<ServeSpec>,
    login: Login,
    tls: Option<TlsSpec>,
    /// Selects no proxy: destinations are reached directly.
    direct: Arc<ProxySelector>,
    client: Option<Arc<ClientAddresses>>,
    is_balanced: bool,
}

impl PartialEq for Policy {
    /// Compares the decisions, not the form of the listener's address.
    fn eq(&self, other: &Policy) -> bool {
        let is_same_login = self.login == other.login && self.tls == other.tls;
        let is_reached_alike = self.is_balanced == other.is_balanced
            && self.send_proxy_protocol() == other.send_proxy_protocol();
        let (one, other) = (&*self.spec, &*other.spec);
        is_same_login
            && one.allow == other.allow
            && one.bind.is_loopback() == other.bind.is_loopback()
            && is_reached_alike
    }
}

impl Policy {
    /// Returns the rules that `spec` states.
    pub fn new(spec: ServeSpec) -> Policy {
        Policy {
            login: Login::of(spec.credentials.as_ref()),
            tls: None,
            spec: Arc::new(spec),
            direct: ProxySelector::new(Route::default()),
            client: None,
            is_balanced: false,
        }
    }

    /// Counts wrong passwords in `logins`, which is shared by all listeners, also by those of a reload.
    pub fn sharing(self, logins: &Logins) -> Policy {
        let login = self.login.sharing(logins);
        Policy { login, ..self }
    }

    /// Requires one of these users; `logins` is as above.
    pub fn of_users(self, users: &Users, logins: &Logins) -> Policy {
        Policy {
            login: Login::of_users(users, logins),
            ..self
        }
    }

    /// Connects to destinations by this route, which has no proxies.
    pub(crate) fn reaching(self, route: Route) -> Policy {
        let direct = ProxySelector::new(route);
        Policy { direct, ..self }
    }

    /// Sets whether a balancer can connect clients of other machines.
    pub(crate) fn balanced(self, is_balanced: bool) -> Policy {
        Policy {
            is_balanced,
            ..self
        }
    }

    /// Requires TLS, if this is given.
    pub fn secured(self, tls: &Option<TlsSpec>) -> Policy {
        Policy {
            tls: tls.clone(),
            ..self
        }
    }

    pub(crate) fn requires_login(&self) -> bool {
        self.login.is_required()
    }

    /// Returns the rules for one client, whose address PROXY headers have.
    pub(crate) fn for_client(self, client: Option<Arc<ClientAddresses>>) -> Policy {
        Policy { client, ..self }
    }

    /// Returns the destinations that get PROXY headers.
    pub(crate) fn send_proxy_protocol(&self) -> &SendProxyProtocol {
        &self.direct.route().send_proxy_protocol
    }

    /// Returns the destination of a request, if the client is allowed to reach it. Neither counts wrong
    /// passwords nor supports users of a file: the [handshake](Inbound::handshake) does both.
    ///
    /// # Errors
    ///
    /// 400 if the request is malformed, 407 without the right credentials, 405 if it isn't CONNECT,
    /// 403 if no pattern of a non-empty allow list covers the destination.
    pub fn judge(
        &self,
        request: Result<ConnectHead, Malformed>,
    ) -> Result<HostPort, HttpRejection> {
        let request = request?;
        let credentials = self.spec.credentials.as_ref();
        authenticate(&request, credentials.map(|it| it as &dyn LoginCheck))?;
        self.grant(&request)
    }

    /// Returns the destination of an authenticated request.
    ///
    /// # Errors
    ///
    /// As [`judge`](Policy::judge), except for 407.
    pub(super) fn grant(&self, request: &ConnectHead) -> Result<HostPort, HttpRejection> {
        if request.method != "CONNECT" {
            let why = format!("only CONNECT is served, not {}", request.method);
            return Err(HttpRejection::new(405, why));
        }
        let target = parse_target(&request.target)?;
        let allow = &self.spec.allow;
        if !allow.is_empty() && !allow.iter().any(|pattern| pattern.covers(&target)) {
            let rejection =
                HttpRejection::new(403, format!("{} isn't allowed; see --serve-allow", target));
            return Err(rejection.directly_to(&target));
        }
        Ok(target)
    }

    /// Returns whether addresses of this machine and its links are excluded for an allowed
    /// destination.
    ///
    /// The owner of an allowed name decides which address it resolves to, so it leads to this
    /// machine only if the allow list covers `localhost`. Without an allow list, no destination
    /// leads to this machine if other machines can connect to the listener.
    fn excludes_local(&self, target: &HostPort) -> bool {
        let ServeSpec { bind, allow, .. } = &*self.spec;
        let localhost = HostPort {
            host: Host::Name("localhost".into()),
            port: target.port,
        };
        match target.host {
            _ if allow.is_empty() => self.is_balanced || !bind.is_loopback(),
            Host::Name(_) => !allow.iter().any(|pattern| pattern.covers(&localhost)),
            // A pattern covers the address itself.
            Host::Ip(_) => false,
        }
    }
}

impl Inbound for Policy {
    fn handshake(&self, client: Option<IpAddr>) -> InboundHandshake {
        InboundHandshake::http(HttpRules::Policy(self.clone()), self.login.check(client))
    }

    fn tls(&self) -> &Option<TlsSpec> {
        &self.tls
    }

    fn tunnel(&self, destination: HostPort) -> Tunnel {
        let exclude_local = self.excludes_local(&destination);
        Tunnel::chosen_by_client(destination, &self.direct, exclude_local)
            .for_client(self.client.clone())
    }

    fn failed(&self, request: &ConnectRequest, error: Error) -> Rejection {
        let rejection = HttpRejection::unreachable(&error);
        rejection.directly_to(&request.destination).into()
    }
}

/// Checks that a request passes `login`, if that is required; returns `false` while that is pending.
///
/// # Errors
///
/// 407 without the right credentials, 429 or 503 if they weren't checked.
pub(super) fn authenticate(
    request: &ConnectHead,
    login: Option<&dyn LoginCheck>,
) -> Result<bool, HttpRejection> {
    let login = match login {
        Some(login) => login,
        None => return Ok(true),
    };
    let given = request.authorization.as_ref().and_then(decode_basic);
    let wrong = Verdict::Refused(LoginFault::Wrong);
    let fault = match given.map_or(wrong, |(user, password)| login.check(&user, &password)) {
        Verdict::Accepted => return Ok(true),
        Verdict::Pending => return Ok(false),
        Verdict::Refused(fault) => fault,
    };
    let status = match fault {
        LoginFault::Wrong => 407,
        LoginFault::Throttled => 429,
        LoginFault::Busy => 503,
    };
    let why = fault.reason();
    let why = why.unwrap_or("this proxy requires a username and a password");
    Err(HttpRejection::new(status, why))
}

pub(super) fn parse_target(target: &str) -> Result<HostPort, HttpRejection> {
    let parsed = target.parse::<HostPort>();
    parsed.map_err(|e| HttpRejection::new(400, e.to_string()))
}

/// An HTTP status that refuses a client, and why; displays as it is logged.
#[derive(Clone, Debug)]
pub struct HttpRejection {
    status: u16,
    why: String,
    /// The refused tunnel, where the client named one.
    path: Option<TunnelPath>,
}

impl HttpRejection {
    fn new(status: u16, why: impl Into<String>) -> HttpRejection {
        HttpRejection {
            status,
            why: excerpt(&why.into()),
            path: None,
        }
    }

    /// Adds the destination that was refused, which would have been reached directly, for the log.
    fn directly_to(self, destination: &HostPort) -> HttpRejection {
        let path = Some(ProxyChain::DIRECT.path_to(destination));
        HttpRejection { path, ..self }
    }

    /// Returns the rejection for a destination that can't be reached: 504 after a timeout, 403 if
    /// its addresses are excluded, 503 if this machine lacks descriptors or memory, else 502. A
    /// proxy's 403, 503 or 504 is passed on.
    pub(super) fn unreachable(error: &Error) -> HttpRejection {
        let passed_on = error
            .refusal()
            .map(|refusal| refusal.status())
            .filter(|status| matches!(status, 403 | 503 | 504));
        let status = if let Some(status) = passed_on {
            status
        } else if error.is_timeout() {
            504
        } else if error.is_exhaustion() {
            503
        } else if error.is_forbidden() {
            403
        } else {
            502
        };
        HttpRejection::new(status, error.to_string())
    }

    /// Returns the same for a forwarded request. After a proxy's 403 the text says that many
    /// proxies allow CONNECT only to port 443: the client asked for a URL on port 80 and can't
    /// know this.
    pub(super) fn unforwarded(error: &Error) -> HttpRejection {
        let mut rejection = HttpRejection::unreachable(error);
        let is_of_connect =
            matches!(error.refusal(), Some(Refusal::Http(refusal)) if refusal.status() == 403);
        if is_of_connect {
            rejection.why += "; many proxies allow CONNECT only to port 443";
        }
        rejection
    }

    /// Returns the error to log.
    fn into_error(self) -> Error {
        let error = match self.status {
            429 => Error::throttled(self.to_string()),
            _ => Error::rejected(self.to_string()),
        };
        match self.path {
            Some(path) => error.on(path),
            None => error,
        }
    }

    /// Returns the bytes of the response.
    pub fn reply(&self) -> Vec<u8> {
        encode_response(self.status, self.fields(), &self.why())
    }

    fn why(&self) -> String {
        Escaped(self.why.as_bytes()).to_string()
    }

    /// Returns the fields that the status requires (RFC 9110 §15.5.6, §15.5.8), or suggests (RFC
    /// 6585 §4).
    fn fields(&self) -> &'static str {
        match self.status {
            405 => "Allow: CONNECT\r\n",
            429 => "Retry-After: 60\r\n",
            407 => "Proxy-Authenticate: Basic realm=\"ptunnel\", charset=\"UTF-8\"\r\n",
            _ => "",
        }
    }
}

impl From<Malformed> for HttpRejection {
    fn from(why: Malformed) -> HttpRejection {
        HttpRejection::new(400, why.to_string())
    }
}

impl From<ForwardError> for HttpRejection {
    fn from(why: ForwardError) -> HttpRejection {
        HttpRejection::new(400, why.to_string())
    }
}

impl From<HttpRejection> for Rejection {
    fn from(rejection: HttpRejection) -> Rejection {
        Rejection {
            reply: rejection.reply(),
            error: rejection.into_error(),
        }
    }
}

impl fmt::Display for HttpRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = reason_phrase(self.status);
        write!(f, "{} {} ({})", self.status, reason, self.why())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::error::Peer;

    /// Regression: a lack of descriptors was reported as an unreachable destination.
    #[test]
    fn a_lack_of_descriptors_is_not_a_bad_gateway() {
        let status = |code| {
            let peer = Peer::Destination("example.org:22".parse().unwrap());
            let error = Error::connect(peer, io::Error::from_raw_os_error(code));
            HttpRejection::unreachable(&error).to_string()[..3].to_string()
        };
        assert_eq!(status(libc::EMFILE), "503");
        assert_eq!(status(libc::ECONNREFUSED), "502");
    }
}
