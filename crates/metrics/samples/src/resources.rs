//! Memory and network links of a server by window.

use crate::groups::MemorySeries;
use crate::points::Series;
use crate::servers::{WindowSpan, averages, unit_of};
use crate::settings::UtilizationUnit;
use laggard_model::Losses;
use laggard_numeric::median;

/// Share of the memory in use by window: as measured or, where unknown, from available bytes and the median size. Empty if it
/// was never measured. Values beyond 0..1 are cut.
pub(crate) fn memory_use(span: &WindowSpan, memory: &MemorySeries<'_>) -> Vec<f64> {
    let mut used = shares(span, &memory.used);
    let mut sizes: Vec<f64> =
        memory.size.iter().flat_map(|series| &series.points).map(|point| point.value).collect();
    // 0 without any.
    let size = median(&mut sizes);
    if size > 0.0 && !memory.available.is_empty() {
        let available = averages(span, &memory.available, &mut Losses::none());
        let of_size = available.iter().map(|available| (1.0 - available / size).clamp(0.0, 1.0));
        if used.is_empty() {
            return of_size.collect();
        }
        for (used, of_size) in used.iter_mut().zip(of_size) {
            if used.is_nan() {
                *used = of_size;
            }
        }
    }
    used
}

/// Share of the network link in use by window; of several links or directions the busiest. Empty if it was never measured.
pub(crate) fn network_use(span: &WindowSpan, links: &[&Series]) -> Vec<f64> {
    let mut busiest: Vec<f64> = Vec::new();
    for link in links {
        let used = shares(span, &[link]);
        if busiest.is_empty() {
            busiest = used;
            continue;
        }
        // `max` ignores what is unknown of one of the two.
        busiest.iter_mut().zip(used).for_each(|(busiest, used)| *busiest = busiest.max(used));
    }
    busiest
}

/// Mean shares by window; series in percent are recognized as those of the CPU are.
fn shares(span: &WindowSpan, all: &[&Series]) -> Vec<f64> {
    if all.is_empty() {
        return Vec::new();
    }
    let scale = if unit_of(all.iter().copied()) == UtilizationUnit::Percent { 100.0 } else { 1.0 };
    let values = averages(span, all, &mut Losses::none());
    values.into_iter().map(|value| (value / scale).clamp(0.0, 1.0)).collect()
}
