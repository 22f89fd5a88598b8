//! The OpenAPI document and the routes.

use super::super::all;
use super::super::openapi::document;
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// Methods by path according to the document.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let document = document();
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .map(|(path, methods)| (path.clone(), methods.as_object().unwrap().keys().cloned().collect()))
        .collect()
}

#[test]
fn routes_and_the_openapi_document_match() {
    let routes: BTreeSet<String> = all().into_iter().map(|route| route.path.into_owned()).collect();
    let known: BTreeSet<String> = documented().into_keys().collect();
    assert_eq!(routes, known);
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_have_exactly_the_documented_methods() {
    let server = TestServer::empty().await;
    for (path, methods) in documented() {
        let uri = path.replace("{id}", "0");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            // Events of a missing job are rejected as well, so that no response is endless.
            let answered = server.call(method.parse().unwrap(), &uri).await;
            match methods.contains(&method.to_lowercase()) {
                true => assert_ne!(answered.status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}"),
                false => {
                    answered.problem(405);
                    let allowed = answered.headers["allow"].to_str().unwrap().to_lowercase();
                    assert!(methods.iter().all(|method| allowed.contains(method)), "{path}: {allowed}");
                }
            }
        }
    }
}

#[test]
fn the_manual_lists_every_route() {
    let pages = concat!(
        include_str!("../../../../../../docs/manual/api.md"),
        include_str!("../../../../../../docs/manual/grafana.md")
    );
    for route in all() {
        let short = route.path.strip_prefix("/api/v1").unwrap_or(&route.path);
        assert!(pages.contains(short), "neither api.md nor grafana.md describes {}", route.path);
    }
}

#[test]
fn every_setting_of_a_question_has_a_described_schema() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in ["DiagnoseParams", "CompareParams", "Windows"] {
        let properties = schemas[name]["properties"].as_object().unwrap_or_else(|| panic!("{name}"));
        for (property, schema) in properties {
            let described =
                schema["description"].is_string() || schema["oneOf"].is_array() || schema["$ref"].is_string();
            assert!(described, "{name} {property}: {schema}");
            assert!(!property.contains('_'), "{name} {property} is named like its flag");
        }
    }
}

/// Two types of one name would overwrite each other.
#[test]
fn schemas_of_reports_are_those_of_the_document() {
    let document = document();
    for report in laggard_report::SCHEMAS {
        let schema = (report.schema)();
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            let text = definition.to_string().replace("#/$defs/", "#/components/schemas/");
            let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
            let documented = &document["components"]["schemas"][name];
            // A schema has the fields of a flattened type among its own; the document has a part for each.
            let same = match documented["allOf"].as_array() {
                None => documented.is_null() || *documented == expected,
                Some(parts) => (parts.iter().filter_map(|part| part["properties"].as_object()).flatten())
                    .all(|(field, schema)| expected["properties"][field] == *schema),
            };
            assert!(same, "{} {name}", report.name);
        }
    }
}

#[test]
fn problems_have_their_own_media_type() {
    let document = document();
    let mut problems = 0;
    for method in
        document["paths"].as_object().unwrap().values().flat_map(|of| of.as_object().unwrap().values())
    {
        let Some(content) = method["responses"]["4XX"]["content"].as_object() else { continue };
        assert_eq!(content.keys().collect::<Vec<_>>(), ["application/problem+json"], "{method}");
        problems += 1;
    }
    assert!(problems > 15, "{problems}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_document_is_not_sent_again() {
    let server = TestServer::empty().await;
    let first = server.get("/api/v1/openapi.json").await;
    assert_eq!(
        (first.status, &first.headers["content-type"]),
        (StatusCode::OK, &"application/json".parse().unwrap())
    );
    assert!(first.json()["openapi"].as_str().unwrap().starts_with("3."));
    let tag = first.headers["etag"].clone();
    let again =
        Request::get("/api/v1/openapi.json").header("if-none-match", tag).body(Body::empty()).unwrap();
    let again = server.send(again).await;
    assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_return_problem_documents() {
    let server = TestServer::empty().await;
    for uri in ["/api/v1/nothing", "/api/", "/api/v2/status", "/api/v1/jobs/xyz", "/api/v1/traces/abc"] {
        server.get(uri).await.problem(404);
    }
    server.get("/api/v1/categories/abc/tree").await.problem(404);
    server.get("/api/v1/categories/abc/matrix").await.problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_are_checked() {
    let server = TestServer::empty().await;
    for uri in [
        "/api/v1/services?since=soon",
        "/api/v1/services?since=2&until=1",
        "/api/v1/services?sinse=1",
        "/api/v1/operations?limit=1",
        "/api/v1/overview?bins=0",
        "/api/v1/overview?bins=1441",
        "/api/v1/overview?bins=many",
        "/api/v1/categories?limit=0",
        "/api/v1/categories/abc/matrix?rows=5001",
        "/api/v1/search?min_ms=-1",
        "/api/v1/search?min_ms=2&max_ms=1",
        "/api/v1/search?min_ms=NaN",
        "/api/v1/search?status=fine",
        "/api/v1/search?limit=1001",
        "/api/v1/search?logged=",
        "/api/v1/jobs?x=1",
    ] {
        server.get(uri).await.problem(400);
    }
    server.post("/api/v1/diagnose?wait=true&output=pdf", Value::Null).await.problem(400);
    server.post("/api/v1/diagnose?width=39", serde_json::json!({})).await.problem(400);
    server.post("/api/v1/import?format=docx", serde_json::json!({})).await.problem(400);
}
