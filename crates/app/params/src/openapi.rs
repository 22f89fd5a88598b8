//! Schemas that are not derived.

use crate::Moment;
use crate::listing::entries;
use laggard_settings::Settings;
use std::borrow::Cow;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};

impl utoipa::PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        let kinds = SchemaType::Array(vec![Type::String, Type::Integer]);
        let about = "RFC 3339 text, nanoseconds since the Unix epoch, or a time before now like -15m";
        ObjectBuilder::new().schema_type(kinds).description(Some(about)).into()
    }
}

impl utoipa::ToSchema for Moment {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Moment")
    }
}

/// The object `set` of a question: every setting with its type, range, and default.
pub(crate) fn settings<S: Settings>() -> Schema {
    let mut object =
        ObjectBuilder::new().description(Some("Settings by name; those left out have their defaults."));
    for entry in entries::<S>() {
        let about = format!("{} (default {}; {})", entry.description, entry.default, entry.source);
        let mut schema = ObjectBuilder::new().description(Some(about));
        schema = match entry.choices.as_slice() {
            [] => schema
                .schema_type(SchemaType::Array(vec![Type::Number, Type::String]))
                .minimum(entry.minimum)
                .maximum(entry.maximum),
            words => schema.schema_type(Type::String).enum_values(Some(words.iter().copied())),
        };
        object = object.property(entry.name, schema);
    }
    object.into()
}
