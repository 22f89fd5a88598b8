//! Tests of sites with synthetic requests of known truth.

mod change;
mod culprits;
mod hits;
mod incidents;
mod onset;
mod table;

use laggard_localize::{Observation, Site, SiteRequest, SiteTable};
use laggard_model::{AttributeSetId, Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use std::num::NonZeroUsize;

/// More than one, so that tests cover concurrency.
const THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");

/// Splitmix64: the same numbers for the same seed, everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Standard normal (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// In another order.
    fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}

/// Seconds between two requests.
const EVERY_S: i64 = 1;

/// Requests of three categories, one a second, each calling every site once.
#[derive(Clone, Copy)]
struct Load {
    sites: usize,
    /// Shares of the categories; they sum to 1.
    shares: [f64; 3],
    /// Standard deviation of log times.
    sigma: f64,
    /// Start of the first request, seconds.
    from_s: i64,
}

/// Usual time of a call at any site in nanoseconds, by category.
const USUAL_NS: [f64; 3] = [1e5, 4e5, 2e6];

impl Default for Load {
    fn default() -> Load {
        Load { sites: 4, shares: [0.5, 0.3, 0.2], sigma: 0.5, from_s: 0 }
    }
}

fn site(at: usize) -> Site {
    Site::Operation(OperationId::from_index(at))
}

impl Load {
    /// A table of requests whose calls take `factor(site, request)` times the usual time.
    fn table(&self, random: &mut Random, requests: usize, factor: impl Fn(usize, usize) -> f64) -> SiteTable {
        let mut table = SiteTable {
            sites: (0..self.sites).map(site).collect(),
            rows: vec![Vec::new(); self.sites],
            sets: vec![vec![ReplicaId::from_index(0)]],
            categories: (0..3).map(|at| Fingerprint::from_value(at + 1)).collect(),
            ..SiteTable::default()
        };
        for at in 0..requests {
            let draw = random.uniform();
            let category =
                u32::from(draw > self.shares[0]) + u32::from(draw > self.shares[0] + self.shares[1]);
            table.requests.push(SiteRequest {
                start: Timestamp::from_unix_ns((self.from_s + at as i64 * EVERY_S) * 1_000_000_000),
                trace: TraceId::from_value(at as u128 + 1),
                latency_ns: 0.0,
                category,
                weight: 1.0,
                number: 0,
                attributes: AttributeSetId::default(),
            });
        }
        for place in 0..self.sites {
            for at in 0..requests {
                let usual = USUAL_NS[table.requests[at].category as usize];
                let time_ns = (usual * factor(place, at) * (self.sigma * random.normal()).exp()) as f32;
                table.requests[at].latency_ns += f64::from(time_ns);
                table.rows[place].push(Observation {
                    request: at as u32,
                    set: 0,
                    calls: 1,
                    time_ns,
                    path_ns: time_ns,
                });
            }
        }
        table
    }
}
