//! Stored deployments survive a kill, and the server survives a damaged file of deployments.

use super::Running;
use serde_json::{Value, json};
use std::path::Path;

fn post(server: &Running, event: &Value) -> u16 {
    let headers = ["Content-Type: application/json"];
    server.request("http", "POST", "/api/v1/events", &headers, &event.to_string()).status
}

fn versions(server: &Running) -> (Vec<String>, Value) {
    let list: Value = serde_json::from_str(&server.get("/api/v1/events").body).unwrap();
    let events = list["events"].as_array().unwrap();
    let versions = events.iter().map(|event| event["version"].as_str().unwrap().to_owned());
    (versions.collect(), list["damaged"].clone())
}

fn deployment(minute: u32) -> Value {
    let time = format!("2026-01-12T09:{minute:02}:00Z");
    json!({"time": time, "kind": "deployment", "service": "cart", "version": format!("1.{minute}")})
}

fn start(data: &Path) -> Running {
    // Old events must not be deleted.
    Running::start(data, &["--set", "store.keep_for=off"])
}

#[test]
fn an_acknowledged_deployment_survives_a_kill_and_damage_loses_one_event() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = start(&data);
    for minute in 1..=3 {
        assert_eq!(post(&server, &deployment(minute)), 200);
    }
    // Dropping the server kills it.
    drop(server);
    let server = start(&data);
    assert_eq!(versions(&server), (["1.3", "1.2", "1.1"].map(str::to_owned).to_vec(), json!(0)));
    drop(server);

    let file = data.join("tenants/default/events.log");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 7]).unwrap();
    let server = start(&data);
    assert_eq!(versions(&server), (["1.2", "1.1"].map(str::to_owned).to_vec(), json!(1)));
    assert_eq!(post(&server, &deployment(4)), 200);
    assert_eq!(post(&server, &json!({"kind": "deployment"})), 400);
    drop(server);
    let server = start(&data);
    assert_eq!(versions(&server), (["1.4", "1.2", "1.1"].map(str::to_owned).to_vec(), json!(0)));
    server.stop();
}
