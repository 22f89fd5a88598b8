//! Attributes in JSON: OTLP's and Jaeger's lists of keys and values, or an object as Elasticsearch and Zipkin
//! store them.
//!
//! ```text
//! [{"key":"http.route","value":{"stringValue":"/cart"}}]
//! [{"key":"http.route","type":"string","value":"/cart"}]
//! {"http.route":"/cart"}
//! ```

use crate::conventions::{
    OperationAttributes, ResourceAttributes, SelectedAttributes, SpanSelection, THREAD_ATTRIBUTE, read_thread,
};
use crate::lax_json::{AnyValue, LaxText};
use crate::sampling::{SamplingAttributes, WantedAttributes};
use laggard_model::{AttributeText, SpanKind, Status, Tid};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Selects the needed attributes.
pub(crate) trait AttributeSink<'a> {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>);
}

impl<'a> AttributeSink<'a> for OperationAttributes<'a> {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.add(name.as_bytes(), value);
    }
}

/// Attributes of a resource or a process.
#[derive(Debug)]
pub(crate) struct ResourceTags<'w> {
    pub(crate) selected: &'w SelectedAttributes,
    pub(crate) resource: ResourceAttributes,
}

impl<'w> ResourceTags<'w> {
    /// No attributes yet.
    pub(crate) fn new(selected: &'w SelectedAttributes) -> Self {
        ResourceTags { selected, resource: ResourceAttributes::default() }
    }
}

impl<'a> AttributeSink<'a> for ResourceTags<'_> {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.resource.add(name.as_bytes(), &value, self.selected.key_of_resource(name.as_bytes()));
    }
}

impl<'a> AttributeSink<'a> for SpanSelection<'_> {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.add(name.as_bytes(), &value);
    }
}

/// Sampling attributes.
#[derive(Debug)]
pub(crate) struct SamplingTags<'a, 'w> {
    pub(crate) wanted: &'w WantedAttributes,
    pub(crate) sampling: SamplingAttributes<'a>,
}

impl<'a> AttributeSink<'a> for SamplingTags<'a, '_> {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.sampling.add(self.wanted, name.as_bytes(), value);
    }
}

/// The thread of an OTLP span.
#[derive(Debug, Default)]
pub(crate) struct ThreadTag(pub(crate) Option<Tid>);

impl<'a> AttributeSink<'a> for ThreadTag {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        if name == THREAD_ATTRIBUTE {
            self.0 = read_thread(&value);
        }
    }
}

/// Tags of a Jaeger or Zipkin span for which OTLP has fields.
#[derive(Debug)]
pub(crate) struct SpanTags<'a, 'w> {
    wanted: &'w WantedAttributes,
    pub(crate) sampling: SamplingAttributes<'a>,
    pub(crate) operation: OperationAttributes<'a>,
    /// Resource attributes that exporters copy to every span.
    pub(crate) resource: ResourceAttributes,
    pub(crate) kind: Option<SpanKind>,
    pub(crate) status: Status,
    /// The selected attributes of the span.
    pub(crate) attributes: AttributeText,
    pub(crate) thread: Option<Tid>,
}

impl<'w> SpanTags<'_, 'w> {
    /// No tags yet.
    pub(crate) fn new(wanted: &'w WantedAttributes) -> Self {
        SpanTags {
            wanted,
            sampling: SamplingAttributes::default(),
            operation: OperationAttributes::default(),
            resource: ResourceAttributes::default(),
            kind: None,
            status: Status::Unset,
            attributes: AttributeText::default(),
            thread: None,
        }
    }
}

impl<'a> AttributeSink<'a> for SpanTags<'a, '_> {
    fn add_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        let Some(value) = self.sampling.add(self.wanted, name.as_bytes(), value) else {
            return;
        };
        match name {
            THREAD_ATTRIBUTE => self.thread = read_thread(&value),
            "span.kind" => self.kind = SpanKind::parse(&value),
            // Zipkin has the tag for errors only, Jaeger also for their absence.
            "error" if !matches!(&*value, "false" | "0") => self.status = Status::Error,
            "otel.status_code" | "status.code" if value.eq_ignore_ascii_case("error") => {
                self.status = Status::Error
            }
            "otel.status_code" | "status.code" if value.eq_ignore_ascii_case("ok") => {
                // A status that is already an error does not change.
                self.status = if self.status == Status::Error { Status::Error } else { Status::Ok };
            }
            // A peer's name or address as often as one's own.
            "hostname" | "ip" | "service.name" => {}
            _ => {
                let selected = &self.wanted.selected;
                selected.add_of_span(name.as_bytes(), &value, &mut self.attributes);
                self.resource.add(name.as_bytes(), &value, selected.key_of_service(name.as_bytes()));
                self.operation.add(name.as_bytes(), value);
            }
        }
    }
}

/// Reads attributes into `selected`; a missing list is empty. After an error, the attributes before it have been added.
pub(crate) fn read<'a>(
    json: Option<&'a RawValue>,
    selected: &mut impl AttributeSink<'a>,
) -> Result<(), serde_json::Error> {
    let Some(json) = json else {
        return Ok(());
    };
    let mut deserializer = serde_json::Deserializer::from_str(json.get());
    deserializer.deserialize_any(AttributesVisitor(selected))
}

struct AttributesVisitor<'t, T>(&'t mut T);

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(borrow, default)]
    key: LaxText<'a>,
    #[serde(borrow, default)]
    value: AnyValue<'a>,
}

impl<'de, T: AttributeSink<'de>> Visitor<'de> for AttributesVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("attributes")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Option<KeyValue<'de>>>()? {
            if let Some(KeyValue { key, value }) = item {
                self.0.add_attribute(key.as_str(), value.0);
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<LaxText<'de>, AnyValue<'de>>()? {
            if key.as_str().contains('@') {
                // Jaeger's Elasticsearch storage writes dots so.
                self.0.add_attribute(&key.as_str().replace('@', "."), value.0);
            } else {
                self.0.add_attribute(key.as_str(), value.0);
            }
        }
        Ok(())
    }
}
