//! Sampling: how many spans a sampled span represents.

use std::num::NonZeroU32;

/// How many spans of the population a sampled span represents: the reciprocal of its sampling probability
/// (OpenTelemetry's *adjusted count*). At least 1, at most 2^62, stored with 24 bits of precision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AdjustedCount {
    /// The bits of an `f32` of at least 1, which are never all zero: an `Option` needs no additional space.
    bits: NonZeroU32,
}

/// The smallest probability that OpenTelemetry's samplers have known is `2^-62`.
const COUNT_MAX: f64 = (1_u64 << 62) as f64;

impl AdjustedCount {
    /// A span that represents only itself.
    pub const ONE: AdjustedCount =
        AdjustedCount { bits: NonZeroU32::new(1_f32.to_bits()).expect("the bits of 1 are not all zero") };

    /// An adjusted count; `None` unless it is from 1 to 2^62.
    pub fn new(count: f64) -> Option<AdjustedCount> {
        if !(1.0..=COUNT_MAX).contains(&count) {
            return None;
        }
        NonZeroU32::new((count as f32).to_bits()).map(|bits| AdjustedCount { bits })
    }

    /// The adjusted count of a sampling probability; `None` unless that is from 2^-62 to 1.
    pub fn from_probability(probability: f64) -> Option<AdjustedCount> {
        AdjustedCount::new(1.0 / probability)
    }

    /// The count.
    pub const fn get(self) -> f32 {
        f32::from_bits(self.bits.get())
    }
}

/// The source of a span's adjusted count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum WeightSource {
    /// An attribute or column that the user named.
    Named,
    /// The rejection threshold `th` of OpenTelemetry's trace state.
    Threshold,
    /// The power of two `p` of OpenTelemetry's older trace state.
    PowerOfTwo,
    /// Jaeger's `sampler.type` probabilistic, with its `sampler.param`.
    JaegerProbabilistic,
    /// Jaeger's `sampler.type` const: every trace was sampled.
    JaegerConst,
    /// Another `sampler.type` of Jaeger, of which the probability is not known: no count.
    JaegerOther,
    /// A column of the format that exists for this purpose.
    Column,
    /// Nothing: no count.
    #[default]
    Unknown,
}

impl WeightSource {
    /// All sources, in the order of their numbers.
    pub const ALL: [WeightSource; 8] = [
        WeightSource::Named,
        WeightSource::Threshold,
        WeightSource::PowerOfTwo,
        WeightSource::JaegerProbabilistic,
        WeightSource::JaegerConst,
        WeightSource::JaegerOther,
        WeightSource::Column,
        WeightSource::Unknown,
    ];

    /// The source as reports name it.
    pub const fn name(self) -> &'static str {
        match self {
            WeightSource::Named => "attribute named by an option",
            WeightSource::Threshold => "tracestate ot=th",
            WeightSource::PowerOfTwo => "tracestate ot=p",
            WeightSource::JaegerProbabilistic => "sampler.type probabilistic",
            WeightSource::JaegerConst => "sampler.type const",
            WeightSource::JaegerOther => "sampler.type without a probability",
            WeightSource::Column => "column",
            WeightSource::Unknown => "none",
        }
    }
}

/// The tail sampler that marked a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum TailSampler {
    /// OpenTelemetry Collector, `tail_sampling` processor (`tailsampling.*`).
    Collector,
    /// Honeycomb Refinery (`meta.refinery.*`).
    Refinery,
}

impl TailSampler {
    /// All samplers, in the order of their numbers.
    pub const ALL: [TailSampler; 2] = [TailSampler::Collector, TailSampler::Refinery];

    /// The sampler as reports name it.
    pub const fn name(self) -> &'static str {
        match self {
            TailSampler::Collector => "Collector tail_sampling (tailsampling.*)",
            TailSampler::Refinery => "Refinery (meta.refinery.*)",
        }
    }
}

/// The sampling attributes of a span.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sampling {
    /// How many spans it represents; `None` if unknown.
    pub adjusted_count: Option<AdjustedCount>,
    /// The source of the adjusted count.
    pub source: WeightSource,
    /// The tail sampler that marked it.
    pub tail_sampler: Option<TailSampler>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_at_least_one_and_take_four_bytes() {
        assert_eq!(size_of::<Option<AdjustedCount>>(), 4);
        assert_eq!(AdjustedCount::new(1.0), Some(AdjustedCount::ONE));
        assert_eq!(AdjustedCount::from_probability(0.01).map(AdjustedCount::get), Some(100.0));
        for bad in [0.0, 0.999, -1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(AdjustedCount::new(bad), None, "{bad}");
        }
        for bad in [0.0, -0.5, 1.5, f64::NAN, 1e-300] {
            assert_eq!(AdjustedCount::from_probability(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_follow_the_lists() {
        assert!(WeightSource::ALL.iter().enumerate().all(|(index, &source)| source as usize == index));
        assert!(TailSampler::ALL.iter().enumerate().all(|(index, &sampler)| sampler as usize == index));
    }
}
