//! Settings declared once: a struct whose fields have a name, a unit, a range, a default, and the source of the default.
//!
//! ```text
//! settings! { struct ... } ─┬─► struct, Default, range check
//!                           └─► rows by name ─► --set NAME=VALUE, HTTP field, OpenAPI, report, manual
//! ```
//!
//! Settings of several parts nest: `groups` lists them, and their names form one flat list.

mod declare;
mod nearest;
mod quantity;
mod range;
mod row;
mod value;

pub use nearest::nearest;
pub use quantity::{Length, Size, parse_length, parse_size};
pub use range::{Range, above, above_to, any, at_least, between, choice, within};
pub use row::{SeeSetting, SeeSettingMut, SettingError, SettingRow, Settings};
pub use value::{Choice, SettingType, SettingValue};
