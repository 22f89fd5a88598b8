//! The page of a question, with the fields of its form.

use serde::Serialize;

/// The page of a question.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QuestionPage {
    /// Its title, also in the navigation.
    pub title: &'static str,
    /// The key that goes there after `g`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub key: &'static str,
    /// The introduction of the question's page.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub introduction: &'static str,
    /// A command at the end of the introduction.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub command: &'static str,
    /// The text of the button that asks.
    pub button: &'static str,
    /// Fields for its own parameters.
    #[serde(skip)]
    pub fields: &'static [Field],
}

/// Files in the form of a page.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FilePart {
    /// The part of the request they are.
    pub part: &'static str,
    /// Their label.
    pub label: &'static str,
    /// Whether there is no question without them.
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
}

/// A parameter in the form of a page.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Field {
    /// The parameter.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// The default of an empty field, or an example.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub placeholder: &'static str,
    /// A hint at valid values.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub hint: &'static str,
    /// Whether there can be several, with commas between.
    #[serde(skip_serializing_if = "is_false")]
    pub many: bool,
    /// Whether there is no question without it.
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
    /// Whether it is seldom needed.
    #[serde(skip_serializing_if = "is_false")]
    pub rare: bool,
    /// All values, if it has only some.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub choices: &'static [FieldChoice],
}

/// A value that can be chosen; the empty one leaves the parameter out.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FieldChoice {
    /// The value.
    pub value: &'static str,
    /// Its label.
    pub label: &'static str,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Field {
    /// A text that may be left out.
    pub const fn new(name: &'static str, label: &'static str) -> Field {
        Field {
            name,
            label,
            placeholder: "",
            hint: "",
            many: false,
            required: false,
            rare: false,
            choices: &[],
        }
    }
}
