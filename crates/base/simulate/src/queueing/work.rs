//! How much work a job brings.

use crate::random::Random;
use serde::{Deserialize, Serialize};

/// Distribution of a job's work around its mean.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkShape {
    /// Always the mean.
    Constant,
    /// Exponential: coefficient of variation 1.
    Exponential,
    /// Gamma with this coefficient of variation, > 0.
    Gamma {
        /// Standard deviation over mean.
        cv: f64,
    },
    /// Lognormal with this coefficient of variation, > 0: a heavier tail than gamma's.
    Lognormal {
        /// Standard deviation over mean.
        cv: f64,
    },
}

impl WorkShape {
    /// Whether its parameter makes sense: a coefficient of variation above 0, at most 100.
    pub(crate) fn is_valid(self) -> bool {
        match self {
            WorkShape::Constant | WorkShape::Exponential => true,
            WorkShape::Gamma { cv } | WorkShape::Lognormal { cv } => cv > 0.0 && cv <= 100.0,
        }
    }
}

/// Draws work of mean 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkSource {
    Constant,
    Exponential,
    Gamma { shape: f64 },
    Lognormal { mu: f64, sigma: f64 },
}

impl WorkSource {
    pub(crate) fn new(shape: WorkShape) -> WorkSource {
        match shape {
            WorkShape::Constant => WorkSource::Constant,
            WorkShape::Exponential => WorkSource::Exponential,
            WorkShape::Gamma { cv } => WorkSource::Gamma { shape: 1.0 / (cv * cv) },
            WorkShape::Lognormal { cv } => {
                let variance = libm::log(1.0 + cv * cv);
                WorkSource::Lognormal { mu: -variance / 2.0, sigma: variance.sqrt() }
            }
        }
    }

    /// Work with this mean.
    pub(crate) fn draw(self, random: &mut Random, mean: f64) -> f64 {
        match self {
            WorkSource::Constant => mean,
            WorkSource::Exponential => random.exponential(mean),
            WorkSource::Gamma { shape } => mean / shape * gamma(random, shape),
            WorkSource::Lognormal { mu, sigma } => mean * libm::exp(mu + sigma * random.normal()),
        }
    }
}

/// Gamma with this shape and scale 1 (Marsaglia, Tsang, *A simple method for generating gamma variables*, ACM
/// TOMS 26, 2000). Below shape 1: theirs of shape + 1 times a power of a uniform.
fn gamma(random: &mut Random, shape: f64) -> f64 {
    if shape < 1.0 {
        let uniform = 1.0 - random.unit();
        return gamma(random, shape + 1.0) * libm::pow(uniform, 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        if libm::log(1.0 - random.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn every_shape_has_its_mean_and_spread() {
        let shapes = [
            (WorkShape::Constant, 0.0),
            (WorkShape::Exponential, 1.0),
            (WorkShape::Gamma { cv: 0.5 }, 0.5),
            (WorkShape::Gamma { cv: 2.0 }, 2.0),
            (WorkShape::Lognormal { cv: 1.0 }, 1.0),
        ];
        for (shape, cv) in shapes {
            let mut random = Random::new(5, Stream::Work, &[]);
            let source = WorkSource::new(shape);
            let drawn: Vec<f64> = (0..400_000).map(|_| source.draw(&mut random, 3.0)).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
            assert!((mean - 3.0).abs() < 0.03, "{shape:?} {mean}");
            assert!((variance.sqrt() / 3.0 - cv).abs() < 0.03, "{shape:?} {variance}");
        }
    }
}
