//! OpenAPI schemas that cannot be derived from a type, such as that of settings by name.

use crate::listing::entries;
use crate::{Moment, SampleQuery, SampleReading, Windows};
use laggard_settings::Settings;
use std::borrow::Cow;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        let kinds = SchemaType::Array(vec![Type::String, Type::Integer]);
        let about = "RFC 3339 text, nanoseconds since the Unix epoch, or a time before now like -15m";
        ObjectBuilder::new().schema_type(kinds).description(Some(about)).into()
    }
}

impl ToSchema for Moment {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Moment")
    }
}

impl<P: ToSchema> PartialSchema for SampleQuery<P> {
    fn schema() -> RefOr<Schema> {
        let about = "Which samples, the question's own parameters, and how files are read.";
        let parts = [Windows::name(), P::name(), SampleReading::name()];
        let all = AllOfBuilder::new().description(Some(about));
        parts.into_iter().fold(all, |all, part| all.item(Ref::from_schema_name(part))).into()
    }
}

impl<P: ToSchema> ToSchema for SampleQuery<P> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("SampleQuery_{}", P::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add_schemas::<Windows>(schemas);
        add_schemas::<P>(schemas);
        add_schemas::<SampleReading>(schemas);
    }
}

/// Adds the schema of a type and of all types it refers to.
pub fn add_schemas<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
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
