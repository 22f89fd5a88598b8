//! The connections of each address.

use super::progress::Progress;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

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
    connections: Arc<Mutex<HashMap<IpAddr, Vec<Arc<Progress>>>>>,
}

/// An open connection, until it is dropped.
pub(super) struct Connection {
    peers: Peers,
    address: IpAddr,
    pub(super) progress: Arc<Progress>,
}

impl Peers {
    pub(super) fn new(most: u32) -> Peers {
        Peers { most, connections: Arc::default() }
    }

    /// Adds a connection of an address. If it has the most allowed, its longest idle one has to close; `None` if none is idle.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Connection> {
        // One machine has as many IPv6 addresses as it likes within its network.
        let address = network(address);
        let mut connections = self.connections();
        let known = connections.entry(address).or_default();
        let open = known.iter().filter(|progress| !progress.is_displaced()).count();
        if open >= self.most as usize && !displace_one(known) {
            return None;
        }
        let progress = Progress::new();
        known.push(progress.clone());
        Some(Connection { peers: self.clone(), address, progress })
    }

    /// Makes room: the longest idle connection of the address with the most connections has to close, if one is idle.
    pub(super) fn make_room(&self) {
        let connections = self.connections();
        let largest = connections.iter().max_by_key(|(address, known)| (known.len(), **address));
        if let Some((_, known)) = largest {
            displace_one(known);
        }
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<IpAddr, Vec<Arc<Progress>>>> {
        self.connections.lock().expect("no thread panics while it holds the lock")
    }
}

/// Whether one was idle.
fn displace_one(connections: &[Arc<Progress>]) -> bool {
    let idle = connections.iter().filter_map(|progress| Some((progress.idle_since()?, progress)));
    let longest = idle.min_by_key(|(since, _)| *since);
    longest.inspect(|(_, progress)| progress.displace()).is_some()
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut connections = self.peers.connections();
        let Some(known) = connections.get_mut(&self.address) else { return };
        known.retain(|progress| !Arc::ptr_eq(progress, &self.progress));
        if known.is_empty() {
            connections.remove(&self.address);
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
        let [first, second] = [(); 2].map(|()| peers.enter(one).unwrap());
        let _busy = [first.progress.begin(), second.progress.begin()];
        assert!(peers.enter(one).is_none());
        assert!(peers.enter(other).is_some());
        drop(first);
        assert!(peers.enter(one).is_some());
        assert_eq!(peers.connections().len(), 1, "an address without connections has no entry");
    }

    #[test]
    fn the_longest_idle_connection_makes_room() {
        let peers = Peers::new(2);
        let address: IpAddr = "10.0.0.1".parse().unwrap();
        let [busy, half_open] = [(); 2].map(|()| peers.enter(address).unwrap());
        let request = busy.progress.begin();
        let next = peers.enter(address).expect("a connection without a request makes room");
        assert!(half_open.progress.is_displaced() && !busy.progress.is_displaced());
        let _request = next.progress.begin();
        assert!(peers.enter(address).is_none(), "both are busy");
        drop(request);
        peers.make_room();
        assert!(busy.progress.is_displaced());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let peers = Peers::new(1);
        let enter = |address: &str| {
            let connection = peers.enter(address.parse().unwrap())?;
            let request = connection.progress.begin();
            Some((connection, request))
        };
        let _first = enter("2001:db8::1").unwrap();
        assert!(enter("2001:db8::ffff").is_none());
        assert!(enter("2001:db8:0:1::1").is_some());
        let _mapped = enter("::ffff:10.0.0.1").unwrap();
        assert!(enter("10.0.0.1").is_none());
    }
}
