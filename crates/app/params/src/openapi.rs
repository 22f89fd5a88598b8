//! Schemas of values that are texts.

use crate::Moment;
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
