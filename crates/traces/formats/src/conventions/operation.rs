//! From a span's name and attributes to a low-cardinality operation name.
//!
//! OpenTelemetry requires span names of low cardinality, so a name is used unless it visibly is not one, or
//! is too generic. Only then are attributes consulted, in this order:
//! 1. `http.route` (or `url.template`) with the request's method: `GET /cart/{id}`
//! 2. `rpc.service` and `rpc.method`: `oteldemo.CartService/GetCart`
//! 3. `db.query.summary`, else the database operation and the collection: `SELECT users`; else the span's name and the
//!    first table of the query, or the kind of database: `GET redis`
//! 4. the messaging operation and the destination: `publish orders`
//! 5. of a client, the span's name and the service or host that is called: `GET recommendations`
//!
//! When none is there, ids in the name are replaced ([`replace_ids`]).

use super::UNKNOWN;
use super::peer::{shared_host, shared_host_of};
use super::query::verb_and_table;
use super::template::replace_ids;
use laggard_model::SpanKind;
use std::borrow::Cow;

/// The attributes that can name an operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationAttributes<'a> {
    values: [Option<Cow<'a, str>>; OperationKeyword::COUNT],
}

#[derive(Clone, Copy)]
#[repr(usize)]
enum OperationKeyword {
    Route,
    Method,
    RpcService,
    RpcMethod,
    DbSummary,
    DbOperation,
    DbCollection,
    DbQuery,
    DbSystem,
    MessagingOperationName,
    MessagingOperation,
    MessagingTemplate,
    MessagingDestination,
    PeerService,
    ServerAddress,
    Url,
}

impl OperationKeyword {
    const COUNT: usize = OperationKeyword::Url as usize + 1;

    fn from_name(name: &[u8]) -> Option<OperationKeyword> {
        Some(match name {
            b"http.route" | b"url.template" => OperationKeyword::Route,
            b"http.request.method" | b"http.method" => OperationKeyword::Method,
            b"rpc.service" => OperationKeyword::RpcService,
            b"rpc.method" => OperationKeyword::RpcMethod,
            b"db.query.summary" => OperationKeyword::DbSummary,
            b"db.operation.name" | b"db.operation" => OperationKeyword::DbOperation,
            b"db.collection.name" | b"db.sql.table" | b"db.mongodb.collection" | b"db.cassandra.table" => {
                OperationKeyword::DbCollection
            }
            b"db.query.text" | b"db.statement" => OperationKeyword::DbQuery,
            b"db.system.name" | b"db.system" => OperationKeyword::DbSystem,
            b"messaging.operation.name" => OperationKeyword::MessagingOperationName,
            b"messaging.operation.type" | b"messaging.operation" => OperationKeyword::MessagingOperation,
            b"messaging.destination.template" => OperationKeyword::MessagingTemplate,
            b"messaging.destination.name" | b"messaging.destination" => {
                OperationKeyword::MessagingDestination
            }
            b"peer.service" => OperationKeyword::PeerService,
            b"server.address" | b"net.peer.name" => OperationKeyword::ServerAddress,
            b"url.full" | b"http.url" => OperationKeyword::Url,
            _ => return None,
        })
    }
}

impl<'a> OperationAttributes<'a> {
    /// Whether an attribute of this name is of use.
    pub(crate) fn is_relevant(name: &[u8]) -> bool {
        OperationKeyword::from_name(name).is_some()
    }

    /// Adds an attribute; the first non-empty value of a kind counts.
    pub(crate) fn add(&mut self, name: &[u8], value: Cow<'a, str>) {
        if let Some(key) = OperationKeyword::from_name(name)
            && !value.is_empty()
        {
            self.values[key as usize].get_or_insert(value);
        }
    }

    fn get(&self, key: OperationKeyword) -> Option<&str> {
        self.values[key as usize].as_deref()
    }
}

/// How useful a span's name is as an operation's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameQuality {
    /// Good as it is.
    Plain,
    /// Has a URL path in it, without visible ids: a route is better, if there is one.
    Path,
    /// Too generic: `GET`, `query`, empty.
    Generic,
    /// Carries ids.
    Identifying,
}

/// Whether a name is only a protocol or verb.
fn is_generic(name: &[u8]) -> bool {
    const BYTES_MAX: usize = 12;
    let mut lower = [0; BYTES_MAX];
    let Some(lower) = lower.get_mut(..name.len()) else {
        return name.trim_ascii().is_empty();
    };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    match &*lower {
        b"get" | b"head" | b"post" | b"put" | b"delete" | b"connect" | b"options" | b"trace" | b"patch" => {
            true
        }
        b"http" | b"http get" | b"http head" | b"http post" | b"http put" | b"http delete"
        | b"http patch" | b"https" | b"http.request" | b"request" | b"grpc" => true,
        b"select" | b"insert" | b"update" | b"query" | b"execute" | b"db.query" => true,
        b"send" | b"receive" | b"process" | b"publish" | b"poll" => true,
        other => other.trim_ascii().is_empty(),
    }
}

/// Names operations; buffers the last name it made.
#[derive(Debug, Default)]
pub(crate) struct OperationNamer {
    templated: String,
    composed: String,
}

impl OperationNamer {
    /// Whether the attributes of a span of this name are needed.
    pub(crate) fn assess(&mut self, name: &str) -> NameQuality {
        let bytes = name.as_bytes();
        if bytes.iter().any(|byte| matches!(byte, b'0'..=b'9' | b'?')) {
            self.templated.clear();
            replace_ids(name, &mut self.templated);
            if self.templated != name || bytes.contains(&b'?') {
                return NameQuality::Identifying;
            }
        }
        let slash = bytes.iter().position(|&byte| byte == b'/');
        match slash.map(|position| bytes[..position].last()) {
            // A slash elsewhere may be a method's name: `oteldemo.CartService/GetCart`.
            Some(None | Some(b' ' | b':')) => NameQuality::Path,
            None if is_generic(bytes) => NameQuality::Generic,
            _ => NameQuality::Plain,
        }
    }

    /// The operation's name, of a span whose name has just been assessed as of this quality.
    pub(crate) fn operation<'b>(
        &'b mut self,
        quality: NameQuality,
        name: &'b str,
        kind: SpanKind,
        attributes: &OperationAttributes<'_>,
    ) -> &'b str {
        let is_composed = match quality {
            NameQuality::Plain => return name,
            NameQuality::Path => self.compose_route(name, attributes),
            NameQuality::Generic | NameQuality::Identifying => {
                self.compose_route(name, attributes)
                    || self.compose_rpc(attributes)
                    || self.compose_database(quality, name, attributes)
                    || self.compose_messaging(attributes)
                    || (kind == SpanKind::Client && self.compose_peer(quality, name, attributes))
            }
        };
        match quality {
            _ if is_composed => &self.composed,
            NameQuality::Identifying => &self.templated,
            _ if name.trim().is_empty() => UNKNOWN,
            _ => name,
        }
    }

    fn compose(&mut self, first: Option<&str>, separator: char, second: Option<&str>) -> bool {
        self.composed.clear();
        self.composed.push_str(first.unwrap_or_default());
        if first.is_some() && second.is_some() {
            self.composed.push(separator);
        }
        self.composed.push_str(second.unwrap_or_default());
        !self.composed.is_empty()
    }

    fn compose_route(&mut self, name: &str, attributes: &OperationAttributes<'_>) -> bool {
        let Some(route) = attributes.get(OperationKeyword::Route) else {
            return false;
        };
        let first_word = name.split(' ').next().unwrap_or_default();
        let is_method = !first_word.is_empty() && first_word.bytes().all(|byte| byte.is_ascii_uppercase());
        let method = attributes.get(OperationKeyword::Method).or(is_method.then_some(first_word));
        self.compose(method, ' ', Some(route))
    }

    fn compose_rpc(&mut self, attributes: &OperationAttributes<'_>) -> bool {
        let Some(method) = attributes.get(OperationKeyword::RpcMethod) else {
            return false;
        };
        // Newer conventions put the fully qualified name into the method.
        let service = attributes.get(OperationKeyword::RpcService).filter(|_| !method.contains('/'));
        self.compose(service, '/', Some(method))
    }

    fn compose_database(
        &mut self,
        quality: NameQuality,
        name: &str,
        attributes: &OperationAttributes<'_>,
    ) -> bool {
        if let Some(summary) = attributes.get(OperationKeyword::DbSummary) {
            return self.compose(Some(summary), ' ', None);
        }
        let operation = attributes.get(OperationKeyword::DbOperation);
        let collection = attributes.get(OperationKeyword::DbCollection);
        if collection.is_some() {
            return self.compose(operation, ' ', collection);
        }
        // Many drivers name a span after the verb alone, which all queries have, and a cache's GET is that of HTTP.
        if let Some((verb, table)) = attributes.get(OperationKeyword::DbQuery).and_then(verb_and_table) {
            return self.compose(operation.or(Some(verb)), ' ', Some(table));
        }
        let verb = name.trim();
        match attributes.get(OperationKeyword::DbSystem) {
            Some(system) if quality == NameQuality::Generic && !verb.is_empty() => {
                self.compose(operation.or(Some(verb)), ' ', Some(system))
            }
            _ => self.compose(operation, ' ', None),
        }
    }

    fn compose_messaging(&mut self, attributes: &OperationAttributes<'_>) -> bool {
        let operation = attributes
            .get(OperationKeyword::MessagingOperationName)
            .or(attributes.get(OperationKeyword::MessagingOperation));
        let destination = attributes
            .get(OperationKeyword::MessagingTemplate)
            .or(attributes.get(OperationKeyword::MessagingDestination));
        self.compose(operation, ' ', destination)
    }

    /// Instrumentation of HTTP clients names spans after the method alone, whatever they call.
    fn compose_peer(
        &mut self,
        quality: NameQuality,
        name: &str,
        attributes: &OperationAttributes<'_>,
    ) -> bool {
        let verb = name.trim();
        if quality != NameQuality::Generic || verb.is_empty() {
            return false;
        }
        let address = || attributes.get(OperationKeyword::ServerAddress).and_then(shared_host);
        let url = || attributes.get(OperationKeyword::Url).and_then(shared_host_of);
        let peer = attributes.get(OperationKeyword::PeerService).or_else(address).or_else(url);
        peer.is_some() && self.compose(Some(verb), ' ', peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, attributes: &[(&str, &str)], expected: &str) {
        check_kind(SpanKind::Unspecified, name, attributes, expected);
    }

    #[track_caller]
    fn check_kind(kind: SpanKind, name: &str, attributes: &[(&str, &str)], expected: &str) {
        let mut selected = OperationAttributes::default();
        for &(key, value) in attributes {
            selected.add(key.as_bytes(), value.into());
        }
        let mut namer = OperationNamer::default();
        let quality = namer.assess(name);
        assert_eq!(namer.operation(quality, name, kind, &selected), expected);
    }

    const ROUTE: (&str, &str) = ("http.route", "/cart/{id}");

    #[test]
    fn good_names_are_retained_regardless_of_attributes() {
        check("checkout", &[ROUTE], "checkout");
        check(
            "oteldemo.CartService/GetCart",
            &[("rpc.service", "x"), ("rpc.method", "y")],
            "oteldemo.CartService/GetCart",
        );
        check("query11-operation", &[("db.operation", "SELECT")], "query11-operation");
    }

    #[test]
    fn routes_replace_paths_and_bare_methods() {
        check("GET", &[ROUTE, ("http.request.method", "GET")], "GET /cart/{id}");
        check("HTTP GET", &[("http.method", "GET"), ROUTE], "GET /cart/{id}");
        check("GET /cart/7", &[ROUTE], "GET /cart/{id}");
        check("/cart/checkout", &[ROUTE], "/cart/{id}");
        check("GET /cart/9f8e7d6c5b?x=1", &[ROUTE, ("http.method", "GET")], "GET /cart/{id}");
    }

    #[test]
    fn remaining_names_only_lose_their_ids() {
        check("get", &[("http.method", "GET")], "get");
        check("/geo.Geo/Nearby", &[], "/geo.Geo/Nearby");
        check("GET /cart/12345", &[], "GET /cart/{id}");
        check("SELECT * FROM t WHERE id = ?", &[], "SELECT * FROM t WHERE id = ?");
        check(" ", &[], "unknown");
    }

    #[test]
    fn old_and_new_conventions_name_calls_queries_and_messages() {
        check("grpc", &[("rpc.method", "Get"), ("rpc.service", "Cart")], "Cart/Get");
        check("", &[("rpc.service", "Cart"), ("rpc.method", "shop.Cart/Get")], "shop.Cart/Get");
        check("SELECT", &[("db.sql.table", "users"), ("db.operation", "SELECT")], "SELECT users");
        check(
            "query",
            &[("db.query.summary", "SELECT a, b"), ("db.operation.name", "SELECT")],
            "SELECT a, b",
        );
        let text = ("db.query.text", "SELECT title FROM item WHERE id = %s");
        check("SELECT", &[("db.system.name", "postgresql"), text], "SELECT item");
        check("items of 4711", &[text], "SELECT item");
        check("SELECT", &[text, ("db.collection.name", "view")], "view");
        check("GET", &[("db.statement", "GET ?"), ("db.system", "redis")], "GET redis");
        check("get 4711", &[("db.system", "redis")], "get {id}");
        check("t WHERE id = ?", &[("db.operation.name", "UPDATE"), ("db.collection.name", "t")], "UPDATE t");
        check(
            "receive",
            &[("messaging.destination", "orders"), ("messaging.operation", "receive")],
            "receive orders",
        );
        let both = [("messaging.operation.type", "send"), ("messaging.operation.name", "publish")];
        check("order 4711", &both, "publish");
    }

    #[test]
    fn clients_that_are_named_after_a_method_alone_are_named_after_what_they_call() {
        let client = |name, attributes: &[(&str, &str)], expected| {
            check_kind(SpanKind::Client, name, attributes, expected);
        };
        let address = ("server.address", "recommendations.shop.svc");
        client("GET", &[address, ("server.port", "8091")], "GET recommendations.shop.svc");
        client("GET", &[("peer.service", "recommendations"), address], "GET recommendations");
        client(
            "HTTP POST",
            &[("http.url", "https://user@pay.example:443/pay?id=4")],
            "HTTP POST pay.example",
        );
        // Replicas have addresses, ports, and numbers of their own.
        client("GET", &[("net.peer.name", "10.0.3.7"), ("net.peer.port", "8091")], "GET");
        client("GET", &[("server.address", "cart-0.cart")], "GET");
        client("GET", &[("url.full", "http://[::1]:8091/related?item=4")], "GET");
        client("GET", &[("url.full", "http://localhost:8091")], "GET");
        client("GET", &[("db.system", "redis"), ("server.address", "cache")], "GET redis");
        client("GET related", &[address], "GET related");
        // The address of a server is its own.
        check_kind(SpanKind::Server, "GET", &[address], "GET");
    }
}
