//! The kind of cause of hand-written suspects and samples.

use crate::fixtures::{
    against_baseline, all_replicas, changes, healthy, kernel_diagnosis as kernels, three_replicas,
};
use laggard_model::Nanos;
use laggard_report::*;

const MINUTE_S: f64 = 60.0;
/// Minutes of samples before the window, and in it.
const BEFORE: usize = 60;
const SINCE: usize = 20;

/// A report with one suspect, whose calls take `lost_s` seconds more in each second of the window.
pub(crate) fn slow(mut report: Report, lost_s: f64, replicas: &[&str]) -> Report {
    report.suspects.truncate(1);
    let window = report.window.as_mut().unwrap();
    window.until = window.since.plus(Nanos::from_secs(MINUTE_S as u64 * SINCE as u64));
    let lead = &mut report.suspects[0];
    lead.stands_out = true;
    (lead.onset, lead.between, lead.load) = (None, None, None);
    lead.kind = "server".to_owned();
    lead.attributes.clear();
    lead.behavior.clear();
    lead.replicas = replicas.iter().map(|name| (*name).to_owned()).collect();
    lead.replicas_seen = 3;
    lead.scope = if replicas.is_empty() { Scope::All } else { Scope::Replicas };
    let lost_ns = (lost_s * 1e9 * MINUTE_S * SINCE as f64) as u64;
    lead.affected = vec![AffectedCategory { category: "9e30bd5512fa".to_owned(), requests_hit: 90, lost_ns }];
    report
}

/// Samples of three servers with four cores; the named ones use additional cores from the start of the window on.
pub(crate) fn samples(report: &Report, more: &[(&str, f64)]) -> ChangeReport {
    let window = report.window.unwrap();
    let length = Nanos::from_secs(MINUTE_S as u64 * BEFORE as u64);
    let mut out = changes::steady(1_800);
    let front = out.servers.remove(0);
    out.servers = ["a", "b", "c"]
        .map(|name| {
            let cores = more.iter().find(|(server, _)| *server == name).map_or(0.0, |(_, cores)| *cores);
            let observed = (0..BEFORE + SINCE).map(|minute| {
                let noise = ((minute * 7_919) % 101) as f64 / 1e4;
                Some(0.2 + noise + if minute >= BEFORE { cores / 4.0 } else { 0.0 })
            });
            let series = UtilizationSeries {
                since: window.since.minus(length),
                step_s: MINUTE_S,
                windows_per_point: 1,
                observed: observed.collect(),
                transactions_per_s: vec![Some(10.0); BEFORE + SINCE],
                ..UtilizationSeries::default()
            };
            let (server, tier) = (name.to_owned(), report.suspects[0].service.clone());
            ServerChanges { server, tier, cores: 4.0, series, ..front.clone() }
        })
        .into();
    out
}

fn class(report: &Report, more: &[(&str, f64)]) -> (CauseClass, usize) {
    let cause = conclude(report, Some(&samples(report, more)), None).unwrap();
    let of_samples =
        cause.evidence.iter().filter(|evidence| evidence.source == EvidenceSource::Samples).count();
    (cause.class, of_samples)
}

#[test]
fn additional_cpu_time_means_code_and_the_rest_means_waiting() {
    let everywhere = slow(all_replicas(), 1.0, &[]);
    assert_eq!(class(&everywhere, &[("a", 0.33), ("b", 0.33), ("c", 0.33)]), (CauseClass::Code, 1));
    assert_eq!(class(&everywhere, &[]), (CauseClass::Waiting, 1));
}

#[test]
fn calls_of_several_replicas_that_compute_no_longer_wait() {
    let on_two = slow(three_replicas(), 1.0, &["a", "b"]);
    assert_eq!(class(&on_two, &[]), (CauseClass::Waiting, 1));
    // The time of one replica has causes that samples of its CPU do not show, such as its network.
    let on_one = slow(three_replicas(), 1.0, &["a"]);
    assert_eq!(class(&on_one, &[]), (CauseClass::Machine, 1));
}

#[test]
fn replicas_that_are_slow_one_after_the_other_are_one_at_a_time() {
    let mut replaced = slow(three_replicas(), 1.0, &["a", "b"]);
    replaced.suspects[0].in_succession = true;
    assert_eq!(class(&replaced, &[]), (CauseClass::Machine, 1));
    let cause = conclude(&replaced, None, None).unwrap();
    assert_eq!(cause.evidence[0].text, "Only a, b of 3 replicas are slow, one after the other.");
    replaced.suspects.push(replaced.suspects[0].clone());
    let cause = conclude(&replaced, None, None).unwrap();
    assert_eq!(cause.evidence[0].text, "2 operations are slow on a, b and not elsewhere.");
}

#[test]
fn shares_of_an_unknown_number_of_cores_are_no_evidence_and_the_report_states_it() {
    let mut report = slow(all_replicas(), 1.0, &[]);
    let mut changes = samples(&report, &[]);
    changes.servers.iter_mut().for_each(|server| server.cores_known = false);
    report.conclude(OtherEvidence { changes: Some(&changes), ..OtherEvidence::default() });
    assert_eq!(report.cause.as_ref().unwrap().class, CauseClass::Unknown);
    let caution = report.cautions.iter().find(|caution| caution.contains("unknown number of cores"));
    assert!(caution.is_some_and(|text| text.contains("CPU of a, b, c")), "{:?}", report.cautions);
}

#[test]
fn servers_that_a_release_replaced_count_as_one() {
    let everywhere = slow(all_replicas(), 1.0, &[]);
    // Until ten minutes before the window, `d` to `f` of the previous release are up.
    let replaced = |more: &[(&str, f64)], missing: &[usize]| {
        let mut changes = samples(&everywhere, more);
        let mut old = changes.servers.clone();
        for (server, name) in old.iter_mut().zip(["d", "e", "f"]) {
            server.server = name.to_owned();
            server.series.observed[BEFORE - 10..].fill(None);
        }
        changes.servers.iter_mut().for_each(|server| server.series.observed[..BEFORE - 10].fill(None));
        for server in &mut changes.servers[..2] {
            missing.iter().for_each(|minute| server.series.observed[*minute] = None);
        }
        changes.servers.extend(old);
        let cause = conclude(&everywhere, Some(&changes), None).unwrap();
        let of_samples = cause.evidence.into_iter().find(|own| own.source == EvidenceSource::Samples);
        (cause.class, of_samples.map_or_else(String::new, |own| own.text))
    };
    let computing = [("a", 0.33), ("b", 0.33), ("c", 0.33)];
    let (class, text) = replaced(&computing, &[]);
    assert_eq!(class, CauseClass::Code, "{text}");
    assert!(text.contains("CPU of a, b, c is"), "those that are up: {text}");
    assert_eq!(replaced(&[], &[]).0, CauseClass::Waiting);
    // A minute without samples of two of them is not a minute without CPU.
    let missing: Vec<usize> = (BEFORE + 1..BEFORE + SINCE - 1).step_by(2).collect();
    assert_eq!(replaced(&computing, &missing).0, CauseClass::Code);
}

/// The same on one machine of 12 cores, which uses additional cores as well.
fn on_a_machine(report: &Report, more: &[(&str, f64)], machine_more: f64) -> ChangeReport {
    let mut changes = samples(report, more);
    let mut machine = samples(report, &[("a", machine_more / 3.0)]).servers.remove(0);
    changes.servers.iter_mut().for_each(|server| server.machine = Some("vm".to_owned()));
    (machine.server, machine.tier, machine.cores) = ("vm".to_owned(), String::new(), 12.0);
    changes.servers.push(machine);
    changes
}

#[test]
fn processes_that_fill_the_machine_are_the_cause_though_the_servers_compute_no_longer() {
    let class = |lost_s: f64, more: &[(&str, f64)], machine_more: f64| {
        let mut report = slow(all_replicas(), lost_s, &[]);
        let changes = on_a_machine(&report, more, machine_more);
        report.conclude(OtherEvidence { changes: Some(&changes), ..OtherEvidence::default() });
        let cause = report.cause.unwrap();
        let capacity = report.clauses.into_iter().find(|clause| clause.kind == ClauseKind::Capacity);
        (cause.class, cause.evidence[0].text.clone(), capacity.map_or_else(String::new, |clause| clause.text))
    };
    let (found, text, capacity) = class(1.0, &[], 9.0);
    assert_eq!(found, CauseClass::ForeignLoad, "{text}");
    assert!(text.contains("vm") && text.contains("95 % busy") && text.contains("9.00 s more"), "{text}");
    assert!(capacity.starts_with("The CPU of vm is 95 % busy"), "{capacity}");
    // A machine that is not full slows nothing down, and one that the servers themselves fill is no other process.
    assert_eq!(class(1.0, &[], 6.0).0, CauseClass::Waiting);
    assert_eq!(class(7.5, &[("a", 2.5), ("b", 2.5), ("c", 2.5)], 9.0).0, CauseClass::Code);
}

#[test]
fn servers_that_use_an_unknown_number_of_cores_may_fill_their_machine_themselves() {
    let report = slow(all_replicas(), 1.0, &[]);
    let mut changes = on_a_machine(&report, &[], 9.0);
    assert_eq!(conclude(&report, Some(&changes), None).unwrap().class, CauseClass::ForeignLoad);
    changes.servers.push(ServerChanges {
        server: "d".to_owned(),
        cores_known: false,
        ..changes.servers[0].clone()
    });
    assert_ne!(conclude(&report, Some(&changes), None).unwrap().class, CauseClass::ForeignLoad);
}

#[test]
fn samples_between_the_onset_and_a_later_window_are_not_of_the_time_before() {
    let mut report = slow(all_replicas(), 1.0, &[]);
    let changes = on_a_machine(&report, &[], 9.0);
    let window = report.window.as_mut().unwrap();
    let onset = window.since;
    window.since = onset.plus(Nanos::from_secs(600));
    report.suspects[0].onset = Some(Onset { at: onset, earliest: onset, latest: onset });
    assert_eq!(conclude(&report, Some(&changes), None).unwrap().class, CauseClass::ForeignLoad);
}

#[test]
fn the_machine_of_slow_replicas_is_no_other_server() {
    let on_one = slow(three_replicas(), 0.05, &["a"]);
    let changes = on_a_machine(&on_one, &[], 6.0);
    assert!(conclude(&on_one, Some(&changes), None).unwrap().contradictions.is_empty());
}

#[test]
fn cpu_beyond_that_of_the_calls_belongs_to_another_process() {
    let on_one = slow(three_replicas(), 0.05, &["a"]);
    assert_eq!(class(&on_one, &[("a", 1.0)]), (CauseClass::ForeignLoad, 1));
    assert_eq!(class(&on_one, &[("b", 1.0)]).0, CauseClass::Machine, "of another server");
}

#[test]
fn cpu_is_no_evidence_for_calls_that_use_little_of_it() {
    let everywhere = slow(all_replicas(), 0.001, &[]);
    assert_eq!(class(&everywhere, &[]), (CauseClass::Unknown, 0));
}

#[test]
fn cpu_that_requests_and_another_process_cannot_both_explain_is_a_contradiction() {
    let mut of_tenant = slow(all_replicas(), 0.05, &[]);
    of_tenant.suspects[0].attributes.push(SuspectAttribute {
        key: "tenant".to_owned(),
        value: "acme".to_owned(),
        service: None,
        requests_hit: 90,
        requests: 95,
        hit_share: 1.0,
        share: 0.2,
        factor: Some(3.0),
        p_value: 1e-9,
    });
    assert_eq!(class(&of_tenant, &[]).0, CauseClass::Data);
    let cause = conclude(&of_tenant, Some(&samples(&of_tenant, &[("a", 2.0)])), None).unwrap();
    assert_eq!(cause.certainty, Certainty::Possible);
    assert!(cause.contradictions[0].contains("`tenant=acme`"), "{:?}", cause.contradictions);
}

#[test]
fn a_version_that_was_fast_for_a_while_is_only_possibly_the_cause() {
    let certainty = |before_s: f64| {
        let mut report = slow(all_replicas(), 1.0, &[]);
        let lead = &mut report.suspects[0];
        lead.attributes.push(SuspectAttribute {
            key: "version".to_owned(),
            value: "1.0.1".to_owned(),
            service: Some(lead.service.clone()),
            requests_hit: 90,
            requests: 95,
            hit_share: 1.0,
            share: 0.5,
            factor: Some(3.0),
            p_value: 1e-9,
        });
        let time = report.window.unwrap().since;
        let event = SystemEvent::declared(SystemEventKind::Deployment, lead.service.clone(), time);
        lead.events = vec![SuspectEvent {
            event: SystemEvent { version: Some("1.0.1".to_owned()), ..event },
            before_s,
            is_within_onset: before_s < 1.0,
            suspected_running: None,
        }];
        let cause = conclude(&report, None, None).unwrap();
        (cause.class, cause.certainty, cause.evidence[0].text.clone())
    };
    let (class, at_once, _) = certainty(0.5);
    assert_eq!((class, at_once), (CauseClass::Code, Certainty::Likely));
    let (class, later, text) = certainty(111.0);
    assert_eq!((class, later), (CauseClass::Code, Certainty::Possible));
    assert!(text.ends_with("It had run for 111 s before that."), "{text}");
}

#[test]
fn spans_alone_name_the_network_and_do_not_guess() {
    let report = against_baseline();
    let cause = conclude(&report, None, None).unwrap();
    assert_eq!(report.suspects[0].between.is_some(), cause.class == CauseClass::Network, "{cause:?}");
    assert_eq!(conclude(&slow(all_replicas(), 1.0, &[]), None, None).unwrap().class, CauseClass::Unknown);
    assert_eq!(conclude(&healthy(), None, None), None);
}

/// A comparison of the kernel in which these waits explain these shares of the additional time.
fn kernel(waits: &[(WaitCause, f64)]) -> KernelDiagnosis {
    let mut out = kernels::slower();
    let first = out.waits[0].clone();
    let wait = |&(cause, share): &(WaitCause, f64)| AbnormalWait {
        cause,
        share,
        waker: Some("holder".to_owned()),
        ..first.clone()
    };
    out.waits = waits.iter().map(wait).collect();
    out
}

fn of_kernel(report: &Report, waits: &[(WaitCause, f64)]) -> Option<(CauseClass, f64)> {
    let cause = conclude(report, None, Some(&kernel(waits))).unwrap();
    let mut pieces = cause.evidence.iter().filter(|evidence| evidence.source == EvidenceSource::Kernel);
    pieces.next().map(|evidence| (evidence.class, evidence.weight))
}

#[test]
fn each_wait_in_the_kernel_supports_its_kind_of_cause() {
    let on_one = slow(three_replicas(), 0.05, &["a"]);
    let everywhere = slow(all_replicas(), 0.05, &[]);
    let cases = [
        (WaitCause::OtherThread, (CauseClass::Waiting, 4.0), (CauseClass::Waiting, 4.0)),
        (WaitCause::Lock, (CauseClass::Waiting, 4.0), (CauseClass::Waiting, 4.0)),
        (WaitCause::Unresolved, (CauseClass::Waiting, 3.0), (CauseClass::Waiting, 3.0)),
        (WaitCause::CpuQuota, (CauseClass::Configuration, 4.0), (CauseClass::Configuration, 4.0)),
        (WaitCause::CpuBusy, (CauseClass::ForeignLoad, 3.0), (CauseClass::Load, 1.5)),
        (WaitCause::Disk, (CauseClass::Machine, 3.0), (CauseClass::Waiting, 3.0)),
        (WaitCause::Network, (CauseClass::Network, 2.0), (CauseClass::Network, 2.0)),
        (WaitCause::Computing, (CauseClass::Machine, 1.0), (CauseClass::Code, 3.0)),
    ];
    for (cause, expected, alike) in cases {
        assert_eq!(of_kernel(&on_one, &[(cause, 0.9)]), Some(expected), "{cause:?}");
        assert_eq!(of_kernel(&everywhere, &[(cause, 0.9)]), Some(alike), "{cause:?}");
    }
    let mut client = everywhere;
    client.suspects[0].kind = "client".to_owned();
    assert_eq!(of_kernel(&client, &[(WaitCause::Network, 0.9)]), Some((CauseClass::Dependency, 2.0)));
}

#[test]
fn a_few_slow_executions_among_many_are_not_the_calls_of_a_suspect() {
    let on_one = slow(three_replicas(), 1.0, &["a"]);
    let mut found = kernel(&[(WaitCause::Timer, 1.0)]);
    let supports = |found: &KernelDiagnosis| {
        let cause = conclude(&on_one, None, Some(found)).unwrap();
        cause.evidence.iter().any(|evidence| evidence.source == EvidenceSource::Kernel)
    };
    found.sample.executions = 50 * found.anomalous.len() as u64;
    assert!(supports(&found));
    found.sample.executions += 1;
    assert!(!supports(&found));
}

#[test]
fn a_client_that_waits_for_another_program_has_a_slow_dependency() {
    let mut client = slow(all_replicas(), 0.05, &[]);
    client.suspects[0].kind = "client".to_owned();
    let class = |report: &Report, call: &str, is_namesake: bool| {
        let mut kernel = kernel(&[(WaitCause::OtherThread, 0.9)]);
        kernel.waits[0].call = Some(call.to_owned());
        kernel.waits[0].other = Some(OtherThread {
            thread: "postgres".to_owned(),
            tid: None,
            is_namesake,
            kind: CpuUserKind::Unknown,
            container: None,
        });
        let cause = conclude(report, None, Some(&kernel)).unwrap();
        let of_kernel = cause.evidence.iter().find(|piece| piece.source == EvidenceSource::Kernel).unwrap();
        (of_kernel.class, of_kernel.weight)
    };
    assert_eq!(class(&client, "recvfrom", false), (CauseClass::Dependency, 3.0));
    assert_eq!(class(&client, "futex", false), (CauseClass::Waiting, 4.0), "a lock");
    assert_eq!(class(&client, "recvfrom", true), (CauseClass::Waiting, 4.0), "a thread of its own program");
    client.suspects[0].kind = "server".to_owned();
    assert_eq!(class(&client, "recvfrom", false), (CauseClass::Waiting, 4.0), "not in a call of the suspect");
}

#[test]
fn threads_of_one_name_that_share_a_processor_are_load() {
    let report = slow(three_replicas(), 0.05, &["a"]);
    let mut kernel = kernel(&[(WaitCause::CpuBusy, 0.9)]);
    kernel.waits[0].waker = Some(kernel.waits[0].thread.clone());
    let cause = conclude(&report, None, Some(&kernel)).unwrap();
    let evidence = cause.evidence.iter().find(|evidence| evidence.source == EvidenceSource::Kernel).unwrap();
    assert_eq!((evidence.class, evidence.weight), (CauseClass::Load, 1.5));
}

#[test]
fn a_kind_of_cause_needs_half_of_the_additional_time() {
    let report = slow(three_replicas(), 0.05, &["a"]);
    let waits = [(WaitCause::CpuQuota, 0.4), (WaitCause::OtherThread, 0.3), (WaitCause::Timer, 0.2)];
    assert_eq!(of_kernel(&report, &waits), Some((CauseClass::Waiting, 4.0)), "both are waiting");
    assert_eq!(of_kernel(&report, &waits[..2]), None);
    assert_eq!(of_kernel(&report, &[(WaitCause::Unknown, 0.9)]), None);
    let cause = conclude(&report, None, Some(&kernels::nothing())).unwrap();
    assert!(cause.evidence.iter().all(|evidence| evidence.source != EvidenceSource::Kernel));
}

#[test]
fn samples_of_another_process_are_contradicted_by_a_lock_but_not_by_a_busy_processor() {
    let report = slow(three_replicas(), 0.05, &["a"]);
    let changes = samples(&report, &[("a", 1.0)]);
    let with = |cause| conclude(&report, Some(&changes), Some(&kernel(&[(cause, 0.9)]))).unwrap();
    let busy = with(WaitCause::CpuBusy);
    assert_eq!((busy.class, busy.certainty), (CauseClass::ForeignLoad, Certainty::Likely));
    assert_eq!(busy.contradictions, [] as [String; 0]);
    let lock = with(WaitCause::OtherThread);
    assert_eq!(lock.certainty, Certainty::Possible);
    let [text] = lock.contradictions.as_slice() else { panic!("{:?}", lock.contradictions) };
    assert!(text.starts_with("Samples and the kernel disagree.") && text.contains("`holder`"), "{text}");
}

#[test]
fn another_process_on_another_machine_is_a_contradiction() {
    let on_one = slow(three_replicas(), 0.05, &["a"]);
    let with = |report: &Report, more: &[(&str, f64)]| {
        conclude(report, Some(&samples(report, more)), None).unwrap().contradictions
    };
    let [text] = with(&on_one, &[("b", 0.5)]).try_into().unwrap();
    assert!(
        text.starts_with("Traces and samples disagree. Only `a` of 3 replicas is slow. But: CPU of `b`"),
        "{text}"
    );
    assert!(text.contains("499 ms more in each second"), "{text}");
    let mut report = on_one.clone();
    report.conclude(OtherEvidence {
        changes: Some(&samples(&on_one, &[("b", 0.5)])),
        ..OtherEvidence::default()
    });
    let mut clauses = report.clauses.iter().filter(|clause| clause.kind == ClauseKind::Contradiction);
    assert_eq!(clauses.next().unwrap().sources, [EvidenceSource::Traces, EvidenceSource::Samples]);
    for (more, why) in [
        (&[][..], "nobody uses more"),
        (&[("a", 1.0)], "where the calls are slow"),
        (&[("a", 0.5), ("b", 0.6)], "on both"),
        (&[("b", 0.2)], "too little"),
    ] {
        assert_eq!(with(&on_one, more), [] as [String; 0], "{why}");
    }
    let everywhere = slow(all_replicas(), 0.05, &[]);
    assert_eq!(with(&everywhere, &[("b", 0.5)]), [] as [String; 0], "no replica is named");
}

#[test]
fn a_disk_contradicts_samples_of_another_process() {
    let report = slow(three_replicas(), 0.05, &["a"]);
    let changes = samples(&report, &[("a", 1.0)]);
    let with = |cause| conclude(&report, Some(&changes), Some(&kernel(&[(cause, 0.9)]))).unwrap();
    let [text] = with(WaitCause::Disk).contradictions.try_into().unwrap();
    assert!(
        text.starts_with("Samples and the kernel disagree.") && text.contains("something else computes"),
        "{text}"
    );
    for consistent in [WaitCause::CpuBusy, WaitCause::Interrupt, WaitCause::Computing] {
        assert_eq!(with(consistent).contradictions, [] as [String; 0], "{consistent:?}");
    }
}
