use super::*;
use crate::settings::{LogForm, Scope};
use std::collections::BTreeSet;

fn flag(key: &str, text: &str) -> SettingText {
    SettingText { key: key.to_owned(), text: text.to_owned(), origin: "--set".to_owned() }
}

const FILE: &str = r#"
http: 0.0.0.0:80
zipkin: off
insecure: true
names: [laggard.example.com]
store: { keep_for: 3d, keep_bytes: 100GiB, memory: 1GiB }
tokens:
  - name: collector
    file: /run/secrets/collector
    scopes: [write]
    tenants: [shop]
objectives:
  - name: buys are fast
    service: web
    operation: POST /buy
    limit: 300ms
    target: 0.9995
  - { name: "null", service: web, without_error: true, target: 0.999, days: 7, tenants: [shop] }
tenants: { enabled: true, most: 4 }
logs:
  form: json
"#;

#[test]
fn a_file_is_read() {
    let settings = yaml::read(FILE).unwrap();
    assert_eq!(settings.http, "0.0.0.0:80".parse().unwrap());
    assert_eq!(settings.zipkin, None);
    assert_eq!(
        settings.otlp_http,
        ServeSettings::default().otlp_http,
        "unnamed settings have their defaults"
    );
    assert_eq!(settings.store.keep_for.unwrap().to_string(), "3d");
    assert_eq!(settings.tokens[0].scopes, [Scope::Write]);
    let objective = &settings.objectives[0];
    assert_eq!((objective.limit.unwrap().to_string().as_str(), objective.target), ("300ms", 0.9995));
    assert_eq!((objective.days, objective.without_error), (28, false));
    assert_eq!(settings.objectives[1].days, 7);
    assert_eq!(settings.tenants.most, 4);
    assert_eq!(settings.tenants.header, "X-Scope-OrgID");
    assert_eq!(settings.logs.form, LogForm::Json);
}

#[test]
fn an_empty_file_changes_nothing() {
    for text in ["", "\n", "# nothing\n\n", "{}"] {
        assert_eq!(yaml::read(text).unwrap(), ServeSettings::default(), "{text:?}");
    }
}

#[test]
fn errors_in_a_file_have_a_line() {
    for (text, line, word) in [
        ("http: 127.0.0.1:4316\nstore:\n  keepfor: 3d\n", "line 3", "keepfor"),
        ("zipkim: 127.0.0.1:9411\n", "line 1", "zipkim"),
        ("store:\n  keep_for: 3 weeks\n", "line 2", "3 weeks"),
        ("\nhttp: localhost\n", "line 2", "address"),
        ("limits:\n  connections: many\n", "line 2", "limits.connections is many"),
        ("limits:\n  connections: 0\n", "line 2", "1 to 100000"),
        ("data:\n", "line 1", "data is empty"),
        ("http: 127.0.0.1:1\nhttp: 127.0.0.1:2\n", "line 2", "http"),
        ("tokens:\n  - name: a\n    file: b\n    scopes: [admin]\n", "line 4", "admin"),
        ("objectives:\n  - name: a\n    service: b\n    latency: 300ms\n", "line 4", "latency"),
        ("objectives:\n  - name: a\n    service: b\n    limit: soon\n", "line ", "soon"),
        ("objectives:\n  - name: a\n    service: b\n    limit: 0ms\n", "line ", "above zero"),
        ("objectives:\n  - name: a\n    service: b\n", "line 3", "target"),
        ("objectives:\n  - name: a\n    service: b\n    target: all\n", "line 4", ""),
        ("objectives: 3\n", "line 1", ""),
        ("store: [", "line 1", ""),
    ] {
        let error = yaml::read(text).unwrap_err().to_string();
        assert!(error.starts_with(line) && error.contains(word), "{text:?}: {error}");
    }
}

#[test]
fn later_sources_override_earlier_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("laggard.yaml");
    std::fs::write(&file, "store:\n  idle: 20s\n  slice: 10m\ndata: /a\n").unwrap();
    let environment = SettingText {
        key: "store.idle".to_owned(),
        text: "30s".to_owned(),
        origin: "environment variable LAGGARD_STORE_IDLE".to_owned(),
    };
    let texts = vec![environment, flag("data", "/b"), flag("otlp_grpc", "off")];
    let settings = load(&SettingSources { file: Some(file), texts }).unwrap();
    assert_eq!(settings.store.idle.to_string(), "30s", "environment over file");
    assert_eq!(settings.store.slice.to_string(), "10m");
    assert_eq!(settings.data, PathBuf::from("/b"), "flag over file");
    assert_eq!(settings.otlp_grpc, None);
}

#[test]
fn an_invalid_value_names_its_origin() {
    let rejected = |text| load(&SettingSources { file: None, texts: vec![text] }).unwrap_err().to_string();
    let unknown = rejected(flag("keep_for", "3d"));
    let expected = "--set: there is no setting \"keep_for\"; did you mean store.keep_for?";
    assert!(unknown.starts_with(expected), "{unknown}");
    let invalid = rejected(flag("store.keep_for", "soon"));
    assert!(
        invalid.starts_with("--set: store.keep_for is soon; allowed: off or a length of time"),
        "{invalid}"
    );
    let missing = load(&SettingSources { file: Some("/no/such/file".into()), texts: Vec::new() });
    assert!(missing.unwrap_err().to_string().starts_with("/no/such/file: "));
}

#[test]
fn the_effective_configuration_reads_back_as_itself() {
    let settings = yaml::read(FILE).unwrap();
    assert_eq!(yaml::read(&settings.to_yaml()).unwrap(), settings);
    let default = ServeSettings::default();
    assert_eq!(yaml::read(&default.to_yaml()).unwrap(), default);
    let mut unusual = ServeSettings::default();
    unusual.tenants.default = Some("null".to_owned());
    unusual.data = "a: \"b\"".into();
    unusual.alerts.exec_arguments = vec!["a,b".to_owned(), "[c]".to_owned(), String::new()];
    assert_eq!(yaml::read(&unusual.to_yaml()).unwrap(), unusual);
}

#[test]
fn variables_are_named_like_their_settings() {
    assert_eq!(environment_name("store.keep_for"), "LAGGARD_STORE_KEEP_FOR");
    let keys = ServeSettings::default().values();
    let names: BTreeSet<String> = keys.iter().map(|(key, _)| environment_name(key)).collect();
    assert_eq!(names.len(), keys.len(), "no two settings have one variable");
}
