//! Tools about local files.

use super::assistant::Assistant;
use crate::capacity;
use crate::kernel::normal_and_slow;
use crate::outcome::laggard;
use crate::server::traces;
use crate::workshop::{FEW, RANDOM_DEVICE, incident};
use serde_json::{Value, json};
use std::path::Path;

/// Bytes of the largest answer: 16 KiB of text, 32 KiB of data, and what JSON adds.
const ANSWER_BYTES_MAX: usize = 64 << 10;

const TOOLS: [&str; 9] = [
    "diagnose",
    "compare",
    "changes",
    "signature",
    "capacity",
    "kernel_stats",
    "kernel_path",
    "kernel_diagnose",
    "settings",
];

/// A request of the latest version of the protocol.
fn modern() -> Value {
    json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    }})
}

#[test]
fn tools_are_listed_to_clients_of_both_eras() {
    let folder = tempfile::tempdir().unwrap();
    let mut assistant = Assistant::start(folder.path(), &[]);
    let discovered = assistant.request("server/discover", modern());
    assert_eq!(discovered["result"]["supportedVersions"][0], "2026-07-28");
    let listed = assistant.request("tools/list", modern());
    assert_eq!(
        (&listed["result"]["resultType"], &listed["result"]["cacheScope"]),
        (&json!("complete"), &json!("public"))
    );
    let begun = assistant.request("initialize", json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    assert!(
        begun["result"]["instructions"].as_str().unwrap().contains("State only causes that the report names")
    );
    assistant.notify("notifications/initialized", json!({}));
    assert_eq!(assistant.tools(), TOOLS);
    assert_eq!(assistant.request("ping", json!({}))["result"], json!({}));
    let printed = laggard(&["schema", "mcp"]).json();
    assert_eq!(printed["files"], listed["result"]["tools"]);
    assert_eq!(printed["server"].as_array().unwrap().len(), 12);
    assert!(listed.to_string().len() < 40_000, "a list of tools takes room in every conversation");
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        for text in [&tool["title"], &tool["description"]] {
            assert!(!text.as_str().unwrap().is_empty(), "{tool}");
        }
    }
    assistant.end();
}

/// The answer of a tool is the report of the command.
#[track_caller]
fn check(assistant: &mut Assistant, (tool, arguments): (&str, Value), command: &[&str]) -> Value {
    let (text, data) = assistant.answer(tool, arguments);
    assert!(text.len() + data.to_string().len() < ANSWER_BYTES_MAX, "{tool}");
    let run = |form: &str| laggard(&[command, &["--output", form]].concat()).stdout;
    let markdown = run("markdown");
    assert!(text.starts_with(markdown.trim_end()), "{tool}: {text}\n{markdown}");
    let report: Value = serde_json::from_str(&run("json")).unwrap();
    if tool != "kernel_stats" && tool != "kernel_path" {
        assert_eq!(data["verdict"], report["verdict"], "{tool}");
    }
    match data["left_out"].as_array().unwrap().is_empty() {
        true => assert_eq!(data["report"], report, "{tool}"),
        false => assert!(text.contains("\n\nLeft out of the structured content: "), "{tool}: {text}"),
    }
    data
}

#[test]
fn each_tool_answers_as_its_command_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("traces.json"), traces()).unwrap();
    capacity::samples(folder.path(), 60);
    normal_and_slow(folder.path());
    let root = folder.path().display().to_string();
    let mut assistant = Assistant::start(Path::new("/"), &[&root]);
    let (all, samples) = (path("traces.json"), path("samples.csv"));
    let diagnosed = check(
        &mut assistant,
        ("diagnose", json!({"paths": [&all], "top": 3})),
        &["diagnose", &all, "--top", "3"],
    );
    assert_eq!(diagnosed["left_out"], json!([]));
    let since = "2026-01-12T09:05:00Z";
    let window = json!({"paths": [&all], "since": since, "baseline-rest": true});
    check(&mut assistant, ("diagnose", window), &["diagnose", &all, "--since", since, "--baseline-rest"]);
    check(
        &mut assistant,
        ("compare", json!({"paths": [&all], "since": since})),
        &["compare", &all, "--since", since],
    );
    check(&mut assistant, ("compare", json!({"before": [&all], "after": [&all]})), &["compare", &all, &all]);
    let threshold = json!({"paths": [&samples], "set": {"score-min": 6}});
    check(&mut assistant, ("changes", threshold), &["changes", &samples, "--set", "score-min=6"]);
    check(&mut assistant, ("signature", json!({"paths": [&samples]})), &["signature", &samples]);
    let target = json!({"paths": [&samples], "latency-max": "200ms"});
    check(&mut assistant, ("capacity", target), &["capacity", &samples, "--latency-max", "200ms"]);
    let [normal, slow] = [path("normal.txt"), path("slow.txt")];
    check(&mut assistant, ("kernel_stats", json!({"paths": [&normal]})), &["kernel", "stats", &normal]);
    let path_of = json!({"paths": [&slow], "executions": "marker"});
    check(&mut assistant, ("kernel_path", path_of), &["kernel", "path", &slow, "--executions", "marker"]);
    let sets = json!({"normal": [&normal], "sample": [&slow], "executions": "marker"});
    let command = ["kernel", "diagnose", "--normal", &normal, "--sample", &slow, "--executions", "marker"];
    let found = check(&mut assistant, ("kernel_diagnose", sets), &command);
    assert_eq!(found["verdict"], "slower");
    let (text, data) = assistant.answer("settings", json!({"question": "changes"}));
    assert!(text.contains("`score-min` = 5"), "{text}");
    assert_eq!(data["report"]["question"], "changes");
    assistant.end();
}

#[test]
fn a_suspect_has_its_evidence_and_large_reports_are_shortened() {
    let incident = incident(RANDOM_DEVICE, &[]);
    let traces = incident.traces();
    let mut assistant = Assistant::start(&traces, &[]);
    let name = traces.display().to_string();
    let data = check(&mut assistant, ("diagnose", json!({"paths": ["."]})), &["diagnose", &name]);
    let complete = laggard(&["diagnose", &name, "--output", "json"]).json();
    let suspect = &data["report"]["suspects"][0];
    for field in ["operation", "replicas", "evidence", "trace_ids", "categories"] {
        assert_eq!(suspect[field], complete["suspects"][0][field], "{field}");
        assert_ne!(*suspect[field].to_string(), *"[]", "{field}");
    }
    assert_eq!(data["report"]["cause"], complete["cause"], "the kind of cause is that of the report");
    // Every list that is shorter than the report's is counted.
    let values = |report: &Value| {
        let trees = report["categories"].as_array().unwrap().iter().filter_map(|row| row["tree"].as_array());
        trees.map(Vec::len).sum::<usize>()
    };
    let (all, left) = (values(&complete), values(&data["report"]));
    assert!(left < all, "{left} of {all}");
    let counted = data["left_out"].as_array().unwrap().iter().find(|row| row["path"] == "categories.*.tree");
    assert_eq!(counted.unwrap()["count"], all - left, "{}", data["left_out"]);
    assistant.end();
}

#[test]
fn errors_state_what_to_do_and_the_next_call_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    for name in ["in/traces.json", "outside.json"] {
        std::fs::write(folder.path().join(name), traces()).unwrap();
    }
    std::fs::write(folder.path().join("in/notes.txt"), "nothing\n").unwrap();
    let mut assistant = Assistant::start(folder.path(), &["in"]);
    let unknown = assistant.request("tools/call", json!({"name": "guess"}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("Unknown tool: \"guess\"; there is diagnose,")
    );
    for (method, params, code) in [
        ("tools/call", json!({"name": "diagnose", "arguments": []}), -32602),
        ("resources/list", json!({}), -32601),
        ("initialize", json!({}), -32602),
    ] {
        assert_eq!(assistant.request(method, params)["error"]["code"], code, "{method}");
    }
    for (text, code) in [("{", -32700), ("[]", -32600), ("{\"id\": 1}", -32600)] {
        assistant.write(text);
        assert_eq!(assistant.next()["error"]["code"], code, "{text}");
    }
    for (tool, arguments, words) in [
        ("diagnose", json!({}), "paths is missing"),
        ("diagnose", json!({"paths": ["traces.json"], "sinse": "-1h"}), "did you mean since?"),
        ("diagnose", json!({"paths": ["traces.json"], "top": 0}), "top: write a whole number from 1"),
        ("diagnose", json!({"paths": ["traces.json"], "set": {"cv-min": -1}}), "cv-min is -1"),
        ("diagnose", json!({"paths": ["nothing.json"]}), "Check the path"),
        ("diagnose", json!({"paths": ["notes.txt"]}), "notes.txt"),
        ("diagnose", json!({"paths": ["../outside.json"]}), "and nothing else may be read"),
        ("diagnose", json!({"paths": ["/etc/passwd"]}), "and nothing else may be read"),
        (
            "diagnose",
            json!({"paths": ["traces.json"], "baseline": ["../outside.json"]}),
            "and nothing else may be read",
        ),
        ("diagnose", json!({"paths": ["-"]}), "name files, folders, or patterns"),
        ("compare", json!({"before": ["traces.json"]}), "the files of the two sets"),
        ("capacity", json!({"paths": ["traces.json"]}), "latency-max is needed"),
        ("kernel_path", json!({"paths": ["traces.json"]}), "traces.json"),
        ("kernel_diagnose", json!({}), "--normal TRACE"),
        ("settings", json!({"question": "weather"}), "question must be one of"),
    ] {
        let reason = assistant.failure(tool, arguments.clone());
        assert!(reason.contains(words), "{tool} {arguments}: {reason}");
    }
    let (text, _) = assistant.answer("diagnose", json!({"paths": ["traces.json"]}));
    assert!(text.starts_with("### Laggard: "), "{text}");
    assistant.end();
}

/// Links to one file under so many names: reading them takes hours.
const LINKS: usize = 20_000;

#[test]
fn a_canceled_call_ends_and_the_next_one_is_answered() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let incident = incident(RANDOM_DEVICE, &[]);
    let large = folder.path().join("large");
    std::fs::create_dir(&large).unwrap();
    for number in 0..LINKS {
        std::fs::hard_link(incident.file(), large.join(format!("{number}.csv"))).unwrap();
    }
    let [normal, _] = normal_and_slow(folder.path());
    let arguments = ["--memory", "64MiB", "--threads", "2"];
    let mut assistant = Assistant::start(folder.path(), &arguments);
    for (tool, arguments) in [
        ("diagnose", json!({"paths": ["large"]})),
        ("compare", json!({"before": ["large"], "after": ["large"]})),
        ("changes", json!({"paths": ["large"]})),
    ] {
        let id = assistant.send("tools/call", json!({"name": tool, "arguments": arguments}));
        let waiting =
            assistant.send("tools/call", json!({"name": "settings", "arguments": {"question": "diagnose"}}));
        // It is answered while the tool works.
        assert_eq!(assistant.request("ping", json!({}))["result"], json!({}));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assistant
            .notify("notifications/cancelled", json!({"requestId": waiting, "reason": "no longer needed"}));
        assistant.notify("notifications/cancelled", json!({"requestId": id}));
        // Calls are answered one after the other: this one has its turn, and those that were canceled have no reply.
        let (text, _) = assistant.answer("kernel_stats", json!({"paths": [normal]}));
        assert!(text.contains("events"), "{text}");
    }
    // So it does when it is ended.
    assistant.send("tools/call", json!({"name": "diagnose", "arguments": {"paths": ["large"]}}));
    assistant.end();
}

#[test]
fn folders_are_named_where_the_current_one_is_everything() {
    laggard(&["mcp", "/no/such/folder"]).fails(3, &["/no/such/folder"]);
    laggard(&["mcp", "--server", "localhost"]).fails(2, &["--server is not a URL"]);
    laggard(&["mcp", "traces", "--server", "http://localhost:4316"]).fails(2, &["cannot be used with"]);
    laggard(&["mcp", "--token-file", "x"]).fails(2, &["--server"]);
    let mut at_root = crate::outcome::command(&["mcp"]);
    crate::outcome::finish(at_root.current_dir("/")).fails(2, &["laggard mcp FOLDER"]);
    // Without any message there is nothing to do.
    let few = incident(FEW, &[]);
    let mut ended = crate::outcome::command(&["mcp"]);
    assert_eq!(crate::outcome::finish(ended.current_dir(few.traces())).text(), "");
}
