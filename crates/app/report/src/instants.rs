//! Instants of reports: typed in Rust; in JSON nanoseconds since the Unix epoch, RFC 3339 text, or both.

use crate::{Onset, Window};
use laggard_model::Timestamp;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A timestamp as RFC 3339 text in UTC with milliseconds.
pub fn rfc3339(time: Timestamp) -> String {
    match jiff::Timestamp::from_nanosecond(i128::from(time.unix_ns())) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => format!("{} ns", time.unix_ns()),
    }
}

/// Declares structs of instants. In JSON each field `at` is there twice: as integer `at_ns` and as text `at`.
macro_rules! instants {
    ($($(#[doc = $about:literal])+ pub struct $type:ident { $($(#[doc = $doc:literal])+ pub $field:ident,)+ })+) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $type { $($(#[doc = $doc])+ pub $field: laggard_model::Timestamp,)+ }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct;
                let fields = 2 * [$(stringify!($field)),+].len();
                let mut out = serializer.serialize_struct(stringify!($type), fields)?;
                $(out.serialize_field(concat!(stringify!($field), "_ns"), &self.$field.unix_ns())?;)+
                $(out.serialize_field(stringify!($field), &$crate::rfc3339(self.$field))?;)+
                out.end()
            }
        }

        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
                let mut object = ObjectBuilder::new().description(Some(concat!($($about),+).trim()));
                for (field, ns, doc) in
                    [$((stringify!($field), concat!(stringify!($field), "_ns"), concat!($($doc),+).trim())),+]
                {
                    let integer = ObjectBuilder::new().schema_type(Type::Integer).description(Some(doc));
                    let integer = integer.format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
                    let text = ObjectBuilder::new().schema_type(Type::String);
                    let text = text.description(Some(format!("`{ns}` as text.")));
                    object = object.property(ns, integer).required(ns).property(field, text).required(field);
                }
                object.into()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($type))
            }
        }
    )+ };
}
pub(crate) use instants;

/// Writes an instant as nanoseconds since the Unix epoch.
pub(crate) fn unix_ns<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    time.unix_ns().serialize(serializer)
}

/// Writes an instant that may be unknown as RFC 3339 text.
pub(crate) fn text_if_any<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(rfc3339).serialize(serializer)
}

/// Writes a window that may be absent, then with zeros and empty text.
pub(crate) fn window_or_empty<S: Serializer>(
    window: &Option<Window>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if let Some(window) = window {
        return window.serialize(serializer);
    }
    let mut out = serializer.serialize_struct("Window", 4)?;
    ["since_ns", "until_ns"].into_iter().try_for_each(|field| out.serialize_field(field, &0))?;
    ["since", "until"].into_iter().try_for_each(|field| out.serialize_field(field, ""))?;
    out.end()
}

/// Reads what [`window_or_empty`] wrote.
pub(crate) fn window_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Window>, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Ends {
        since_ns: i64,
        until_ns: i64,
    }
    let Ends { since_ns, until_ns } = Ends::deserialize(deserializer)?;
    let [since, until] = [since_ns, until_ns].map(Timestamp::from_unix_ns);
    Ok(((since_ns, until_ns) != (0, 0)).then_some(Window { since, until }))
}

impl Onset {
    /// The 95 % interval.
    pub(crate) const fn interval(&self) -> Window {
        Window { since: self.earliest, until: self.latest }
    }
}

impl fmt::Display for Window {
    /// `2026-01-12T09:00:00.000Z to 2026-01-12T10:00:00.000Z`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", rfc3339(self.since), rfc3339(self.until))
    }
}
