//! How many calls are hit where single ones cannot be told apart from normal ones.
//!
//! Judged calls are a mixture: normal ones, and hit ones, which take longer. Half of the normal ones lie between the quartiles of
//! normal times, where few of the hit ones are, so that their number is known although no call is.
//!
//! ```text
//! calls  │   ▒▒▒▒              ▒ normal: twice those between the quartiles
//!        │  ▒▒▒▒▒▒    █        █ hit: all others; in each bin those beyond the normal ones expected there
//!        │ ▒▒▒▒▒▒▒▒█████
//!        │▒▒▒▒▒▒▒▒▒▒▒█████
//!        └───┴──┴─────────── log time
//!           q25 q75
//! ```
//!
//! The local false discovery rate of Efron et al. (2001) is the share of normal calls in a bin; as in Strimmer (2008) it only falls
//! with the time.

/// Bins that hold equally many normal calls.
pub(crate) const BINS: usize = 40;
/// Standard errors of the estimate between it and the least number of hit calls.
const ERRORS: f64 = 2.0;
/// Normal calls are even if the lowest quarter has at least this part of the calls of the next one.
const EVEN_PART_MIN: f64 = 0.75;
/// Calls that are missed matter if they are at least this part of those that are marked.
const MISSED_PART_MIN: f64 = 0.05;

/// Judged calls of some categories by the quantile of normal calls that they exceed.
#[derive(Clone, Default)]
pub(crate) struct Overlap {
    all: Vec<f64>,
    hit: Vec<f64>,
    /// Normal calls whose quantiles these are.
    pub(crate) normal_calls: f64,
}

/// Hit calls among those of an [`Overlap`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct HitCalls {
    /// Estimate.
    pub(crate) likely: f64,
    /// There are almost certainly no fewer.
    pub(crate) at_least: f64,
}

impl Overlap {
    pub(crate) fn add(&mut self, bin: usize, is_hit: bool) {
        self.all.resize(BINS, 0.0);
        self.hit.resize(BINS, 0.0);
        self.all[bin] += 1.0;
        self.hit[bin] += f64::from(is_hit);
    }

    /// The estimate by the calls between the quartiles, or by the difference of those beyond either if that is less: if all calls
    /// took a little longer, or varied more, one of the two would remain near zero.
    pub(crate) fn hit_calls(&self) -> HitCalls {
        let all: f64 = self.all.iter().sum();
        if all == 0.0 || self.normal_calls == 0.0 {
            return HitCalls::default();
        }
        let within = |from: usize, until: usize| self.all[from..until].iter().sum::<f64>();
        let (low, middle, high) =
            (within(0, BINS / 4), within(BINS / 4, 3 * BINS / 4), within(3 * BINS / 4, BINS));
        let likely = (all - 2.0 * middle).min(high - low).max(0.0);
        let normal = all - likely;
        let error = (normal + normal * normal / self.normal_calls).sqrt();
        HitCalls { likely, at_least: (likely - ERRORS * error).max(0.0) }
    }

    /// Whether the calls up to the normal median are as evenly distributed over both quarters as normal ones are. A delay of every call,
    /// however small for some, leaves few in the lowest quarter.
    pub(crate) fn has_normal_half(&self) -> bool {
        let within =
            |from: usize, until: usize| self.all.get(from..until).map_or(0.0, |all| all.iter().sum::<f64>());
        let (low, second) = (within(0, BINS / 4), within(BINS / 4, BINS / 2));
        low > 0.0 && low >= EVEN_PART_MIN * second
    }

    /// By bin, the probability that a call that is not marked as hit was hit; all zero where no more are hit than are marked.
    pub(crate) fn missed(&self) -> Vec<f64> {
        let hits = self.hit_calls();
        let marked: f64 = self.hit.iter().sum();
        if hits.at_least <= (1.0 + MISSED_PART_MIN) * marked {
            return vec![0.0; BINS];
        }
        let normal = (self.all.iter().sum::<f64>() - hits.likely) / BINS as f64;
        // Runs of bins with the same share, each no less than the one before: pooled adjacent violators.
        let mut runs: Vec<BinRun> = Vec::with_capacity(BINS);
        for bin in 0..BINS {
            let unmarked = self.all[bin] - self.hit[bin];
            let hit = if bin < BINS / 2 { 0.0 } else { unmarked - normal };
            runs.push(BinRun { bins: 1, unmarked, hit: hit.min(unmarked) });
            while let [.., before, last] = runs.as_slice()
                && before.share() > last.share()
            {
                let joined = before.joined(*last);
                runs.truncate(runs.len() - 2);
                runs.push(joined);
            }
        }
        let found: f64 = runs.iter().map(|run| run.share() * run.unmarked).sum();
        let scale = ((hits.likely - marked) / found.max(f64::MIN_POSITIVE)).min(1.0);
        runs.iter().flat_map(|run| std::iter::repeat_n(scale * run.share(), run.bins)).collect()
    }
}

/// Neighboring bins.
#[derive(Clone, Copy)]
struct BinRun {
    bins: usize,
    unmarked: f64,
    hit: f64,
}

impl BinRun {
    fn share(self) -> f64 {
        if self.unmarked > 0.0 { (self.hit / self.unmarked).max(0.0) } else { 0.0 }
    }

    fn joined(self, other: BinRun) -> BinRun {
        BinRun {
            bins: self.bins + other.bins,
            unmarked: self.unmarked + other.unmarked,
            hit: self.hit + other.hit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlap(calls: impl Fn(usize) -> usize, is_marked: impl Fn(usize) -> bool) -> Overlap {
        let mut out = Overlap { normal_calls: 1e6, ..Overlap::default() };
        for bin in 0..BINS {
            (0..calls(bin)).for_each(|_| out.add(bin, is_marked(bin)));
        }
        out
    }

    /// 4,000 normal calls, 100 a bin; 200 more in each of the highest ten bins, of which five are marked.
    #[test]
    fn calls_beyond_the_normal_ones_are_counted_and_those_not_marked_are_likely() {
        let calls = |bin: usize| if bin >= 30 { 300 } else { 100 };
        let found = overlap(calls, |bin| bin >= 35);
        assert_eq!(found.hit_calls().likely, 2000.0);
        assert!((1850.0..1900.0).contains(&found.hit_calls().at_least));
        let missed = found.missed();
        assert_eq!(missed[29], 0.0);
        // 2,000 are hit, and 1,500 marked, five hundred of them normal: 500 remain, of 1,500 calls that are not marked.
        assert!((missed[30] - 1.0 / 3.0).abs() < 1e-9, "{missed:?}");
        assert!(overlap(calls, |bin| bin >= 30).missed().iter().all(|share| *share == 0.0));
    }

    #[test]
    fn a_delay_of_every_call_leaves_few_in_the_lowest_quarter() {
        assert!(overlap(|bin| if bin < 20 { 60 } else { 140 }, |_| false).has_normal_half());
        assert!(!overlap(|bin| 10 * bin, |_| false).has_normal_half());
        assert!(!Overlap::default().has_normal_half());
    }

    #[test]
    fn calls_that_all_take_a_little_longer_or_vary_more_are_not_hit() {
        let longer = overlap(
            |bin| {
                if bin < 10 {
                    80
                } else if bin < 30 {
                    100
                } else {
                    120
                }
            },
            |_| false,
        );
        assert_eq!(longer.hit_calls().likely, 0.0);
        let wider = overlap(|bin| if (10..30).contains(&bin) { 80 } else { 120 }, |_| false);
        assert_eq!(wider.hit_calls().likely, 0.0);
    }
}
