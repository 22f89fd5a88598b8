//! The texts of the page: what is measured, and how.

use crate::sets::SetKind;

pub(super) const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask evaluate --write`. Do not edit. -->

# Scorecard

Every method over measured and simulated incidents whose truth is known: Laggard's own, as the product's registry lists
them and with their default settings, against two simple rankings, one of them what a person computes by hand, and two
published methods. Every wrong answer of Laggard's default is on the [page of misses](scorecard-misses.md), those of other
methods with one example a group.

```sh
cargo xtask evaluate --write                         # this page and that of misses
cargo xtask evaluate --data DIR                      # any folder with the same layout as ../shared/data
cargo xtask evaluate --only simulator/quiet --seeds 100
cargo xtask evaluate --only days/quiet --profile shop --method combined
cargo xtask evaluate --only tracebench --save tracebench.json
cargo xtask evaluate --merge *.json --write          # the pages, from runs of their parts
```
";

pub(super) const MISSES: &str = "\
<!-- Written by `cargo xtask evaluate --write`. Do not edit. -->

# Misses

Every wrong answer of Laggard's default method in the run of the [scorecard](scorecard.md), with the truth, and what was
said instead: the report's headline, or what it named and why. Cases with the same wrong answer share a row. Of other
methods there is a row a group, with its first cases and the first of their wrong answers.
";

pub(super) const METHODS: &str = "
## Methods

- **Laggard's**: see `laggard methods`. The first in the tables is the default. They decide what to name, without
  knowing how many replicas are slow, or whether any is.
- **latency patterns**: Laggard's own on matrices, see its [page](manual/methods/patterns.md). It has no further input.
- **p95-ratio**: what a dashboard shows. Operations by the ratio of their 95th percentile of inclusive time to the
  baseline's, from 1.5; without a baseline to their own median, from 3. Replicas by the ratio to the median replica,
  from 1.5.
- **self-time excess**: what a person computes who knows the window. Operations by mean self time over the
  baseline's (from +10 %), times calls; the gap between a caller's span and the span it waits for on another replica
  counts for the callee. Without a baseline, the median replica stands in. Replicas from 1.5 times the median replica.
- **MicroRank** (Yu et al., The Web Conference 2021, doi:10.1145/3442381.3449905), reimplemented from the paper: a
  request is abnormal when it takes longer than the sum of its operations' means plus 1.5 deviations; personalized
  PageRank over operations of single replicas, for the abnormal and the normal requests; a weighted spectrum with
  the D*2 formula. It answers only when more than 1 % of the requests are abnormal. What is usual it learns from the
  baseline, else from the window itself.
- **MicroRank, slowest 5 %**: the same with another detector, as the authors advise where theirs does not suit (deviations
  added up over a hundred calls are hardly ever exceeded): abnormal are requests whose latency, over the sum of their
  operations' means, exceeds that of 95 % of the normal ones. Some always do, so it runs only where something is wrong.
- **TraceRCA** (Li et al., IEEE/ACM IWQoS 2021, doi:10.1109/IWQOS52092.2021.9521340), reimplemented from the paper:
  invocations whose latency is selected as a feature because it is more severe than in the baseline, and deviates by
  more than one deviation; frequent sets of services among abnormal requests by their Jaccard index; suspicion inside
  a set by abnormal invocations in and out. Traces hold one of the paper's features, latency. Without a baseline
  nothing can be selected, and three deviations count. It ranks services; operations of a service come by their
  abnormal invocations, and for replicas it is run again with replicas as items and a least support of 1 %.

All but Laggard's rank and do not decide how many names count, nor whether a fault is on all replicas alike. They are
therefore scored as if they knew how many replicas are slow (none, when all are), on that many of their first names: where
they do better than Laggard, they had more information. In quiet data a list of theirs, however long, counts as one false finding.

Columns: *right*: everything is right, the top name and all and only the expected replicas. *Top-1/3/5*: share of the
cases in which a right name is among the first 1, 3, 5 (operations; in tracebench and Online Boutique replicas). *Replica
top-1*: the first replica named is one of the slow ones.
*Precision* and *recall*: of the replicas named, means over the cases; naming none where some are expected has precision 0.
Seconds are means a case and include assembling traces but not reading files; processor seconds are those of all threads.
";

/// How a set is scored.
pub(super) fn about(set: SetKind) -> &'static str {
    match set {
        SetKind::Tracebench => {
            "\
HDFS traces with 50 interchangeable data nodes. *Slow nodes*: extra network delay on some of them; the right answer is
all and only those, without knowing how many, and without a baseline; operations do not count. *Sub-samples*: ten
seeded draws of 20 traces from each of these runs; a slow node that does not occur in the draw is not expected.
*Every node slow*: any operation is right, any replica that Laggard names is wrong; the baseline is the run with a delay of 0 ms of the same
workload, or the only one there is. *Nothing injected*: anything named is a false finding."
        }
        SetKind::OnlineBoutique => {
            "\
A shop with one pod a service and faults of three minutes at known times; only performance faults count.
*Known window*: the traces that start within the fault's three minutes, against all other minutes (those of other faults
included, of whatever kind), and against fault-free minutes only. The rank is that of the faulty pod, where an operation
counts for the pods that run it. *Minute by minute*: the data are cut into slices of 60 s from the earliest trace, and every
method gets every slice with all other slices as baseline. A fault is *detected* when anything is named in one of the first two
slices that cover at least 30 s of it; right means that the faulty pod comes first in one of the two. A slice is fault-free when it
overlaps no fault, of whatever kind, nor the minute after one; anything named there is a false alarm. Slices of faults that
are code defects (`return`, `exception`), not a latency matter, count for neither. A fault-free minute may be slow all the
same: a fault lasts three minutes, but a system that could not keep up works off what waited for longer than the one
minute that is granted. Such minutes are listed, with their latencies, among the notes at the top of the page.
*Quarter hours*: no quarter hour is free of faults, so its fault-free minutes are judged together, alone and against those of
all other quarter hours.

*One run*: methods get all data at once, with no window and no baseline; those that report no times are left
out. A fault is *detected* when a slow period overlaps it in one of the first two slices, as above; right means that a
service of the faulty pod comes first in that period. A slow period is a false alarm when it touches no fault, of whatever
kind, nor the minute before or after one, and does not merely continue a period that does: one that lasts beyond its fault is
the same alarm, also across a gap in the data. The hours are those of the fault-free slices; the seconds are those of the one
run, shown with the fault-free data."
        }
        SetKind::Delag => {
            "\
Matrices of requests and calls in which two causes slow about a tenth of the requests each. Methods see latencies and
times and name groups of requests. Precision, recall and F1 are of all requests in any group against all that were hit;
*F1 by cause* is the mean over the causes of the F1 of the group assigned to it, groups assigned one to one so that the sum is
largest (Traini and Cortellessa, IEEE TSE 49(6), 2023). *Slowest fifth* knows the share; *best column* is the one call and
threshold that agree best with the slowest fifth. A miss is an F1 below 0.9. *Delays injected*: into the requests of the same
files that nothing hit, two causes of two operations each, in half of the files with one in common; *modes by nature*: three operations,
two of them delayed, take much longer in many requests anyway, without effect on the latency, or, *slow*, with it. The second table has the same files without the
requests that were hit: any group is a false finding. Methods that always name a group do not run there."
        }
        SetKind::Simulator => {
            "\
Incidents of the [simulator](manual/simulate.md), an hour each on a hundred nodes whose clocks disagree, generated in memory. The right
operation is any with at least a twentieth of the injected time; the right replicas are all with at least one delayed call,
or none when the fault is on all. The baseline is the quiet hour before, of the same system with other requests (for
`heavy-tail`, another hour of heavy tails). `uniform` has a baseline only, since without one there is nothing to
see. In `quiet` and `heavy-tail` anything named is a false finding."
        }
        SetKind::Days => DAYS,
        SetKind::RequestsHit => REQUESTS_HIT,
        SetKind::Tpcw => TPCW,
        SetKind::Executions => EXECUTIONS,
        SetKind::CpuDemands => {
            "\
Measured runs of an hour on a server with one CPU, one or two types of requests with known demands, at 20, 50 and 80 % load,
in windows of 10 s. The first table has the error of the estimated demands, and how often the truth is in the 95 %
interval. The truth itself is inferred: demands rounded from mean response times at 20 % load and confirmed by regression over
all runs, so an error of a few percent says little. The second table has the finders of changes on the same runs: nothing
changes, so any alarm is false."
        }
    }
}

const DAYS: &str = "\
[Ordinary days](manual/simulate.md#ordinary-days) of ten kinds of systems, a kind and seed a case, with the hour before as the
baseline where there is one. *Quiet*: quarter hours in which nothing happens but what always does; anything named is a false
alarm, and a report of verdict `tail` names nothing. *Faults*: one operation, replica, edge, or tenant is 1.5 or 1.2 times
as slow in 12 of 15 minutes; or half of the calls of an operation fail (`errors`) or return without making their own calls
(`early-return`). A fault is *detected* when anything is named. *Right*: the first name is the operation that the fault
hit, on a replica that it hit, with the tenant that it hit; for an edge, a suspect between the two services, or, where
there are no spans of clients, an operation of the caller. Of methods that rank, any operation of either end of an edge is
right; tenants they cannot name. *1 % lost*, *5 % lost*: spans are lost at random, always or from the first window on. A fault of a kind that a system cannot
have is left out.";

const REQUESTS_HIT: &str = "\
The incidents of the simulator once more, without a baseline where none is needed, and with one. The first suspect that the
fault concerns is judged by its requests: *precision* is the share of them with a delayed call of the operation, *recall*
the share of the requests with such a call that it hit. *Effect*: its excess per call, and per request, over the median
of what was injected. *Any suspect*: requests hit by any suspect, against those with any delayed call. *Right*: precision
and recall of at least 0.95, and effects within 10 %. `demo` has ten minutes, the others an hour.";

const EXECUTIONS: &str = "\
[Executions](manual/methods/executions.md) as sequences of states, drawn from templates of 20 to 60 steps with insertions,
deletions (3 to 8 %), substitutions (2 %) and lognormal times; a scenario a group, a seed a case. Methods see 100 normal
executions and a sample. *False alarms*: quiet samples in which anything is reported. *Kinds right*: normal executions
in a found kind most of whose members are of theirs; noise counts as wrong. *Pairs right*: sample executions compared with
the right kind. *Flagged*: executions that a fault touched or that are of a new kind. *Steps found*: of the steps that a fault
touched, those reported. *Unrelated*: of the time reported as too much, that at steps that no fault touched.

The simple methods know no kinds and no steps: *total time* flags executions whose time is an outlier among all normal ones
(log time above median + 3.5 MAD), *time by state* those for which that holds in any state.";

const TPCW: &str = "\
A [shop under load](manual/simulate.md#a-shop-under-load), by real queueing, a scenario a group, a seed a case. Methods see
counts, utilization and times of the first front server by the minute. *Alarms*: changes of the application; one is found
when an alarm's onset is within 15 minutes of it, any other alarm is false. *In the interval*: of the intervals reported for the
onset, those with the truth in them. *Named*: of the alarms found, those that name exactly the transactions that changed;
*sized*: and by how many ms, within 1. *Regions*: times of foreign load, found when at least half is covered. *Right*: all of this,
and nothing false. In `tpcw-quiet`, `tpcw-cache`, `tpcw-diurnal`, `tpcw-slow-database`, `tpcw-new-type`, `tpcw-contention`, `tpcw-lag` and
`tpcw-recurring` nothing happens that should be reported, and in `tpcw-foreign` only a region should be. In `tpcw-slower-host`
all transactions change alike; which ones does not count.

The simple methods name no transactions and no regions; every change they see is an alarm. *Utilization above 70 %*: for five
minutes. *CUSUM* (Page, Biometrika 41, 1954): two-sided, slack half a deviation, limit five, learned from an hour and again
after every alarm. *PELT* (Killick et al., JASA 107, 2012): changes of the mean under a penalty of 3 ln T noise variances, the noise from the
differences of neighbors, segments of ten minutes and more. Both on utilization, and on CPU time a transaction, whatever its type.";
