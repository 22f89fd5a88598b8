//! Maps the labels of a Prometheus series to the names of transaction, server, and tier.

use std::collections::BTreeMap;

/// Which labels name what. Each name is made of the labels of a group, joined by a space: of the first group whose labels
/// are all there, else of the first with any of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelMap {
    /// The server: replica, pod, host.
    pub server: Vec<Vec<String>>,
    /// The tier: job, service.
    pub tier: Vec<Vec<String>>,
    /// The transaction type: route, method.
    pub transaction: Vec<Vec<String>>,
    /// The type of outbound call.
    pub callee: Vec<Vec<String>>,
}

impl Default for LabelMap {
    /// The labels that Kubernetes, OpenTelemetry and common client libraries use.
    fn default() -> LabelMap {
        let groups = |all: &[&[&str]]| -> Vec<Vec<String>> {
            all.iter().map(|group| group.iter().map(|&label| label.to_owned()).collect()).collect()
        };
        LabelMap {
            server: groups(&[&["pod"], &["kubernetes_pod_name"], &["instance"], &["node"], &["host"]]),
            tier: groups(&[&["job"], &["service_name"], &["service"], &["app"]]),
            transaction: groups(&[
                &["http_request_method", "http_route"],
                &["http_method", "http_route"],
                &["method", "http_route"],
                &["method", "endpoint"],
                &["method", "route"],
                &["method", "uri"],
                &["method", "path"],
                &["method", "handler"],
                &["request_method", "request_path"],
                &["rpc_service", "rpc_method"],
                &["grpc_service", "grpc_method"],
                &["request_operation"],
                &["envoy_cluster_name"],
                &["destination_service"],
                &["destination_service_name"],
                &["ingress"],
                &["transaction"],
            ]),
            callee: groups(&[&["callee"], &["peer_service"], &["db_system"], &["server_address"]]),
        }
    }
}

/// Subject of a series.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SeriesNames {
    pub(crate) server: String,
    pub(crate) tier: String,
    pub(crate) transaction: String,
    pub(crate) callee: String,
}

impl LabelMap {
    /// Sets one name's labels by its word; false when there is no such name.
    pub(crate) fn set(&mut self, name: &str, labels: Vec<String>) -> bool {
        let groups = match name {
            "server" => &mut self.server,
            "tier" => &mut self.tier,
            "transaction" => &mut self.transaction,
            "callee" => &mut self.callee,
            _ => return false,
        };
        *groups = vec![labels];
        true
    }

    pub(crate) fn names(&self, labels: &BTreeMap<String, String>) -> SeriesNames {
        SeriesNames {
            server: name(&self.server, labels),
            tier: name(&self.tier, labels),
            transaction: name(&self.transaction, labels),
            callee: name(&self.callee, labels),
        }
    }
}

fn name(groups: &[Vec<String>], labels: &BTreeMap<String, String>) -> String {
    let present = |group: &Vec<String>| -> Vec<String> {
        let values = group.iter().filter_map(|label| labels.get(label));
        values.filter(|value| !value.is_empty()).cloned().collect()
    };
    let complete = groups.iter().find(|group| !group.is_empty() && present(group).len() == group.len());
    let partial = || groups.iter().find(|group| !present(group).is_empty());
    complete.or_else(partial).map_or_else(String::new, |group| present(group).join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_present_group_of_labels_is_used() {
        let labels = |all: &[(&str, &str)]| all.iter().map(|&(l, v)| (l.to_owned(), v.to_owned())).collect();
        let map = LabelMap::default();
        let names = map.names(&labels(&[
            ("instance", "10.0.0.1:80"),
            ("pod", "cart-1"),
            ("job", "cart"),
            ("http_route", "/buy"),
            ("http_request_method", "POST"),
        ]));
        assert_eq!((names.server.as_str(), names.tier.as_str()), ("cart-1", "cart"));
        assert_eq!((names.transaction.as_str(), names.callee.as_str()), ("POST /buy", ""));
        assert_eq!(map.names(&labels(&[("handler", "/x")])).transaction, "/x");
    }

    /// Labels of a line of the text format: `name{label="value",…} 1`.
    fn labels_of(line: &str) -> BTreeMap<String, String> {
        let inside = line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).expect("labels").0;
        let pair = |pair: &str| {
            let (label, value) = pair.split_once('=').expect("a pair");
            (label.trim().to_owned(), value.trim_matches('"').to_owned())
        };
        inside.split("\",").filter(|text| !text.is_empty()).map(pair).collect()
    }

    #[test]
    fn the_labels_of_common_exporters_name_transactions() {
        let map = LabelMap::default();
        for (line, expected) in [
            // Spring Boot with Micrometer.
            (
                r#"http_server_requests_seconds_count{error="none",exception="none",method="GET",outcome="SUCCESS",status="200",uri="/cart/{id}"} 7"#,
                "GET /cart/{id}",
            ),
            // ASP.NET Core: prometheus-net, and its own meters through OpenTelemetry.
            (
                r#"http_request_duration_seconds_count{code="200",method="GET",controller="Cart",action="Get",endpoint="cart/{id}"} 7"#,
                "GET cart/{id}",
            ),
            (
                r#"http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="cart/{id}"} 7"#,
                "GET cart/{id}",
            ),
            // Express: express-prom-bundle and prom-client's usual labels.
            (
                r#"http_request_duration_seconds_count{status_code="200",method="GET",path="/cart"} 7"#,
                "GET /cart",
            ),
            (r#"http_request_duration_seconds_count{method="GET",route="/cart",code="200"} 7"#, "GET /cart"),
            // FastAPI: prometheus-fastapi-instrumentator.
            (
                r#"http_request_duration_seconds_count{handler="/cart/{id}",method="GET",status="2xx"} 7"#,
                "GET /cart/{id}",
            ),
            // Go: promhttp has the method and the code only; with a handler label it is complete.
            (r#"http_request_duration_seconds_count{code="200",method="get"} 7"#, "get"),
            (
                r#"http_request_duration_seconds_count{code="200",handler="/cart",method="get"} 7"#,
                "get /cart",
            ),
            // nginx: the ingress controller, whose host is no replica.
            (
                r#"nginx_ingress_controller_request_duration_seconds_count{controller_class="k8s.io/ingress-nginx",ingress="shop",method="GET",path="/cart",service="cart",status="200"} 7"#,
                "GET /cart",
            ),
            // Envoy and Istio have no route.
            (r#"envoy_cluster_upstream_rq_time_count{envoy_cluster_name="cart"} 7"#, "cart"),
            (
                r#"istio_request_duration_milliseconds_count{destination_service="cart.shop.svc.cluster.local",reporter="destination",response_code="200"} 7"#,
                "cart.shop.svc.cluster.local",
            ),
            // OpenTelemetry before its HTTP conventions became stable, and gRPC.
            (
                r#"http_server_duration_milliseconds_count{http_method="GET",http_route="/cart",http_status_code="200"} 7"#,
                "GET /cart",
            ),
            (
                r#"rpc_server_duration_milliseconds_count{rpc_method="Buy",rpc_service="shop.Cart"} 7"#,
                "shop.Cart Buy",
            ),
        ] {
            assert_eq!(map.names(&labels_of(line)).transaction, expected, "{line}");
        }
    }
}
