//! Executions by markers: nested, overlapping, unfinished, across threads.

use super::notation::{check, find};

#[test]
fn nested_executions_have_their_depth() {
    let drawing = "
        10 7 marker B|7|request
        20 7 marker B|7|query
        30 7 marker E|7
        40 7 marker B|7|query
        45 7 marker B|7|parse
        50 7 marker E|7
        60 7 marker E|7
        90 7 marker E|7
    ";
    let expected =
        ["request - 7>7 10..90 0", "query - 7>7 20..30 1", "query - 7>7 40..60 1", "parse - 7>7 45..50 2"];
    check("marker", drawing, &expected, 0);
    // Ends without a name still close what they closed.
    check(
        "marker:query",
        &drawing.replace("E|7", "query end"),
        &["query - 7>7 20..30 0", "query - 7>7 40..50 0"],
        2,
    );
}

#[test]
fn overlapping_executions_are_distinguished_by_key() {
    let drawing = "
        10 7 marker begin order 1
        20 7 marker begin order 2
        30 7 marker end order 1
        40 7 marker end order 2
    ";
    check("marker", drawing, &["order 1 7>7 10..30 0", "order 2 7>7 20..40 1"], 0);
}

#[test]
fn markers_of_different_threads_are_separate() {
    let drawing = "
        10 7 marker work begin
        15 8 marker work begin
        30 8 marker work end
        40 7 marker work end
    ";
    check("marker", drawing, &["work - 7>7 10..40 0", "work - 8>8 15..30 0"], 0);
}

#[test]
fn an_execution_may_end_on_another_thread() {
    let drawing = "
        10 7 marker S|7|load|77
        20 7 marker S|7|load|78
        30 8 marker F|7|load|77
        40 9 marker F|7|load|78
    ";
    check("marker", drawing, &["load 7:77 7>8 10..30 0", "load 7:78 7>9 20..40 1"], 0);
    check("marker@thread", drawing, &[], 4);
    let without_key = "
        10 7 marker job begin
        30 8 marker job end
    ";
    check("marker", without_key, &["job - 7>8 10..30 0"], 0);
    let either = "
        10 7 marker job begin
        20 9 marker job begin
        30 8 marker job end
    ";
    check("marker", either, &[], 3);
}

#[test]
fn processes_and_containers_pair_their_own() {
    let drawing = "
        1 100 process 100
        2 101 process 100
        3 200 process 200
        4 201 process 200
        10 100 marker begin job 1
        11 200 marker begin job 1
        20 101 marker end job 1
        30 201 marker end job 1
    ";
    let expected = ["job 1 100>101 10..20 0", "job 1 200>201 11..30 0"];
    check("marker", drawing, &expected, 0);
    check("marker@process", drawing, &expected, 0);
    check("marker@container", drawing, &expected, 0);
    let contained = "
        1 100 cgroup_attach_task dst_path=/docker/a pid=100 comm=sh
        2 100 fork 101 sh
        3 100 fork 102 sh
        4 101 exec /bin/a
        5 102 exec /bin/b
        6 200 fork 201 sh
        10 101 marker begin job 1
        12 201 marker begin job 1
        20 102 marker end job 1
    ";
    check("marker@container", contained, &["job 1 101>102 10..20 0"], 1);
    check("marker@process", contained, &[], 3);
    check("marker@container=/docker/*", contained, &["job 1 101>102 10..20 0"], 0);
}

#[test]
fn threads_can_be_selected_by_name() {
    let drawing = "
        1 7 rename web-1
        2 8 rename job-1
        10 7 marker a begin
        11 8 marker a begin
        20 7 marker a end
        21 8 marker a end
    ";
    check("marker@thread=web-*", drawing, &["a - 7>7 10..20 0"], 0);
}

#[test]
fn unpaired_marks_are_counted() {
    let drawing = "
        10 7 marker end a
        20 7 marker begin a
        30 7 marker begin a
        40 7 marker end a
        50 7 marker E|7
        60 7 marker F|7|x|1
        70 7 marker not a mark of anything
    ";
    // The last `E` closes the outer `a`.
    check("marker", drawing, &["a - 7>7 20..50 0", "a - 7>7 30..40 1"], 2);
}

#[test]
fn executions_do_not_span_losses() {
    let drawing = "
        10 7 marker a begin
        12 7 marker begin keyed 5
        15 7 lost
        20 7 marker end keyed 5
        30 7 marker a end
        40.1 8 marker b begin
        50.1 8 marker b end
    ";
    check("marker", drawing, &["keyed 5 7>7 12..20 0", "b - 8>8 40..50 0"], 2);
}

#[test]
fn user_defined_templates() {
    let drawing = "
        10 7 marker request 17 of shop started
        20 7 marker request 18 of shop started
        30 8 marker request 17 of shop done in 3
        40 7 marker request 18 of shop done in 3
    ";
    let delimiter = "marker:request {key} of {name} started,request {key} of {name} done*";
    check(delimiter, drawing, &["shop 17 7>8 10..30 0", "shop 18 7>7 20..40 1"], 0);
    let plain = "
        10 7 marker go
        30 7 marker went
    ";
    check("marker:go,went", plain, &["execution - 7>7 10..30 0"], 0);
}

#[test]
fn trace_contexts_are_stored() {
    let context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let drawing = format!(
        "
        10 7 marker traceparent {context} begin
        30 7 marker traceparent {context} end
    "
    );
    let delimited = find("marker", &drawing);
    let context = delimited.executions[0].context.unwrap();
    assert_eq!(context.span.value(), 0xb7ad6b7169203331);
}

#[test]
fn auto_prefers_markers_then_programs() {
    let drawing = "
        5 7 exec /bin/job
        10 7 marker a begin
        20 7 marker a end
        30 7 exit
    ";
    let delimited = find("auto", drawing);
    assert_eq!((delimited.delimiter.to_string().as_str(), delimited.executions.len()), ("marker", 1));
    assert!(delimited.delimiter_reason.contains("markers"));
    let delimited = find("auto", &drawing.replace("marker a end", "marker other"));
    assert_eq!((delimited.delimiter.to_string().as_str(), delimited.executions.len()), ("process", 1));
    let delimited = find("auto", "10 7 marker a begin");
    assert!(delimited.executions.is_empty() && delimited.delimiter_reason.contains("neither"));
}

#[test]
fn programs_that_write_markers_are_counted() {
    let drawing = "
        1 1 fork 7 shop
        2 7 rename shop
        3 7 process 7
        4 9 rename backup
        5 9 process 9
        6 8 rename shop-worker
        10 7 marker order begin
        20 7 marker order end
        30 7 marker order begin
        40 7 marker order end
        50 9 marker copy begin
        60 9 marker copy end
        70 8 marker order begin
        80 8 marker order end
    ";
    let programs = |drawing: &str| find("marker", drawing).programs;
    assert_eq!(programs(drawing), [("shop".to_owned(), 2), ("backup".to_owned(), 1)], "8 may belong to one");
    assert_eq!(programs(&drawing.replace("5 9 process 9", "5 9 process 7")), []);
}
