//! Tables do not depend on the order and partition of the input.

use super::Random;
use laggard_localize::{Site, SiteRequest, SiteTable, SiteTableBuilder, Spent};
use laggard_model::{AttributeSetId, Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use proptest::prelude::*;
use std::num::NonZeroUsize;

const THREADS: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// Adds a request and everything it spent; all of it follows from its number.
fn add(builder: &mut SiteTableBuilder, number: u64) {
    let mut random = Random(number);
    let request = SiteRequest {
        // Few instants: ties are settled by the trace.
        start: Timestamp::from_unix_ns(random.below(4) as i64),
        trace: TraceId::from_value(u128::from(number) + 1),
        latency_ns: 1e6 * random.uniform(),
        category: 0,
        weight: 1.0 + random.below(3) as f32,
        number: number as u32,
        attributes: AttributeSetId::default(),
    };
    builder.request(Fingerprint::from_value(random.below(3) as u128), request);
    for _ in 0..random.below(6) {
        let (caller, callee) = (random.below(3), random.below(3));
        let [caller, callee] = [caller, callee].map(OperationId::from_index);
        let site =
            [Site::Operation(caller), Site::Link { caller, callee }, Site::Chain(callee)][random.below(3)];
        let first = random.below(4);
        let replicas = [first, first + 1 + random.below(2)].map(ReplicaId::from_index);
        builder.home(caller, replicas[0]);
        let replicas = &replicas[..1 + random.below(2)];
        builder.spend(Spent {
            site,
            replicas,
            time_ns: 1e6 * random.uniform(),
            path_ns: 1e5 * random.uniform(),
        });
    }
}

fn builder(numbers: &[u64]) -> SiteTableBuilder {
    let mut builder = SiteTableBuilder::default();
    numbers.iter().for_each(|&number| add(&mut builder, number));
    builder
}

fn check_order(table: &SiteTable) {
    assert!(table.sites.is_sorted() && table.sets.is_sorted() && table.categories.is_sorted());
    assert!(table.requests.is_sorted_by_key(|request| (request.start, request.trace)));
    for (_, rows) in table.by_site() {
        let keys = rows.iter().map(|row| (row.request, row.set));
        assert!(keys.is_sorted_by(|a, b| a < b), "one observation a site, request and set");
    }
}

proptest! {
    #[test]
    fn merging_in_any_order_gives_the_same_table(
        cuts in prop::collection::vec(0_usize..40, 0..5),
        seed in 0_u64..1000,
        extra in any::<u64>(),
    ) {
        let mut numbers: Vec<u64> = (seed..seed + 40).collect();
        let whole = builder(&numbers).finish(THREADS);
        check_order(&whole);
        let mut random = Random(extra);
        random.shuffle(&mut numbers);
        let mut cuts = cuts;
        cuts.extend([0, 40]);
        cuts.sort_unstable();
        let mut parts: Vec<SiteTableBuilder> =
            cuts.windows(2).map(|cut| builder(&numbers[cut[0]..cut[1]])).collect();
        // Merge neighbors at random until one is left.
        while parts.len() > 1 {
            let at = random.below(parts.len() - 1);
            let later = parts.remove(at + 1);
            parts[at].merge(later);
        }
        prop_assert_eq!(parts.remove(0).finish(THREADS), whole);
    }

    /// Any subset equals a table built from those requests alone.
    #[test]
    fn a_subset_equals_a_table_of_those_requests(seed in 0_u64..1000, keep in prop::collection::vec(any::<bool>(), 20)) {
        let numbers: Vec<u64> = (seed..seed + 20).collect();
        let whole = builder(&numbers).finish(THREADS);
        let is_selected = |trace: TraceId| keep[(trace.value() - 1 - u128::from(seed)) as usize];
        let some = whole.only(|request| is_selected(request.trace));
        let expected: Vec<u64> =
            numbers.iter().copied().filter(|&number| is_selected(TraceId::from_value(u128::from(number) + 1))).collect();
        let expected = builder(&expected).finish(THREADS);
        prop_assert_eq!(&some.requests.len(), &expected.requests.len());
        let rows = |table: &SiteTable| -> Vec<_> {
            let row = |(site, row): (Site, &laggard_localize::Observation)| {
                let trace = table.requests[row.request as usize].trace;
                let set = table.sets[row.set as usize].clone();
                (site, trace, set, row.calls, row.time_ns.to_bits(), row.path_ns.to_bits())
            };
            let all = table.by_site().flat_map(|(site, rows)| rows.iter().map(move |row| (site, row)));
            all.map(row).collect()
        };
        prop_assert_eq!(rows(&some), rows(&expected));
    }
}

#[test]
fn calls_of_one_request_at_one_site_on_one_set_are_added_up() {
    let mut builder = SiteTableBuilder::default();
    let (op, replica) = (OperationId::from_index, ReplicaId::from_index);
    let request = |at: i64| SiteRequest {
        start: Timestamp::from_unix_ns(at),
        trace: TraceId::from_value(at as u128 + 1),
        latency_ns: 100.0,
        category: 0,
        weight: 2.0,
        number: at as u32,
        attributes: AttributeSetId::default(),
    };
    let spend = |builder: &mut SiteTableBuilder, set: usize, time_ns: f64, path_ns: f64| {
        builder.spend(Spent { site: Site::Operation(op(0)), replicas: &[replica(set)], time_ns, path_ns });
    };
    builder.request(Fingerprint::from_value(9), request(20));
    spend(&mut builder, 1, 10.0, 1.0);
    spend(&mut builder, 0, 20.0, 2.0);
    spend(&mut builder, 1, 30.0, 4.0);
    builder.request(Fingerprint::from_value(9), request(10));
    spend(&mut builder, 1, 50.0, 8.0);
    builder.home(op(0), replica(1));
    builder.home(op(0), replica(0));
    builder.home(op(1), replica(5));
    let table = builder.finish(THREADS);
    let rows: Vec<_> = (table.rows.iter().flatten())
        .map(|row| (row.request, row.set, row.calls, row.time_ns, row.path_ns))
        .collect();
    assert_eq!(rows, [(0, 1, 1, 50.0, 8.0), (1, 0, 1, 20.0, 2.0), (1, 1, 2, 40.0, 5.0)]);
    assert_eq!(table.homes_of(op(0)).collect::<Vec<_>>(), [replica(0), replica(1)]);
    assert_eq!(table.homes_of(op(2)).count(), 0);
    assert_eq!(table.latency_total_ns(), 400.0);
}

/// Three hundred requests whose first call ran on the replica that `replica` names.
fn ran(replica: impl Fn(u64) -> usize) -> SiteTable {
    let mut builder = SiteTableBuilder::default();
    for number in 0..300 {
        let request = SiteRequest {
            start: Timestamp::from_unix_ns(number as i64),
            trace: TraceId::from_value(u128::from(number) + 1),
            latency_ns: 1.0,
            category: 0,
            weight: 1.0,
            number: number as u32,
            attributes: AttributeSetId::default(),
        };
        builder.request(Fingerprint::from_value(1), request);
        let replicas = &[ReplicaId::from_index(replica(number))];
        let site = Site::Operation(OperationId::from_index(0));
        builder.spend(Spent { site, replicas, time_ns: 1.0, path_ns: 1.0 });
    }
    builder.finish(THREADS)
}

#[test]
fn replicas_that_replaced_each_other_ran_in_succession() {
    let replicas = [1, 2].map(ReplicaId::from_index);
    let in_succession = |table: &SiteTable, replicas: &[ReplicaId]| {
        table.ran_in_succession(OperationId::from_index(0), replicas)
    };
    let replaced = ran(|number| 1 + usize::from(number >= 100));
    assert!(in_succession(&replaced, &replicas));
    assert!(!in_succession(&replaced, &replicas[..1]), "only one");
    assert!(!in_succession(&replaced, &[1, 3].map(ReplicaId::from_index)), "one never ran");
    // The new one starts a little before the old one ends.
    assert!(in_succession(&ran(|number| 1 + usize::from(number >= 110 || number == 104)), &replicas));
    assert!(!in_succession(&ran(|number| 1 + number as usize % 2), &replicas));
}
