//! Attributes of requests and services that are retained besides names: a configurable few.

use laggard_model::{Attribute, AttributeText};
use memchr::memmem::Finder;
use std::sync::Arc;

/// An attribute known under several names.
struct KnownAttribute {
    /// As reports show it.
    key: &'static str,
    /// Whether it describes a service and not a request.
    of_service: bool,
    names: &'static [&'static str],
}

/// OpenTelemetry's conventions name versions, zones, and routes; the others go by the names in use.
const KNOWN: [KnownAttribute; 5] = [
    KnownAttribute { key: "version", of_service: true, names: &["service.version"] },
    KnownAttribute {
        key: "zone",
        of_service: true,
        names: &["cloud.availability_zone", "topology.kubernetes.io/zone"],
    },
    KnownAttribute { key: "route", of_service: false, names: &["http.route"] },
    KnownAttribute {
        key: "tenant",
        of_service: false,
        names: &["tenant", "tenant.id", "tenant_id", "tenant.name", "app.tenant", "app.tenant.id"],
    },
    KnownAttribute {
        key: "account",
        of_service: false,
        names: &["account", "account.id", "account_id", "app.account.id", "user.account"],
    },
];

/// The attributes that are selected without a setting.
pub const DEFAULT_ATTRIBUTES: &str = "version,zone,route,tenant,account";

/// The short name of an attribute, which several names may share; its own name where it has none.
pub fn attribute_key(name: &str) -> &str {
    KNOWN.iter().find(|known| known.names.contains(&name)).map_or(name, |known| known.key)
}

/// The name that an attribute of this short name has in OpenTelemetry; the short name where it has no other.
pub fn attribute_name(key: &str) -> &str {
    KNOWN.iter().find(|known| known.key == key).map_or(key, |known| known.names[0])
}

/// The names of the attributes that readers retain, and how reports show them.
#[derive(Clone, Debug)]
pub struct SelectedAttributes {
    names: Arc<[SelectedName]>,
    /// Bit `n`: a name is `n` bytes long; names of 63 bytes and more share the last bit.
    lengths: u64,
    /// Parts of the names, by which text without any of them is recognized.
    finders: Arc<[Finder<'static>]>,
}

#[derive(Debug)]
struct SelectedName {
    name: Box<str>,
    key: Box<str>,
    of_service: bool,
}

impl Default for SelectedAttributes {
    fn default() -> SelectedAttributes {
        SelectedAttributes::parse(DEFAULT_ATTRIBUTES)
    }
}

impl SelectedAttributes {
    /// The attributes of a list: short names such as `version`, or attributes' own names, separated by commas. An empty
    /// list selects none.
    pub fn parse(list: &str) -> SelectedAttributes {
        let mut names: Vec<SelectedName> = Vec::new();
        let mut add = |name: &str, key: &str, of_service| {
            if !names.iter().any(|known| &*known.name == name) {
                names.push(SelectedName { name: name.into(), key: key.into(), of_service });
            }
        };
        for text in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = KNOWN.iter().find(|known| known.key == text || known.names.contains(&text));
            match known {
                Some(known) if known.key == text => {
                    known.names.iter().for_each(|name| add(name, known.key, known.of_service));
                }
                Some(known) => add(text, known.key, known.of_service),
                None => add(text, text, false),
            }
        }
        let mut needles: Vec<&str> =
            names.iter().filter(|name| !name.of_service).map(|name| &*name.name).collect();
        needles.sort_by_key(|name| name.len());
        let mut distinct: Vec<&str> = Vec::new();
        for needle in needles {
            if !distinct.iter().any(|known| needle.contains(known)) {
                distinct.push(needle);
            }
        }
        let finders = distinct.iter().map(|needle| Finder::new(needle.as_bytes()).into_owned()).collect();
        let lengths = names.iter().fold(0, |bits, name| bits | length_bit(name.name.len()));
        SelectedAttributes { names: names.into(), lengths, finders }
    }

    #[inline]
    fn find(&self, name: &[u8]) -> Option<&SelectedName> {
        if self.lengths & length_bit(name.len()) == 0 {
            return None;
        }
        self.names.iter().find(|known| known.name.as_bytes() == name)
    }

    /// Whether an attribute of a span has a name that is selected.
    #[inline]
    pub(crate) fn is_relevant(&self, name: &[u8]) -> bool {
        self.find(name).is_some_and(|known| !known.of_service)
    }

    /// Whether JSON text of a span's attributes may contain one that is selected; cheaper than reading it.
    #[inline]
    pub(crate) fn may_occur_in(&self, json: &str) -> bool {
        self.finders.iter().any(|finder| finder.find(json.as_bytes()).is_some())
    }

    /// Adds an attribute of a span if it is selected.
    pub(crate) fn add_of_span(&self, name: &[u8], value: &str, text: &mut AttributeText) {
        if let Some(known) = self.find(name)
            && !known.of_service
        {
            text.add(Attribute { key: &known.key, service: "", value });
        }
    }

    /// The key of an attribute of a resource, if it is selected.
    pub(crate) fn key_of_resource(&self, name: &[u8]) -> Option<&str> {
        self.find(name).map(|known| &*known.key)
    }

    /// The short names that are selected.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let keys: std::collections::BTreeSet<&str> = self.names.iter().map(|known| &*known.key).collect();
        keys.into_iter()
    }

    /// The key of a span's attribute that describes its service: exporters copy those of resources to spans.
    pub(crate) fn key_of_service(&self, name: &[u8]) -> Option<&str> {
        self.find(name).filter(|known| known.of_service).map(|known| &*known.key)
    }

    /// The key of a table's column of this name, and whether it describes the span's service.
    pub(crate) fn column(&self, name: &str) -> Option<(&str, bool)> {
        let known = self.find(name.as_bytes());
        let known = known.or_else(|| self.names.iter().find(|known| &*known.key == name))?;
        Some((&known.key, known.of_service))
    }
}

const fn length_bit(length: usize) -> u64 {
    1 << if length < 63 { length } else { 63 }
}

/// Selects a span's attributes.
#[derive(Debug)]
pub(crate) struct SpanSelection<'s> {
    pub(crate) selected: &'s SelectedAttributes,
    pub(crate) text: &'s mut AttributeText,
}

impl SpanSelection<'_> {
    pub(crate) fn add(&mut self, name: &[u8], value: &str) {
        self.selected.add_of_span(name, value, self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_model::attributes_in;

    #[test]
    fn names_of_one_meaning_share_a_key() {
        let selected = SelectedAttributes::default();
        let mut text = AttributeText::default();
        for (name, value) in
            [("tenant.id", "acme"), ("tenant", "acme"), ("http.route", "/cart"), ("http.method", "GET")]
        {
            selected.add_of_span(name.as_bytes(), value, &mut text);
        }
        // The version of a service is an attribute of its resource, not of one span.
        selected.add_of_span(b"service.version", "1", &mut text);
        let read: Vec<(&str, &str)> = attributes_in(text.as_str()).map(|it| (it.key, it.value)).collect();
        assert_eq!(read, [("route", "/cart"), ("tenant", "acme")]);
        assert_eq!(selected.key_of_resource(b"service.version"), Some("version"));
        assert_eq!(selected.keys().collect::<Vec<_>>(), ["account", "route", "tenant", "version", "zone"]);
        assert_eq!((attribute_key("tenant_id"), attribute_key("shop.plan")), ("tenant", "shop.plan"));
        assert_eq!(
            (attribute_name("zone"), attribute_name("shop.plan")),
            ("cloud.availability_zone", "shop.plan")
        );
        assert!(
            selected.may_occur_in(r#"[{"key":"app.tenant.id"}]"#)
                && !selected.may_occur_in(r#"[{"key":"x"}]"#)
        );
    }

    #[test]
    fn a_list_replaces_the_defaults() {
        let selected = SelectedAttributes::parse(" version, shop.plan,tenant_id ");
        assert!(selected.is_relevant(b"shop.plan") && selected.is_relevant(b"tenant_id"));
        assert!(!selected.is_relevant(b"tenant.id") && !selected.is_relevant(b"http.route"));
        assert_eq!(selected.column("version"), Some(("version", true)));
        let none = SelectedAttributes::parse("");
        assert!(!none.may_occur_in("tenant") && none.column("tenant").is_none());
    }
}
