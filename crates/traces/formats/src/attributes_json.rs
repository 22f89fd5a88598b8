//! Attributes in JSON: OTLP's and Jaeger's lists of keys and values, or an object as Elasticsearch and Zipkin
//! store them.
//!
//! ```text
//! [{"key":"http.route","value":{"stringValue":"/cart"}}]
//! [{"key":"http.route","type":"string","value":"/cart"}]
//! {"http.route":"/cart"}
//! ```

use crate::conventions::{OperationAttributes, ResourceAttributes};
use crate::lax_json::Text;
use crate::sampling::{SamplingAttributes, WeightAttributes};
use laggard_model::{SpanKind, Status};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Picks the attributes it wants.
pub(crate) trait TakeAttribute<'a> {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>);
}

impl<'a> TakeAttribute<'a> for OperationAttributes<'a> {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.take(name.as_bytes(), value);
    }
}

impl<'a> TakeAttribute<'a> for ResourceAttributes {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.take(name.as_bytes(), &value);
    }
}

/// What attributes tell of sampling.
#[derive(Debug)]
pub(crate) struct SamplingTags<'a, 'w> {
    pub(crate) weights: &'w WeightAttributes,
    pub(crate) sampling: SamplingAttributes<'a>,
}

impl<'a> TakeAttribute<'a> for SamplingTags<'a, '_> {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        self.sampling.take(self.weights, name.as_bytes(), value);
    }
}

/// What the tags of a Jaeger or Zipkin span tell, where OTLP has fields of its own.
#[derive(Debug)]
pub(crate) struct SpanTags<'a, 'w> {
    weights: &'w WeightAttributes,
    pub(crate) sampling: SamplingAttributes<'a>,
    pub(crate) operation: OperationAttributes<'a>,
    /// Resource attributes that exporters copy to every span.
    pub(crate) resource: ResourceAttributes,
    pub(crate) kind: Option<SpanKind>,
    pub(crate) status: Status,
}

impl<'w> SpanTags<'_, 'w> {
    /// No tags yet.
    pub(crate) fn new(weights: &'w WeightAttributes) -> Self {
        SpanTags {
            weights,
            sampling: SamplingAttributes::default(),
            operation: OperationAttributes::default(),
            resource: ResourceAttributes::default(),
            kind: None,
            status: Status::Unset,
        }
    }
}

impl<'a> TakeAttribute<'a> for SpanTags<'a, '_> {
    fn take_attribute(&mut self, name: &str, value: Cow<'a, str>) {
        let Some(value) = self.sampling.take(self.weights, name.as_bytes(), value) else {
            return;
        };
        match name {
            "span.kind" => self.kind = SpanKind::parse(&value),
            // Zipkin has the tag for errors only, Jaeger also for their absence.
            "error" if !matches!(&*value, "false" | "0") => self.status = Status::Error,
            "otel.status_code" | "status.code" if value.eq_ignore_ascii_case("error") => {
                self.status = Status::Error
            }
            "otel.status_code" | "status.code" if value.eq_ignore_ascii_case("ok") => {
                // An error that is told otherwise stays one.
                self.status = if self.status == Status::Error { Status::Error } else { Status::Ok };
            }
            // A peer's name or address as often as one's own.
            "hostname" | "ip" | "service.name" => {}
            _ => {
                self.resource.take(name.as_bytes(), &value);
                self.operation.take(name.as_bytes(), value);
            }
        }
    }
}

/// Reads attributes into `taken`; absent ones are none. After an error those read so far have been taken.
pub(crate) fn read<'a>(
    json: Option<&'a RawValue>,
    taken: &mut impl TakeAttribute<'a>,
) -> Result<(), serde_json::Error> {
    let Some(json) = json else {
        return Ok(());
    };
    let mut deserializer = serde_json::Deserializer::from_str(json.get());
    deserializer.deserialize_any(AttributesVisitor(taken))
}

struct AttributesVisitor<'t, T>(&'t mut T);

#[derive(Deserialize)]
struct KeyValue<'a> {
    #[serde(borrow, default)]
    key: Text<'a>,
    #[serde(borrow, default)]
    value: AnyValue<'a>,
}

impl<'de, T: TakeAttribute<'de>> Visitor<'de> for AttributesVisitor<'_, T> {
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
                self.0.take_attribute(key.as_str(), value.0);
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<Text<'de>, AnyValue<'de>>()? {
            if key.as_str().contains('@') {
                // Jaeger's Elasticsearch storage writes dots so.
                self.0.take_attribute(&key.as_str().replace('@', "."), value.0);
            } else {
                self.0.take_attribute(key.as_str(), value.0);
            }
        }
        Ok(())
    }
}

/// An attribute's value as text: a plain value, or OTLP's object around one. Lists and objects are empty.
#[derive(Default)]
struct AnyValue<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for AnyValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyValue<'a>, D::Error> {
        deserializer.deserialize_any(AnyValueVisitor).map(AnyValue)
    }
}

struct AnyValueVisitor;

impl<'de> Visitor<'de> for AnyValueVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute's value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(if value { "true" } else { "false" }))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Cow::Borrowed("");
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.as_str() {
                "stringValue" | "string_value" | "intValue" | "int_value" | "boolValue" | "bool_value"
                | "doubleValue" | "double_value" => found = map.next_value::<Text<'de>>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}
