//! The modes of a column, separated by significant valleys of its density.

use super::bins::{Bins, Grid};
use super::settings::PatternSettings;
use laggard_numeric::binomial_upper_tail;

/// Widths at which valleys are searched, in multiples of the finest. Wide valleys between low modes show up
/// in wide bins, narrow ones between high modes in narrow bins.
const WIDTHS: [f64; 3] = [4.0, 2.0, 1.0];

/// Times that separate the modes of a column, ascending; none when it has one mode.
///
/// `sorted` are finite times above 0, ascending. Time `O(m + bins^2)`, at most 4,096 bins.
pub(super) fn cuts(sorted: &[f64], settings: &PatternSettings) -> Vec<f64> {
    let grid = Grid::of(sorted);
    let width = finest_width(sorted).max(settings.bin_min);
    let mut cuts = Vec::new();
    divide(sorted, grid, width, &WIDTHS, settings, &mut cuts);
    cuts.sort_unstable_by(f64::total_cmp);
    cuts
}

/// Cuts at the widest bins, then divides every segment with the next narrower ones.
fn divide(
    sorted: &[f64],
    grid: Grid,
    width: f64,
    widths: &[f64],
    settings: &PatternSettings,
    cuts: &mut Vec<f64>,
) {
    let Some((&multiple, narrower)) = widths.split_first() else { return };
    if sorted.len() < 2 * settings.rows_min {
        return;
    }
    let Some(bins) = Bins::of(sorted, grid, width * multiple) else { return };
    let mut rest = sorted;
    for cut in valleys(&bins, settings) {
        let (below, above) = rest.split_at(rest.partition_point(|&time| time <= cut));
        divide(below, grid, width, narrower, settings, cuts);
        cuts.push(cut);
        rest = above;
    }
    divide(rest, grid, width, narrower, settings, cuts);
}

/// Freedman and Diaconis (1981): `2 IQR m^(-1/3)` in logarithms. The interquartile range of a normal
/// distribution is 2.12 times its shortest quarter, which, unlike the former, lies within one mode.
fn finest_width(sorted: &[f64]) -> f64 {
    const IQR_OVER_SHORTEST_QUARTER: f64 = 2.117;
    let quarter = (sorted.len() / 4).max(2);
    let logs: Vec<f64> = sorted.iter().map(|time| time.ln()).collect();
    let spans = logs.windows(quarter).map(|window| window[quarter - 1] - window[0]);
    let shortest = spans.fold(f64::INFINITY, f64::min);
    if shortest.is_infinite() {
        return 0.0;
    }
    2.0 * IQR_OVER_SHORTEST_QUARTER * shortest / (sorted.len() as f64).cbrt()
}

/// The middle of the lowest bin of every valley that is deep and significant.
fn valleys(bins: &Bins, settings: &PatternSettings) -> Vec<f64> {
    let mut peaks = peaks(bins);
    let mut valleys: Vec<usize> = peaks.windows(2).map(|pair| lowest(bins, pair[0], pair[1])).collect();
    let level = settings.mode_level / bins.len() as f64;
    let weigh = |peaks: &[usize], valleys: &[usize], index: usize| {
        let offset = usize::from(bins.density(peaks[index]) > bins.density(peaks[index + 1]));
        let p_value = chance(bins, peaks[index + offset], valleys[index]);
        let is_deep =
            bins.density(valleys[index]) <= settings.valley_max * bins.density(peaks[index + offset]);
        Saddle { offset, p_value, is_significant: is_deep && p_value < level }
    };
    let mut saddles: Vec<Saddle> = (0..valleys.len()).map(|index| weigh(&peaks, &valleys, index)).collect();
    while let Some(index) = weakest(&saddles) {
        let lower = index + saddles[index].offset;
        if lower > 0 && lower < peaks.len() - 1 {
            let (left, right) = (valleys[lower - 1], valleys[lower]);
            valleys[lower - 1] = if bins.density(left) <= bins.density(right) { left } else { right };
            valleys.remove(lower);
            saddles.remove(lower);
        } else {
            valleys.remove(index);
            saddles.remove(index);
        }
        peaks.remove(lower);
        for near in [lower.wrapping_sub(1), lower] {
            if near < valleys.len() {
                saddles[near] = weigh(&peaks, &valleys, near);
            }
        }
    }
    valleys.iter().map(|&bin| bins.middle(bin)).collect()
}

/// A valley between two neighboring peaks.
struct Saddle {
    /// 0 when the lower peak is the left one, 1 when it is the right one.
    offset: usize,
    /// Probability of such a peak over such a valley if the density were flat.
    p_value: f64,
    is_significant: bool,
}

/// The saddle with the largest p-value among those that are not significant; the first of equals.
fn weakest(saddles: &[Saddle]) -> Option<usize> {
    let falling = (0..saddles.len()).filter(|&index| !saddles[index].is_significant);
    falling.reduce(|best, index| if saddles[index].p_value > saddles[best].p_value { index } else { best })
}

/// Probability that this many of the values in the two bins fall in the peak if the density were the same in both.
fn chance(bins: &Bins, peak: usize, valley: usize) -> f64 {
    let share = bins.exposure(peak) / (bins.exposure(peak) + bins.exposure(valley));
    binomial_upper_tail(bins.count(peak) + bins.count(valley), share, bins.count(peak))
}

/// Bins, or middles of runs of equal bins, that are higher than both neighbors.
fn peaks(bins: &Bins) -> Vec<usize> {
    let mut peaks = Vec::new();
    let mut first = 0;
    while first < bins.len() {
        let height = bins.density(first);
        let mut last = first;
        while last + 1 < bins.len() && bins.density(last + 1) == height {
            last += 1;
        }
        let rises = first == 0 || bins.density(first - 1) < height;
        let falls = last + 1 == bins.len() || bins.density(last + 1) < height;
        if rises && falls {
            peaks.push(usize::midpoint(first, last));
        }
        first = last + 1;
    }
    peaks
}

/// The lowest bin from one to another; the middle one of equals.
fn lowest(bins: &Bins, from: usize, to: usize) -> usize {
    let floor = (from..=to).map(|bin| bins.density(bin)).fold(f64::INFINITY, f64::min);
    let equals: Vec<usize> = (from..=to).filter(|&bin| bins.density(bin) == floor).collect();
    equals[equals.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` copies of each time.
    fn sample(counts: &[(u32, usize)]) -> Vec<f64> {
        counts.iter().flat_map(|&(time, count)| std::iter::repeat_n(f64::from(time), count)).collect()
    }

    fn cuts_of(counts: &[(u32, usize)]) -> Vec<f64> {
        cuts(&sample(counts), &PatternSettings::default())
    }

    #[test]
    fn rounding_to_milliseconds_makes_no_modes() {
        // All at 2, 3 and 4 ms: far apart in logarithms, neighbors on the grid.
        assert_eq!(cuts_of(&[(1, 10), (2, 945), (3, 5931), (4, 2485), (5, 449), (6, 95)]), [] as [f64; 0]);
    }

    #[test]
    fn two_separate_modes() {
        let cuts = cuts_of(&[(2, 800), (3, 900), (4, 100), (98, 30), (99, 60), (100, 10)]);
        assert_eq!(cuts.len(), 1);
        assert!((5.0..97.0).contains(&cuts[0]), "{cuts:?}");
    }

    #[test]
    fn a_valley_of_one_bin_separates_modes() {
        let cuts = cuts_of(&[(45, 200), (46, 400), (47, 200), (48, 20), (49, 200), (50, 500), (51, 100)]);
        assert_eq!(cuts.len(), 1);
        assert!((47.0..49.0).contains(&cuts[0]), "{cuts:?}");
    }

    #[test]
    fn a_shoulder_is_no_mode() {
        assert_eq!(cuts_of(&[(7, 500), (8, 900), (9, 400), (10, 260), (11, 250), (12, 90)]), [] as [f64; 0]);
    }

    #[test]
    fn few_values_are_no_evidence() {
        assert_eq!(cuts_of(&[(2, 100), (50, 2)]), [] as [f64; 0]);
        assert_eq!(cuts(&[], &PatternSettings::default()), [] as [f64; 0]);
        assert_eq!(cuts(&[1.0; 100], &PatternSettings::default()), [] as [f64; 0]);
        assert_eq!(cuts(&[f64::MIN_POSITIVE, 1.0, f64::MAX], &PatternSettings::default()), [] as [f64; 0]);
    }
}
