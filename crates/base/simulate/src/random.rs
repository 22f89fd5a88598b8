//! Randomness that is the same on every platform.

/// A stream of random numbers: splitmix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number
/// generators*, OOPSLA 2014). Streams derived from the same seed along different paths are independent for
/// our purposes, so each request has its own and requests may be drawn in any order, on any thread.
///
/// Logarithms and exponentials come from `libm` and not from the platform: a last digit that differs between
/// two C libraries would change the bytes that are written.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    /// The second of a pair of normal deviates.
    spare: Option<f64>,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

pub(crate) use laggard_model::mix64 as mix;

/// The decision that a random stream is for: the first step of its path below the seed, so that streams are independent.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub enum Stream {
    /// Medians and spreads of operations.
    Operations = 1,
    /// Which node holds which component.
    Placement,
    /// Offsets and drifts of clocks.
    Clocks,
    /// Call trees.
    Categories,
    /// The target of the fault.
    FaultPlan,
    /// When requests arrive.
    Arrivals,
    /// Load of a host in a minute.
    HostLoad,
    /// A request of the mail and file service.
    Request,
    /// Injected delays of one request.
    Injection,
    /// Lost and repeated records of one request.
    Losses,
    /// When exporters flush, and which host is late.
    Export,
    /// How long clients of a closed network think.
    Think,
    /// Which transaction a client issues, and which server takes it.
    Choice,
    /// How much work a job brings.
    Work,
    /// When client populations change.
    Population,
    /// Foreign load.
    Foreign,
    /// Noise of a measurement.
    Measurement,
    /// Invented transaction types.
    Catalog,
    /// Templates of kinds of executions.
    Templates,
    /// An execution drawn from a template.
    Execution,
    /// The effect of a fault on one execution.
    ExecutionFault,
    /// A simulated machine's threads.
    Kernel,
    /// Services and operations of an ordinary day.
    DaySystem,
    /// Load, replicas, pauses and jobs of an ordinary day.
    DaySchedule,
    /// A request of an ordinary day.
    DayRequest,
}

impl Random {
    /// The stream of a seed along a path.
    pub fn new(seed: u64, stream: Stream, path: &[u64]) -> Random {
        let mut state = mix(seed.wrapping_add(GOLDEN)) ^ mix((stream as u64).wrapping_mul(GOLDEN));
        for &step in path {
            state = mix(state.wrapping_add(GOLDEN) ^ mix(step.wrapping_add(GOLDEN)));
        }
        Random { state, spare: None }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform in `0..1`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in `low..high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform over `0..bound`; 0 when `bound` is 0. The bias is below `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform index of a slice of this length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Standard normal, by the polar method (Marsaglia, Bray 1964).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * libm::log(square) / square).sqrt();
                self.spare = Some(v * scale);
                return u * scale;
            }
        }
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// The logarithm of a value that is log-uniform between `low` and `high`.
    pub fn ln_log_uniform(&mut self, low: f64, high: f64) -> f64 {
        self.between(libm::log(low), libm::log(high))
    }

    /// `count` distinct numbers out of `0..total`, ascending; all of them when `count` is larger.
    pub fn sample(&mut self, total: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..total).collect();
        let count = count.min(total);
        for index in 0..count {
            let other = index + self.index(total - index);
            all.swap(index, other);
        }
        all.truncate(count);
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(path: &[u64]) -> Random {
        Random::new(1, Stream::Request, path)
    }

    #[test]
    fn the_first_numbers_never_change() {
        // Reference values of splitmix64 started at 0 (Vigna's splitmix64.c).
        let mut random = Random { state: 0, spare: None };
        assert_eq!(random.bits(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.bits(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn paths_differ() {
        assert_ne!(stream(&[1]).bits(), stream(&[2]).bits());
        assert_ne!(stream(&[1]).bits(), stream(&[1, 0]).bits());
        assert_ne!(Random::new(1, Stream::Clocks, &[1]).bits(), stream(&[1]).bits());
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut random = stream(&[]);
        let count = 200_000;
        let normals: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(count);
        let variance = normals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(count);
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let tail = normals.iter().filter(|x| **x > 1.959_964).count() as f64 / f64::from(count);
        assert!((tail - 0.025).abs() < 0.0015, "{tail}");
        let exponential = (0..count).map(|_| random.exponential(3.0)).sum::<f64>() / f64::from(count);
        assert!((exponential - 3.0).abs() < 0.04, "{exponential}");
    }

    #[test]
    fn samples_are_distinct_and_in_range() {
        let sample = stream(&[]).sample(100, 30);
        assert_eq!(sample.len(), 30);
        assert!(sample.is_sorted_by(|a, b| a < b) && sample[29] < 100);
        assert_eq!(stream(&[]).sample(3, 9), [0, 1, 2]);
    }
}
