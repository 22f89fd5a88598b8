//! Request times with a common factor and one culprit column, after the recipe of the golden files.

use laggard_numeric::Matrix;

/// Parameters of a generated matrix.
#[derive(Clone, Copy)]
pub(crate) struct LatencyMatrix {
    pub(crate) seed: u64,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) culprit: usize,
    pub(crate) hit_probability: f64,
    pub(crate) hit_multiple: f64,
}

impl LatencyMatrix {
    /// The matrix; `on_hit` is called for each row whose culprit column was hit.
    pub(crate) fn generate(self, mut on_hit: impl FnMut(usize)) -> Matrix {
        let mut random = SplitMix64(self.seed);
        let (low, high) = (20.0_f64.ln(), 1500.0_f64.ln());
        let levels: Vec<f64> =
            (0..self.cols).map(|_| (low + (high - low) * random.uniform()).exp()).collect();
        let mut matrix = Matrix::zeros(self.rows, self.cols);
        for i in 0..self.rows {
            if self.fill_row(matrix.row_mut(i), &levels, &mut random) {
                on_hit(i);
            }
        }
        matrix
    }

    /// Returns whether the culprit was hit.
    fn fill_row(self, row: &mut [f64], levels: &[f64], random: &mut SplitMix64) -> bool {
        let size = (0.5 * random.normal()).exp();
        for (j, (value, level)) in row.iter_mut().zip(levels).enumerate() {
            *value = level * (0.3 * random.normal()).exp() * if j % 2 == 0 { size } else { 1.0 };
        }
        let is_hit = random.uniform() < self.hit_probability;
        let excess = -(1.0 - random.uniform()).ln() * self.hit_multiple * levels[self.culprit];
        if is_hit {
            row[self.culprit] += excess;
        }
        is_hit
    }
}

/// The generator of Steele, Lea, Flood (OOPSLA 2014).
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (-53.0_f64).exp2()
    }

    /// Standard normal, by Box and Muller; takes two draws.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}
