//! The ACL of listeners, `--allow-from`.
//!
//! It is a part of a listener's [settings](crate::listener::settings::ListenerSettings) and changes
//! with them.

use crate::observe::logging::context::{LogContext, Origin};
use crate::observe::turned_away::TurnedAway;
use ptunnel_proto::values::Cidr;

/// The addresses that may connect; by default all.
#[derive(Clone, Debug, Default)]
pub struct IpAcl {
    blocks: Vec<Cidr>,
    turned_away: TurnedAway,
}

impl IpAcl {
    /// Makes an ACL of the addresses in `blocks`, of all addresses if there is no block. Clients
    /// that it excludes are added to `turned_away`.
    pub fn new(blocks: Vec<Cidr>, turned_away: &TurnedAway) -> IpAcl {
        let turned_away = turned_away.clone();
        IpAcl {
            blocks,
            turned_away,
        }
    }

    /// Returns whether the client can connect. A rejected client is logged, once a minute. A client
    /// without an address can connect: the permissions of the Unix socket admitted it.
    pub fn admits(&self, client: &LogContext) -> bool {
        let address = match client.client() {
            Origin::Address(address) => address,
            Origin::Unix | Origin::Stdio => return true,
        };
        let mut blocks = self.blocks.iter();
        let is_admitted = self.blocks.is_empty() || blocks.any(|block| block.covers(address.ip()));
        if !is_admitted {
            client.scope(|| self.turned_away.add(client, address));
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptunnel_proto::values::CidrList;

    fn client(address: &str) -> LogContext {
        LogContext::new(Origin::Address(address.parse().unwrap()), None)
    }

    #[test]
    fn an_empty_acl_admits_all() {
        assert!(IpAcl::default().admits(&client("203.0.113.1:5")));
    }

    #[test]
    fn an_acl_excludes_other_addresses() {
        let CidrList(blocks) = "10.0.0.0/8,::1".parse().unwrap();
        let turned_away = TurnedAway::default();
        let access = IpAcl::new(blocks, &turned_away);
        let admits = |address: &str| access.admits(&client(address));
        assert!(admits("10.0.0.1:5") && admits("[::ffff:10.0.0.1]:5") && admits("[::1]:5"));
        assert!(access.admits(&LogContext::new(Origin::Unix, None)));
        assert_eq!(turned_away.count(), 0);
        assert!(!admits("11.0.0.1:5") && !admits("[::ffff:11.0.0.1]:5") && !admits("[::2]:5"));
        assert_eq!(turned_away.count(), 3);
    }
}
