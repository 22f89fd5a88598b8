//! Labels to names.

use std::collections::BTreeMap;

/// Which labels name what. Each name is made of the labels of a group that are there, joined by a space; the first
/// group with any of its labels counts.
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
                &["method", "route"],
                &["method", "uri"],
                &["method", "handler"],
                &["rpc_service", "rpc_method"],
                &["grpc_service", "grpc_method"],
                &["transaction"],
            ]),
            callee: groups(&[&["callee"], &["peer_service"], &["db_system"], &["server_address"]]),
        }
    }
}

/// What a series is about.
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
    for group in groups {
        let values: Vec<&str> =
            group.iter().filter_map(|label| labels.get(label)).map(String::as_str).collect();
        if values.iter().any(|value| !value.is_empty()) {
            return values.join(" ");
        }
    }
    String::new()
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
}
