use super::*;
use crate::settings::{LogForm, Scope};

fn flag(key: &str, text: &str) -> SettingText {
    SettingText { key: key.to_owned(), text: text.to_owned(), origin: Origin::Flag("--set".to_owned()) }
}

const WHOLE: &str = r#"
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
tenants: { enabled: true, most: 4 }
logs:
  form: json
"#;

#[test]
fn a_file_is_read() {
    let settings = from_yaml(WHOLE).unwrap();
    assert_eq!(settings.http, "0.0.0.0:80".parse().unwrap());
    assert_eq!(settings.zipkin, None);
    assert_eq!(settings.otlp_http, ServeSettings::default().otlp_http, "what is not named stays");
    assert_eq!(settings.store.keep_for.unwrap().to_string(), "3d");
    assert_eq!(settings.tokens[0].scopes, [Scope::Write]);
    assert_eq!(settings.tenants.most, 4);
    assert_eq!(settings.tenants.header, "X-Scope-OrgID");
    assert_eq!(settings.logs.form, LogForm::Json);
}

#[test]
fn an_empty_file_changes_nothing() {
    for text in ["", "\n", "# nothing\n\n", "{}"] {
        assert_eq!(from_yaml(text).unwrap(), ServeSettings::default(), "{text:?}");
    }
}

#[test]
fn mistakes_are_found_with_their_line() {
    for (text, line, word) in [
        ("http: 127.0.0.1:4316\nstore:\n  keepfor: 3d\n", "line 3", "keepfor"),
        ("zipkim: 127.0.0.1:9411\n", "line 1", "zipkim"),
        ("store:\n  keep_for: 3 weeks\n", "line 2", "3 weeks"),
        ("\nhttp: localhost\n", "line 2", "address"),
        ("limits:\n  connections: many\n", "line 2", "u32"),
        ("http: 127.0.0.1:1\nhttp: 127.0.0.1:2\n", "line 2", "http"),
        ("tokens:\n  - name: a\n    file: b\n    scopes: [admin]\n", "line 4", "admin"),
        ("store: [", "line 1", ""),
    ] {
        let error = from_yaml(text).unwrap_err().to_string();
        assert!(error.starts_with(line) && error.contains(word), "{text:?}: {error}");
    }
}

#[test]
fn a_later_value_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("laggard.yaml");
    std::fs::write(&file, "store:\n  idle: 20s\n  slice: 10m\ndata: /a\n").unwrap();
    let environment = SettingText {
        key: "store.idle".to_owned(),
        text: "30s".to_owned(),
        origin: Origin::Environment("LAGGARD_STORE_IDLE".to_owned()),
    };
    let texts = vec![environment, flag("data", "/b"), flag("otlp_grpc", "off")];
    let settings = load(&SettingSources { file: Some(file), texts }).unwrap();
    assert_eq!(settings.store.idle.to_string(), "30s", "environment over file");
    assert_eq!(settings.store.slice.to_string(), "10m");
    assert_eq!(settings.data, PathBuf::from("/b"), "flag over file");
    assert_eq!(settings.otlp_grpc, None);
}

#[test]
fn what_cannot_be_set_says_who_said_so() {
    let refused = |given| load(&SettingSources { file: None, texts: vec![given] }).unwrap_err().to_string();
    let unknown = refused(flag("keep_for", "3d"));
    assert!(
        unknown.contains("--set: there is no setting \"keep_for\" (is it \"store.keep_for\"?)"),
        "{unknown}"
    );
    let wrong = refused(flag("store.keep_for", "soon"));
    assert!(wrong.starts_with("--set: store.keep_for: \"soon\""), "{wrong}");
    let missing = load(&SettingSources { file: Some("/no/such/file".into()), texts: Vec::new() });
    assert!(missing.unwrap_err().to_string().starts_with("/no/such/file: "));
}

#[test]
fn the_effective_configuration_reads_back_as_itself() {
    let settings = from_yaml(WHOLE).unwrap();
    assert_eq!(from_yaml(&settings.to_yaml()).unwrap(), settings);
    let default = ServeSettings::default();
    assert_eq!(from_yaml(&default.to_yaml()).unwrap(), default);
}

#[test]
fn variables_are_named_like_their_settings() {
    assert_eq!(environment_name("store.keep_for"), "LAGGARD_STORE_KEEP_FOR");
    let mut names: Vec<String> = fields().iter().map(|field| environment_name(field.key)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), fields().len(), "no two settings have one variable");
}
