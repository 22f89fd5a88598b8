//! Assigns transaction types to columns: one for each, and one for those beyond the limit.

use crate::groups::{SeriesForm, ServerKey, ServerSeries};
use crate::points::Series;
use laggard_model::{Loss, Losses};
use std::collections::BTreeMap;

/// The column of types beyond the limit.
pub(crate) const OTHER: &str = "(other)";

/// The name of transactions that have none.
pub(crate) const ALL: &str = "(all)";

/// Removes counts without a type from servers that also count by type: they would count everything twice.
pub(crate) fn drop_sums(groups: &mut BTreeMap<ServerKey<'_>, ServerSeries<'_>>, cautions: &mut Vec<String>) {
    for (server_key, group) in groups {
        let typed = group.transactions.iter().any(|(name, series)| !name.is_empty() && counts(series));
        if typed && group.transactions.remove("").is_some() {
            cautions.push(format!(
                "Counts of {} without a transaction type were ignored, because others have one.",
                server_key.description()
            ));
        }
        for types in group.calls.values_mut() {
            if types.iter().any(|(name, series)| !name.is_empty() && counts(series)) {
                types.remove("");
            }
        }
    }
}

fn counts(series: &[&Series]) -> bool {
    series.iter().any(|series| SeriesForm::from_measure(series.measure).is_some_and(SeriesForm::is_count))
}

/// Names with their columns.
#[derive(Debug, Default)]
pub(crate) struct Columns<'s> {
    /// The column of each name as it is in the series.
    pub(crate) by_name: BTreeMap<&'s str, usize>,
    /// The names to show, sorted.
    pub(crate) names: Vec<String>,
}

/// Columns for all transaction types of all servers and calls, at most `columns_max`; the rarest types share one.
pub(crate) fn columns<'s>(
    groups: &BTreeMap<ServerKey<'_>, ServerSeries<'s>>,
    columns_max: usize,
    losses: &mut Losses,
) -> Columns<'s> {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for group in groups.values() {
        let calls = group.calls.values().flatten();
        for (&name, series) in group.transactions.iter().chain(calls) {
            *sizes.entry(name).or_default() += series.iter().map(|series| size(series)).sum::<f64>();
        }
    }
    pooled(sizes, columns_max, losses)
}

/// The largest names get their own column; the others share [`OTHER`].
pub(crate) fn pooled<'s>(
    sizes: BTreeMap<&'s str, f64>,
    columns_max: usize,
    losses: &mut Losses,
) -> Columns<'s> {
    let mut ranked: Vec<(&str, f64)> = sizes.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let own_columns = if ranked.len() > columns_max { columns_max.max(1) - 1 } else { ranked.len() };
    losses.add_many(Loss::TransactionLimit, (ranked.len() - own_columns) as u64, || {
        format!("{} is the first beyond {columns_max}", ranked[own_columns].0)
    });
    let shown = |rank: usize| if rank < own_columns { ranked[rank].0 } else { OTHER };
    let shown = |rank: usize| if shown(rank).is_empty() { ALL } else { shown(rank) };
    let mut names: Vec<String> = (0..ranked.len()).map(|rank| shown(rank).to_owned()).collect();
    names.sort();
    names.dedup();
    let column = |rank: usize| {
        names.binary_search_by(|name| name.as_str().cmp(shown(rank))).expect("every shown name is listed")
    };
    let by_name = ranked.iter().enumerate().map(|(rank, &(name, _))| (name, column(rank))).collect();
    Columns { by_name, names }
}

/// About how many transactions a series counts; 0 for one of times.
fn size(series: &Series) -> f64 {
    let sum = || series.points.iter().map(|point| point.value).filter(|value| !value.is_nan()).sum::<f64>();
    match SeriesForm::from_measure(series.measure) {
        Some(SeriesForm::Counts) => sum(),
        Some(SeriesForm::Rate) => sum() * series.spacing().unwrap_or(0) as f64 / 1e9,
        Some(SeriesForm::Total) => match series.points.as_slice() {
            [first, .., last] if last.value >= first.value => last.value - first.value,
            [.., last] => last.value,
            [] => 0.0,
        },
        Some(SeriesForm::Event) => series.points.len() as f64,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_types_share_a_column() {
        let sizes = BTreeMap::from([("a", 1.0), ("b", 9.0), ("c", 5.0), ("", 7.0)]);
        let mut losses = Losses::none();
        let all = pooled(sizes.clone(), 4, &mut losses);
        assert_eq!(all.names, ["(all)", "a", "b", "c"]);
        assert_eq!(all.by_name[""], 0);
        assert!(losses.is_empty());
        let some = pooled(sizes, 3, &mut losses);
        assert_eq!(some.names, ["(all)", "(other)", "b"]);
        assert_eq!((some.by_name["a"], some.by_name["c"], some.by_name["b"]), (1, 1, 2));
        assert_eq!(losses.count(Loss::TransactionLimit), 2);
    }
}
