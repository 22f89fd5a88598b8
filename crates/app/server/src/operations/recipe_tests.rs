//! The recipe for the Collector uses existing components and configures each that it references.

use serde_json::Value;

/// Components of the Collector's contributed distribution that the recipe may use.
const KNOWN: [(&str, &[&str]); 4] = [
    ("extensions", &["bearertokenauth", "file_storage", "health_check"]),
    ("receivers", &["otlp"]),
    ("processors", &["memory_limiter", "resourcedetection", "k8sattributes", "batch", "attributes"]),
    ("exporters", &["otlp", "otlphttp"]),
];

fn recipe() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/collector/collector.yaml");
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[test]
fn every_component_is_known() {
    let recipe = recipe();
    for (section, known) in KNOWN {
        for name in recipe[section].as_object().unwrap().keys() {
            let kind = name.split('/').next().unwrap();
            assert!(known.contains(&kind), "{section}: {name}");
        }
    }
}

#[test]
fn every_referenced_component_is_configured() {
    let recipe = recipe();
    let service = &recipe["service"];
    for name in names(&service["extensions"]) {
        assert!(recipe["extensions"].get(name).is_some(), "{name}");
    }
    for (pipeline, parts) in service["pipelines"].as_object().unwrap() {
        for section in ["receivers", "processors", "exporters"] {
            for name in names(&parts[section]) {
                assert!(recipe[section].get(name).is_some(), "{pipeline}: {name}");
            }
        }
        assert_eq!(
            names(&parts["processors"])[0],
            "memory_limiter",
            "{pipeline}: first, or it protects nothing"
        );
    }
    let exporter = &recipe["exporters"]["otlp/laggard"];
    let named = [&exporter["auth"]["authenticator"], &exporter["sending_queue"]["storage"]];
    for name in named {
        assert!(recipe["extensions"].get(name.as_str().unwrap()).is_some(), "{name}");
    }
}
