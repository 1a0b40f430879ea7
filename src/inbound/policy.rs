//! What a client may have that asks in HTTP, and how it is told no: that of the embedded proxy, and
//! that of `-D`.

use std::fmt;
use std::sync::Arc;

use crate::config::{Credentials, Family, Host, HostPort, ServeSpec};
use crate::error::Error;
use crate::observe::logging::field::TunnelPath;
use crate::proto::{auth, encode_response, ConnectHead, Forward, ForwardError, Malformed, Refusal};
use crate::text::escape::{excerpt, Escaped};
use crate::upstream::UpstreamPath;

/// The answer to a client whose destination is connected.
pub const GRANTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Who may have which destination. Cheap to clone, and to send to another thread.
#[derive(Clone, Debug)]
pub struct Policy {
    spec: Arc<ServeSpec>,
}

/// Two that do the same are equal, however their address is written.
impl PartialEq for Policy {
    fn eq(&self, other: &Policy) -> bool {
        let (one, other) = (&*self.spec, &*other.spec);
        one.credentials == other.credentials
            && one.allow == other.allow
            && one.bind.is_loopback() == other.bind.is_loopback()
    }
}

impl Policy {
    /// As `spec` has it.
    pub fn new(spec: ServeSpec) -> Policy {
        Policy {
            spec: Arc::new(spec),
        }
    }

    /// The destination, if the client may have it.
    ///
    /// # Errors
    ///
    /// What the client shall be told instead.
    pub fn judge(
        &self,
        request: Result<ConnectHead, Malformed>,
    ) -> Result<HostPort, HttpRejection> {
        let target = target(request, self.spec.credentials.as_ref())?;
        let allow = &self.spec.allow;
        if !allow.is_empty() && !allow.iter().any(|pattern| pattern.covers(&target)) {
            let denial = HttpRejection::new(403, format!("{} is not allowed here", target));
            return Err(denial.directly_to(&target));
        }
        Ok(target)
    }

    /// Which addresses of a destination that was allowed may be connected to.
    ///
    /// Whoever owns an allowed name decides what it resolves to: it leads to this machine itself
    /// or its link only where the list allows `localhost`. Without a list, nothing does if others
    /// than this machine can ask.
    pub fn family(&self, target: &HostPort) -> Family {
        let ServeSpec { bind, allow, .. } = &*self.spec;
        let localhost = HostPort {
            host: Host::Name("localhost".into()),
            port: target.port,
        };
        let exclude_local = match target.host {
            _ if allow.is_empty() => !bind.is_loopback(),
            Host::Name(_) => !allow.iter().any(|pattern| pattern.covers(&localhost)),
            // An address was judged as such.
            Host::Ip(_) => false,
        };
        if exclude_local {
            Family::ANY.elsewhere()
        } else {
            Family::ANY
        }
    }
}

/// The destination that a request asks for with CONNECT, if it is from `user`, or that may be
/// anybody.
///
/// # Errors
///
/// What the client shall be told instead.
pub fn target(
    request: Result<ConnectHead, Malformed>,
    user: Option<&Credentials>,
) -> Result<HostPort, HttpRejection> {
    let request = request?;
    admit(&request, user)?;
    if request.method != "CONNECT" {
        let why = format!("only CONNECT is served, not {}", request.method);
        return Err(HttpRejection::new(405, why));
    }
    read(&request.target)
}

/// What a client asks for that may ask for more than CONNECT.
#[derive(Clone, Debug)]
pub enum Wish {
    /// A tunnel to there.
    Tunnel(HostPort),
    /// That its request be sent on.
    Forward(Forward),
}

/// What a request with this head asks for, if it is from `user`, or that may be anybody.
///
/// # Errors
///
/// What the client shall be told instead.
pub fn wish(
    request: Result<(ConnectHead, Vec<u8>), Malformed>,
    user: Option<&Credentials>,
) -> Result<Wish, HttpRejection> {
    let (request, head) = request?;
    admit(&request, user)?;
    Ok(match request.method.as_str() {
        "CONNECT" => Wish::Tunnel(read(&request.target)?),
        _ => Wish::Forward(Forward::rewrite(&head)?),
    })
}

/// Whether a request is from `user`, if not from anybody.
fn admit(request: &ConnectHead, user: Option<&Credentials>) -> Result<(), HttpRejection> {
    let given = request.authorization.as_ref();
    let is_user = |user| given.map_or(false, |given| auth::is_basic(given, user));
    if user.map_or(true, is_user) {
        return Ok(());
    }
    Err(HttpRejection::new(
        407,
        "this proxy asks for a user and a password",
    ))
}

fn read(target: &str) -> Result<HostPort, HttpRejection> {
    target
        .parse()
        .map_err(|e: Error| HttpRejection::new(400, e.to_string()))
}

/// A no, and its reason; displays as the log has it.
#[derive(Clone, Debug)]
pub struct HttpRejection {
    status: u16,
    why: String,
    /// The tunnel that the client was refused, where it named one.
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

    /// The same, of this tunnel.
    pub(crate) fn of(self, path: TunnelPath) -> HttpRejection {
        let path = Some(path);
        HttpRejection { path, ..self }
    }

    /// The same, of a tunnel that was to lead directly to this destination.
    pub fn directly_to(self, destination: &HostPort) -> HttpRejection {
        self.of(UpstreamPath::DIRECTLY.path_to(destination))
    }

    /// The destination can't be reached: 504 when time ran out, 403 when it may not be, 503 when
    /// it is we who lack something, else 502. A proxy's word for one of these is passed on.
    pub fn unreachable(error: &Error) -> HttpRejection {
        let passed_on = error
            .refusal()
            .map(|refusal| refusal.status())
            .filter(|status| matches!(status, 403 | 503 | 504));
        let status = if let Some(status) = passed_on {
            status
        } else if error.is_timeout() {
            504
        } else if error.is_shortage() {
            503
        } else if error.is_forbidden() {
            403
        } else {
            502
        };
        HttpRejection::new(status, error.to_string())
    }

    /// The same of a request that was to be sent on: many proxies refuse a tunnel to its usual port,
    /// 80, to whom they would grant one to 443, and he who asks for a URL knows nothing of tunnels.
    pub fn unforwarded(error: &Error) -> HttpRejection {
        let mut denial = HttpRejection::unreachable(error);
        let is_of_connect =
            matches!(error.refusal(), Some(Refusal::Http(refusal)) if refusal.status() == 403);
        if is_of_connect {
            denial.why += "; many proxies allow CONNECT to port 443 alone";
        }
        denial
    }

    /// The same for the log.
    pub fn into_error(self) -> Error {
        let error = Error::denied(self.to_string());
        match self.path {
            Some(path) => error.on(path),
            None => error,
        }
    }

    /// What goes to the client.
    pub fn reply(&self) -> Vec<u8> {
        encode_response(self.status, self.reason(), self.fields(), &self.why())
    }

    fn why(&self) -> String {
        Escaped(self.why.as_bytes()).to_string()
    }

    fn reason(&self) -> &'static str {
        match self.status {
            400 => "Bad Request",
            403 => "Forbidden",
            405 => "Method Not Allowed",
            407 => "Proxy Authentication Required",
            503 => "Service Unavailable",
            504 => "Gateway Timeout",
            _ => "Bad Gateway",
        }
    }

    /// Fields that belong to the status (RFC 9110 §15.5.6, §15.5.8).
    fn fields(&self) -> &'static str {
        match self.status {
            405 => "Allow: CONNECT\r\n",
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

impl fmt::Display for HttpRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.status, self.reason(), self.why())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::error::Peer;

    /// A destination was said to be out of reach for want of a descriptor of ours.
    #[test]
    fn what_this_machine_lacks_is_no_bad_gateway() {
        let status = |code| {
            let peer = Peer::Destination("example.org:22".parse().unwrap());
            let error = Error::connect(peer, io::Error::from_raw_os_error(code));
            HttpRejection::unreachable(&error).to_string()[..3].to_string()
        };
        assert_eq!(status(libc::EMFILE), "503");
        assert_eq!(status(libc::ECONNREFUSED), "502");
    }
}
