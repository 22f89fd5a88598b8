//! Windows: every trace once, and fair samples of many.

use crate::{KINDS, Kind, read, window};
use laggard_model::Loss;
use laggard_testkit::{HttpStandIn, StandInResponse, jaeger_response};

#[test]
fn every_trace_of_a_window_is_read_once() {
    for kind in &KINDS {
        // 1,500 traces in 300 s, several answers; the window has those of 60 to 240 s.
        let server = kind.serve((0..1_500).map(|index| index * 200_000));
        for service in [None, Some("front")] {
            let found = read(kind.settings(&server.url()), &[window(60.0, 240.0)], service, 10_000).unwrap();
            let (traces, summary) = (found.traces(), &found.summary.windows[0]);
            assert_eq!(
                (traces.len(), summary.traces, summary.one_in),
                (900, 900, 1),
                "{} {service:?}",
                kind.name
            );
            assert_eq!(found.spans.spans.len(), 3 * 900, "{}", kind.name);
            assert!(found.spans.losses.is_empty(), "{:?}", found.spans.losses);
            assert_eq!(found.summary.cautions(), Vec::<String>::new());
            let starts = found.starts_s();
            assert!(starts.iter().all(|start| (60.0..240.0).contains(start)), "{}", kind.name);
        }
    }
}

#[test]
fn a_window_that_one_answer_holds_takes_one_query() {
    for kind in &KINDS {
        let server = kind.serve((0..20).map(|index| index * 1_000_000));
        let found = read(kind.settings(&server.url()), &[window(0.0, 60.0)], Some("front"), 10_000).unwrap();
        assert_eq!(found.traces().len(), 20);
        let searches = server.received().iter().filter(|request| request.field("limit").is_some()).count();
        // Elasticsearch has two, for the ids and for the spans.
        assert_eq!(searches, usize::from(kind.name != "elasticsearch"), "{}", kind.name);
    }
}

#[test]
fn of_more_traces_than_requested_the_sample_is_spread_evenly() {
    for kind in &KINDS {
        // An hour; three times as many traces in its second half.
        let starts = (0..3_600_i64).flat_map(|second| {
            let count = if second < 1_800 { 2 } else { 6 };
            (0..count).map(move |index| second * 1_000_000 + index * 160_000)
        });
        let server = kind.serve(starts);
        let found = read(kind.settings(&server.url()), &[window(0.0, 3_600.0)], None, 2_000).unwrap();
        let summary = &found.summary.windows[0];
        assert!(summary.one_in > 1 && (1_000..=2_200).contains(&summary.traces), "{} {summary:?}", kind.name);
        let starts = found.starts_s();
        let late = starts.iter().filter(|&&start| start >= 1_800.0).count() as f64 / starts.len() as f64;
        assert!(
            (0.68..0.82).contains(&late),
            "{}: three quarters of the traces are late, read {late}",
            kind.name
        );
        // Every tenth of the window has its share.
        for tenth in 0..10 {
            let range = f64::from(tenth) * 360.0..f64::from(tenth + 1) * 360.0;
            let count = starts.iter().filter(|&start| range.contains(start)).count() as f64;
            let all = if tenth < 5 { 720.0 } else { 2_160.0 };
            let share = count / all * summary.one_in as f64;
            assert!((0.5..1.6).contains(&share), "{}: {share} in tenth {tenth}", kind.name);
        }
        let cautions = found.summary.cautions();
        assert!(
            cautions.len() == 1 && cautions[0].contains(&format!("one in {}", summary.one_in)),
            "{cautions:?}"
        );
    }
}

#[test]
fn a_baseline_is_a_window_of_its_own() {
    let kind = &KINDS[0];
    let server = kind.serve((0..4_000).map(|index| index * 100_000));
    let windows = [window(390.0, 400.0), window(0.0, 390.0)];
    let found = read(kind.settings(&server.url()), &windows, None, 1_000).unwrap();
    let [recent, earlier] = &found.summary.windows[..] else { panic!("two windows") };
    assert_eq!((recent.traces, recent.one_in), (100, 1));
    assert!(earlier.one_in > 1 && earlier.traces <= 1_100, "{earlier:?}");
    let cautions = found.summary.cautions();
    assert!(cautions.iter().any(|text| text.contains("Different shares")), "{cautions:?}");
}

#[test]
fn a_burst_that_no_slice_separates_is_read_as_far_as_requested() {
    let kind = &KINDS[1];
    // Tempo's times are seconds.
    let server = kind.serve((0..500).map(|index| 30_000_000 + index));
    let read_of =
        |traces_max| read(kind.settings(&server.url()), &[window(0.0, 60.0)], None, traces_max).unwrap();
    let all = read_of(20_000).summary;
    assert_eq!((all.windows[0].traces, all.windows[0].crowded), (500, 0));
    let part = read_of(3_200).summary;
    assert_eq!((part.windows[0].traces, part.windows[0].crowded), (100, 1));
    assert!(part.cautions()[0].contains("more traces than one answer holds"), "{:?}", part.cautions());
}

#[test]
fn losses_of_an_answer_reach_the_sink() {
    let traces = KINDS[0].traces((0..3).map(|index| index * 1_000));
    let server = HttpStandIn::new(move |_, request| {
        let mut response = jaeger_response(&traces, request);
        if request.path == "/api/traces" {
            let text = String::from_utf8(response.body).unwrap();
            response.body = text.replacen("\"startTime\":", "\"startTime\":\"x\",\"was\":", 1).into();
        }
        response
    });
    let found = read(KINDS[0].settings(&server.url()), &[window(0.0, 60.0)], Some("front"), 10_000).unwrap();
    assert_eq!(found.spans.spans.len(), 8);
    assert_eq!(found.spans.losses.count(Loss::MalformedRecord), 1, "{:?}", found.spans.losses);
}

#[test]
fn traces_that_are_listed_and_not_returned_are_a_caution() {
    let kind = &KINDS[1];
    let traces = kind.traces((0..5).map(|index| index * 1_000_000));
    let server = HttpStandIn::new(move |_, request| match request.path.as_str() {
        "/api/traces/3" => StandInResponse::new("404 Not Found", "trace not found"),
        _ => (kind.answering)(&traces, request),
    });
    let found = read(kind.settings(&server.url()), &[window(0.0, 60.0)], None, 10_000).unwrap();
    assert_eq!((found.traces().len(), found.summary.unreturned), (4, 1));
    assert!(found.summary.cautions()[0].contains("1 traces"), "{:?}", found.summary.cautions());
}

#[test]
fn names_of_services_are_sent_as_they_are() {
    for Kind { name, answering, .. } in &KINDS {
        let kind = KINDS.iter().find(|kind| kind.name == *name).unwrap();
        let mut traces = kind.traces((0..5).map(|index| index * 1_000_000));
        for trace in traces.values_mut() {
            trace.spans[0].0 = "a & b=ü".to_owned();
            trace.document = trace.document.to_string().replace("\"front\"", "\"a & b=ü\"").parse().unwrap();
        }
        let server = laggard_testkit::trace_stand_in(traces, *answering);
        let found = read(kind.settings(&server.url()), &[window(0.0, 60.0)], Some("a & b=ü"), 100).unwrap();
        assert_eq!(found.traces().len(), 5, "{name}");
    }
}

#[test]
fn spans_of_elasticsearch_come_in_pages() {
    let kind = &KINDS[3];
    let mut traces = kind.traces([1_000_000].into_iter());
    let trace = traces.values_mut().next().unwrap();
    let spans = trace.document.as_array_mut().unwrap();
    let child = spans[1].clone();
    spans.extend((0..25_000).map(|index| {
        let mut span = child.clone();
        span["spanID"] = format!("{:016x}", 0x1_0000 + index).into();
        span
    }));
    let traces = trace.clone();
    let server = laggard_testkit::trace_stand_in([("1".to_owned(), traces)].into(), kind.answering);
    let found = read(kind.settings(&server.url()), &[window(0.0, 60.0)], None, 10_000).unwrap();
    assert_eq!((found.traces().len(), found.spans.spans.len()), (1, 25_003));
    assert_eq!(server.received().len(), 1 + 3, "ids, and three pages");
}

#[test]
fn a_search_that_fails_on_a_shard_is_an_error() {
    for fault in ["\"timed_out\":true", "\"_shards\":{\"failed\":1}"] {
        let server = HttpStandIn::new(move |_, _| {
            StandInResponse::json(format!("{{{fault},\"hits\":{{\"hits\":[]}},\"aggregations\":null}}"))
        });
        let error = read(KINDS[3].settings(&server.url()), &[window(0.0, 60.0)], None, 100).err().unwrap();
        assert!(error.to_string().contains("not completed on all shards"), "{error}");
    }
}
