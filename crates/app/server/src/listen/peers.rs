//! How many connections each address has.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

/// Who sent a request: an extension of every request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    pub(crate) encrypted: bool,
}

/// Connections by address; an address without connections has no entry.
#[derive(Clone)]
pub(super) struct Peers {
    most: u32,
    counts: Arc<Mutex<HashMap<IpAddr, u32>>>,
}

/// Counts one open connection until it is dropped.
pub(super) struct ConnectionPermit {
    peers: Peers,
    address: IpAddr,
}

impl Peers {
    pub(super) fn new(most: u32) -> Peers {
        Peers { most, counts: Arc::default() }
    }

    /// Counts a connection of this address; `None` when it has the most allowed.
    pub(super) fn enter(&self, address: IpAddr) -> Option<ConnectionPermit> {
        // One machine has as many IPv6 addresses as it likes within its network.
        let address = network(address);
        let mut counts = self.counts.lock().expect("no thread panics while it holds the lock");
        let count = counts.entry(address).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(ConnectionPermit { peers: self.clone(), address })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut counts = self.peers.counts.lock().expect("no thread panics while it holds the lock");
        let Some(count) = counts.get_mut(&self.address) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(&self.address);
        }
    }
}

/// The address itself, of IPv6 the /64 it is in.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_an_address_are_limited_and_released() {
        let peers = Peers::new(2);
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let first = peers.enter(one).unwrap();
        let _second = peers.enter(one).unwrap();
        assert!(peers.enter(one).is_none());
        assert!(peers.enter(other).is_some());
        drop(first);
        assert!(peers.enter(one).is_some());
        assert_eq!(peers.counts.lock().unwrap().len(), 1, "an address without connections has no entry");
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let peers = Peers::new(1);
        let _permit = peers.enter("2001:db8::1".parse().unwrap()).unwrap();
        assert!(peers.enter("2001:db8::ffff".parse().unwrap()).is_none());
        assert!(peers.enter("2001:db8:0:1::1".parse().unwrap()).is_some());
        let _mapped = peers.enter("::ffff:10.0.0.1".parse().unwrap()).unwrap();
        assert!(peers.enter("10.0.0.1".parse().unwrap()).is_none());
    }
}
