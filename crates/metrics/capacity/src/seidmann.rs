//! Seidmann's replacement for queues before several cores (Seidmann, Schweitzer and Shalev-Oren 1987).

use crate::network::{Network, Service, Station};

/// The network with every queue before `c` > 1 cores replaced by a queue of demand `D/c` before one core and a
/// delay of `D(c−1)/c`. The response time can be 15 % off near the knee; [`crate::ExactMva`] needs no replacement.
///
/// A replaced station's delay stands right behind its queue.
pub fn seidmann(network: &Network) -> Network {
    let mut stations = Vec::new();
    for station in network.stations() {
        match station.service {
            Service::Queue { cores } if cores > 1.0 => {
                let queue_s = station.demand_s / cores;
                stations.push(Station {
                    demand_s: queue_s,
                    service: Service::Queue { cores: 1.0 },
                    ..*station
                });
                stations.push(Station::delay(station.demand_s - queue_s).answered(station.answered));
            }
            _ => stations.push(*station),
        }
    }
    Network::new(stations, network.think_s()).expect("the same demands, at other stations")
}
