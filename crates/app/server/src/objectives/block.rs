//! Blocks of five minutes, and the requests counted in them.

use laggard_model::{AdjustedCount, Nanos, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Length of a block.
pub(super) const BLOCK: Nanos = Nanos::from_secs(300);

/// A block by its number: whole blocks since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Block(i64);

impl Block {
    /// The block of an instant.
    pub(super) const fn at(time: Timestamp) -> Block {
        Block(time.unix_ns().div_euclid(BLOCK.ns() as i64))
    }

    /// Its first instant.
    pub(super) const fn since(self) -> Timestamp {
        Timestamp::from_unix_ns(self.0.saturating_mul(BLOCK.ns() as i64))
    }

    /// Its last instant.
    pub(super) const fn until(self) -> Timestamp {
        Timestamp::from_unix_ns(self.next().since().unix_ns() - 1)
    }

    /// The one after it.
    pub(super) const fn next(self) -> Block {
        self.plus(1)
    }

    /// The block a number of blocks later, or earlier if negative.
    pub(super) const fn plus(self, blocks: i64) -> Block {
        Block(self.0.saturating_add(blocks))
    }

    /// Blocks between two, the last included.
    pub(super) fn range(range: RangeInclusive<Block>) -> impl Iterator<Item = Block> {
        (range.start().0..=range.end().0).map(Block)
    }
}

/// How many blocks have this length together; at least 1.
pub(super) const fn blocks_of(length: Nanos) -> i64 {
    let blocks = length.ns().div_ceil(BLOCK.ns()) as i64;
    if blocks == 0 { 1 } else { blocks }
}

/// Counted requests of one objective.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub(super) struct Count {
    /// Complete requests.
    pub(super) requests: u64,
    /// Bad ones among them.
    pub(super) bad: u64,
    /// Requests whose trace is not complete: neither good nor bad.
    pub(super) incomplete: u64,
    /// How many requests the complete ones represent; of a sampled system more than they are.
    pub(super) weight: f64,
    /// How many requests the bad ones represent.
    pub(super) bad_weight: f64,
    /// Sum of the squares of the weights of the complete ones.
    pub(super) squares: f64,
}

/// One request for a [`Count`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestOutcome {
    Good,
    Bad,
    Incomplete,
}

impl Count {
    /// Adds one request.
    pub(super) fn add(&mut self, outcome: RequestOutcome, represents: Option<AdjustedCount>) {
        if outcome == RequestOutcome::Incomplete {
            self.incomplete += 1;
            return;
        }
        let weight = f64::from(represents.unwrap_or(AdjustedCount::ONE).get());
        self.requests += 1;
        self.weight += weight;
        self.squares += weight * weight;
        if outcome == RequestOutcome::Bad {
            self.bad += 1;
            self.bad_weight += weight;
        }
    }

    /// Adds another count.
    pub(super) fn merge(&mut self, other: &Count) {
        self.requests += other.requests;
        self.bad += other.bad;
        self.incomplete += other.incomplete;
        self.weight += other.weight;
        self.bad_weight += other.bad_weight;
        self.squares += other.squares;
    }

    /// Share of bad requests; `None` without complete requests.
    pub(super) fn bad_share(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| (self.bad_weight / self.weight).clamp(0.0, 1.0))
    }

    /// Independent requests that tell as much as the weighted ones (Kish): as many as there are if their weights are equal.
    pub(super) fn effective_requests(&self) -> f64 {
        if self.squares > 0.0 { self.weight * self.weight / self.squares } else { 0.0 }
    }

    /// Nothing at all was counted.
    pub(super) const fn is_empty(&self) -> bool {
        self.requests == 0 && self.incomplete == 0
    }

    const fn is_sampled(&self) -> bool {
        self.weight != self.requests as f64 || self.squares != self.requests as f64
    }
}

/// As stored: requests, bad and incomplete ones; weight, weight of the bad ones, and squares only where they differ.
impl From<Count> for Vec<f64> {
    fn from(count: Count) -> Vec<f64> {
        let mut numbers = vec![count.requests as f64, count.bad as f64, count.incomplete as f64];
        if count.is_sampled() {
            numbers.extend([count.weight, count.bad_weight, count.squares]);
        }
        numbers
    }
}

impl TryFrom<Vec<f64>> for Count {
    type Error = &'static str;

    fn try_from(numbers: Vec<f64>) -> Result<Count, &'static str> {
        let is_count = |number: &f64| number.is_finite() && *number >= 0.0;
        if !numbers.iter().all(is_count) {
            return Err("a count is not a number from 0");
        }
        let (requests, bad, incomplete, weights) = match numbers.as_slice() {
            [requests, bad, incomplete] => (*requests, *bad, *incomplete, [*requests, *bad, *requests]),
            [requests, bad, incomplete, weights @ ..] => {
                let weights = weights.try_into().map_err(|_| "a count has 3 or 6 numbers")?;
                (*requests, *bad, *incomplete, weights)
            }
            _ => return Err("a count has 3 or 6 numbers"),
        };
        let [weight, bad_weight, squares] = weights;
        if bad > requests || bad_weight > weight {
            return Err("a count has more bad requests than requests");
        }
        let (requests, bad, incomplete) = (requests as u64, bad as u64, incomplete as u64);
        Ok(Count { requests, bad, incomplete, weight, bad_weight, squares })
    }
}

/// The counts of some blocks; blocks without requests are absent.
pub(super) type BlockCounts = BTreeMap<Block, Count>;

/// The sum over some blocks.
pub(super) fn sum(counts: &BlockCounts, blocks: RangeInclusive<Block>) -> Count {
    let mut all = Count::default();
    if !blocks.is_empty() {
        counts.range(blocks).for_each(|(_, count)| all.merge(count));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_tile_time() {
        let time = Timestamp::from_unix_ns;
        let block = Block::at(time(1_768_208_400_000_000_000));
        assert_eq!(block.since(), time(1_768_208_400_000_000_000), "09:00:00 begins a block");
        assert_eq!(Block::at(block.until()), block);
        assert_eq!(Block::at(block.until().plus(Nanos::from_ns(1))), block.next());
        assert_eq!(Block::at(time(-1)), Block(-1));
        assert_eq!(
            (blocks_of(BLOCK), blocks_of(Nanos::from_secs(3_600)), blocks_of(Nanos::ZERO)),
            (1, 12, 1)
        );
        // No instant overflows.
        assert!(Block::at(Timestamp::MIN) < Block::at(Timestamp::MAX));
    }

    #[test]
    fn weighted_counts_are_stored_and_read() {
        let mut count = Count::default();
        count.add(RequestOutcome::Good, None);
        count.add(RequestOutcome::Bad, None);
        count.add(RequestOutcome::Incomplete, None);
        assert_eq!(serde_json::to_string(&count).unwrap(), "[2.0,1.0,1.0]");
        assert_eq!((count.bad_share(), count.effective_requests()), (Some(0.5), 2.0));
        // One that represents 100: a bad share of 1 in 102, and little more evidence than one request.
        count.add(RequestOutcome::Good, AdjustedCount::new(100.0));
        assert_eq!(count.bad_share(), Some(1.0 / 102.0));
        assert!((count.effective_requests() - 102.0 * 102.0 / 10_002.0).abs() < 1e-12);
        let text = serde_json::to_string(&count).unwrap();
        assert_eq!(serde_json::from_str::<Count>(&text).unwrap(), count);
        for bad in ["[]", "[1,2]", "[1,2,0]", "[-1,0,0]", "[1,0,0,4]", "[2,1,0,1,2,1]", "[1e999,0,0]", "{}"] {
            assert!(serde_json::from_str::<Count>(bad).is_err(), "{bad}");
        }
    }
}
