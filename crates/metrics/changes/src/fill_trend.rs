//! When a resource that fills up will be full: the slope of its use over hours, with an interval.

use laggard_numeric::student_quantile_95;

/// Lengths of time over which growth is looked for, in hours.
const HOURS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 48.0, 96.0, 168.0];
/// Parts of such a time: their means make the line. Cycles that are shorter than a part cancel in it.
const PARTS: usize = 8;
/// Points needed.
const POINTS_MIN: usize = 2 * PARTS;
/// Minimum slope in standard errors; at six degrees of freedom exceeded once in 2,000 by chance.
const SCORE_MIN: f64 = 6.0;
/// The use grew by at least this share of the size.
const GROWTH_MIN: f64 = 0.02;
/// Growth that slows down does not fill anything: slope of the second half over that of all.
const STEADY_MIN: f64 = 0.6;
/// The time left is at most this multiple of the time over which growth was observed …
const AHEAD_MAX: f64 = 4.0;
/// … and this multiple if the previous day is unknown, since growth may depend on the time of day.
const AHEAD_MAX_FIRST_DAY: f64 = 0.25;
const DAY_S: f64 = 86_400.0;
/// Where it is known, the use beyond that of the day before grows by at least this part of the slope …
const DAILY_PART_MIN: f64 = 0.5;
/// … and by at least this many standard errors.
const DAILY_SCORE_MIN: f64 = 3.0;
/// Points at the same time of day are at most so far apart.
const SAME_TIME_S: f64 = 150.0;
/// Minimum excess over the previous maximum.
const ABOVE_MIN: f64 = 0.01;
/// What a known trend needs to last: less certain, and with so much time left.
const HELD_SCORE_MIN: f64 = 2.0;
const HELD_AHEAD_MAX: f64 = 16.0;
/// A trend is over when the use falls by this much below its maximum.
const HELD_DROP_MAX: f64 = 0.02;

/// The use of a resource at a time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UsePoint {
    /// Seconds, of any clock.
    pub time_s: f64,
    /// Share in use, 0..1.
    pub used: f64,
}

/// A resource that fills up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FillTrend {
    /// Share in use now, 0..1.
    pub used: f64,
    /// Growth of the share in a second, > 0.
    pub slope: f64,
    /// Seconds over which it was observed.
    pub observed_s: f64,
    /// Seconds until it is full.
    pub left_s: f64,
    /// The least such time at a confidence of 95 %.
    pub left_min_s: f64,
    /// The greatest; absent if growth may have ended.
    pub left_max_s: Option<f64>,
}

/// Whether a resource will be full in a time that is not long compared with the time it has been growing; `points` in
/// order of time. With `is_known`, whether a trend that was detected before goes on.
pub fn fill_trend(points: &[UsePoint], is_known: bool) -> Option<FillTrend> {
    let (first, last) = (points.first()?, points.last()?);
    let trends = HOURS.iter().filter_map(|hours| {
        let since = last.time_s - 3_600.0 * hours;
        // The longest time may be cut; half of one says nothing more than the next shorter one.
        if first.time_s > since + 0.1 * 3_600.0 * hours {
            return None;
        }
        let from = points.partition_point(|point| point.time_s < since);
        let line = Line::new(&points[from..], since, last.time_s)?;
        let is_trend = match is_known {
            true => line.continues(&points[from..]),
            false => line.is_new(&points[..from], DayBefore::new(points, from, since)),
        };
        is_trend.then_some(line)
    });
    // Of several, the one that is full first: longer times include a time without growth.
    let best = trends.min_by(|a, b| a.left_s().total_cmp(&b.left_s()))?;
    Some(best.trend())
}

/// The growth beyond that of the day before.
enum DayBefore {
    /// It is not known, and the time of day may matter.
    Unknown,
    /// The time of day does not matter: a day or longer.
    Irrelevant,
    Growth(Line),
}

impl DayBefore {
    /// For the points from `from` on, which begin at `since`.
    fn new(points: &[UsePoint], from: usize, since: f64) -> DayBefore {
        let recent = &points[from..];
        let Some(last) = recent.last() else { return DayBefore::Unknown };
        if last.time_s - since >= DAY_S {
            return DayBefore::Irrelevant;
        }
        let beyond = recent.iter().filter_map(|point| {
            let time_s = point.time_s - DAY_S;
            let next = points.partition_point(|other| other.time_s < time_s - SAME_TIME_S);
            let before = points.get(next).filter(|before| before.time_s <= time_s + SAME_TIME_S)?;
            Some(UsePoint { used: point.used - before.used, ..*point })
        });
        let beyond: Vec<UsePoint> = beyond.collect();
        let is_known = beyond.len() as f64 >= 0.9 * recent.len() as f64;
        let line = is_known.then(|| Line::new(&beyond, since, last.time_s)).flatten();
        line.map_or(DayBefore::Unknown, DayBefore::Growth)
    }
}

/// A straight line through the means of parts.
struct Line {
    observed_s: f64,
    means: [f64; PARTS],
    slope: f64,
    standard_error: f64,
    used: f64,
}

impl Line {
    fn new(points: &[UsePoint], since: f64, until: f64) -> Option<Line> {
        if points.len() < POINTS_MIN {
            return None;
        }
        let observed_s = until - since;
        let (mut sums, mut counts) = ([0.0; PARTS], [0.0; PARTS]);
        for point in points {
            let part = ((point.time_s - since) / observed_s * PARTS as f64) as usize;
            sums[part.min(PARTS - 1)] += point.used;
            counts[part.min(PARTS - 1)] += 1.0;
        }
        if counts.contains(&0.0) {
            return None;
        }
        let means: [f64; PARTS] = std::array::from_fn(|part| sums[part] / counts[part]);
        let (slope, _, standard_error) = fit(&means);
        let part_s = observed_s / PARTS as f64;
        Some(Line {
            observed_s,
            means,
            slope: slope / part_s,
            standard_error: standard_error / part_s,
            used: latest(points),
        })
    }

    fn score(&self) -> f64 {
        self.slope / self.standard_error.max(1e-12)
    }

    fn left_s(&self) -> f64 {
        (1.0 - self.used).max(0.0) / self.slope
    }

    fn is_new(&self, history: &[UsePoint], day_before: DayBefore) -> bool {
        let rises = self.means.windows(2).filter(|pair| pair[1] > pair[0]).count();
        let (late, ..) = fit(&self.means[PARTS / 2..]);
        let is_steady = late * PARTS as f64 / self.observed_s >= STEADY_MIN * self.slope;
        let before = history.iter().map(|point| point.used).fold(0.0, f64::max);
        let (ahead, is_beyond_daily) = match day_before {
            DayBefore::Unknown => (AHEAD_MAX_FIRST_DAY, true),
            DayBefore::Irrelevant => (AHEAD_MAX, true),
            DayBefore::Growth(beyond) => {
                let is_beyond =
                    beyond.slope >= DAILY_PART_MIN * self.slope && beyond.score() >= DAILY_SCORE_MIN;
                (AHEAD_MAX, is_beyond)
            }
        };
        is_beyond_daily
            && self.score() >= SCORE_MIN
            && rises + 2 >= PARTS
            && is_steady
            && self.slope * self.observed_s >= GROWTH_MIN
            && self.used > before + ABOVE_MIN
            && self.left_s() <= ahead * self.observed_s
    }

    fn continues(&self, points: &[UsePoint]) -> bool {
        let most = points.iter().map(|point| point.used).fold(0.0, f64::max);
        let last = points.iter().rev().take(3).map(|point| point.used).fold(0.0, f64::max);
        self.score() >= HELD_SCORE_MIN
            && self.left_s() <= HELD_AHEAD_MAX * self.observed_s
            && last >= most - HELD_DROP_MAX
    }

    /// The time left follows from the second half: the first may include a time before the growth.
    fn trend(&self) -> FillTrend {
        let late = &self.means[PARTS / 2..];
        let (slope, _, error) = fit(late);
        let part_s = self.observed_s / PARTS as f64;
        let slope = slope.max(f64::MIN_POSITIVE) / part_s;
        let error = student_quantile_95(late.len() as f64 - 2.0) * error / part_s;
        let free = (1.0 - self.used).max(0.0);
        FillTrend {
            used: self.used.clamp(0.0, 1.0),
            slope,
            observed_s: self.observed_s,
            left_s: free / slope,
            left_min_s: free / (slope + error),
            left_max_s: (slope > error).then(|| free / (slope - error)),
        }
    }
}

/// The middle one of the last three values.
fn latest(points: &[UsePoint]) -> f64 {
    let mut last: Vec<f64> = points.iter().rev().take(3).map(|point| point.used).collect();
    last.sort_by(f64::total_cmp);
    last.get(last.len() / 2).copied().unwrap_or_default()
}

/// Slope by part, mean, and standard error of the slope.
fn fit(means: &[f64]) -> (f64, f64, f64) {
    let count = means.len() as f64;
    let center = means.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let at = |part: usize| part as f64 - middle;
    let spread: f64 = (0..means.len()).map(|part| at(part).powi(2)).sum();
    let slope = means.iter().enumerate().map(|(part, mean)| at(part) * mean).sum::<f64>() / spread;
    let square: f64 =
        means.iter().enumerate().map(|(part, mean)| (mean - center - slope * at(part)).powi(2)).sum();
    (slope, center, (square / (count - 2.0) / spread).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A point every five minutes.
    fn points(hours: f64, used: impl Fn(f64) -> f64) -> Vec<UsePoint> {
        let count = (hours * 12.0) as usize;
        let point = |at: usize| {
            let noise = 0.004 * ((at * 7_919 % 13) as f64 / 6.0 - 1.0);
            UsePoint { time_s: at as f64 * 300.0, used: used(at as f64 / 12.0) + noise }
        };
        (0..=count).map(point).collect()
    }

    /// 40 % with a daily cycle of 10 %; from hour 30 on it grows to 100 % in a number of hours.
    fn leak(hours: f64) -> impl Fn(f64) -> f64 {
        move |at| {
            let daily = 0.05 * (at / 24.0 * std::f64::consts::TAU).sin();
            0.4 + daily + (at - 30.0).max(0.0) * 0.6 / hours
        }
    }

    #[test]
    fn a_leak_is_announced_while_half_of_its_time_is_left() {
        for hours in [3.0, 6.0, 12.0, 24.0] {
            let detected = (0..(hours * 12.0) as usize).find_map(|step| {
                let at = 30.0 + step as f64 / 12.0;
                fill_trend(&points(at, leak(hours)), false).map(|trend| (at, trend))
            });
            let (at, trend) = detected.expect("a leak");
            assert!(at <= 30.0 + hours / 2.0, "{hours} h: announced after {} h", at - 30.0);
            let full = at + trend.left_s / 3_600.0;
            assert!((full - 30.0 - hours).abs() < 0.5 * hours, "{hours} h: full at {full}, {trend:?}");
        }
    }

    #[test]
    fn cycles_steps_and_noise_are_no_leak() {
        let day = |at: f64| 0.5 - 0.3 * (at / 24.0 * std::f64::consts::TAU).cos();
        let sawtooth = |at: f64| 0.3 + 0.4 * (at / 0.7).fract();
        let warm_up = |at: f64| 0.2 + 0.5 * (1.0 - (-at / 1.5).exp());
        let step = |at: f64| if at < 31.0 { 0.3 } else { 0.8 };
        let shapes: [(&str, &dyn Fn(f64) -> f64); 4] =
            [("day", &day), ("sawtooth", &sawtooth), ("warm-up", &warm_up), ("step", &step)];
        for (name, used) in shapes {
            for step in 12..(60 * 12) {
                let all = points(step as f64 / 12.0, used);
                assert_eq!(fill_trend(&all, false), None, "{name} after {} h", step as f64 / 12.0);
            }
        }
    }

    #[test]
    fn a_known_trend_ends_when_the_use_falls() {
        let growing = points(36.0, leak(12.0));
        assert!(fill_trend(&growing, true).is_some());
        let freed = points(36.5, |at| if at < 36.2 { leak(12.0)(at) } else { 0.4 });
        assert_eq!(fill_trend(&freed, true), None);
        assert_eq!(fill_trend(&growing[..3], false), None, "too few points");
    }
}
