//! Forms: how the pages ask questions.

use crate::{
    Declaration, Field, FilePart, KernelQuestion, KernelTraces, QuestionPage, QuestionVisitor,
    SampleQuestion, each_question, windows,
};
use serde::Serialize;

/// A page with all that its form has.
#[derive(Clone, Debug, Serialize)]
pub struct Form {
    /// The question.
    pub name: &'static str,
    /// The page of the question.
    #[serde(flatten)]
    pub page: QuestionPage,
    /// The parameters, those that all questions about the same data have among them.
    pub fields: Vec<Field>,
    /// The files.
    pub uploads: &'static [FilePart],
}

/// Uploaded files of a question about samples.
const SAMPLE_FILES: &[FilePart] =
    &[FilePart { part: "file", label: "Samples, traces or access logs", required: false }];

/// The forms of all questions.
#[derive(Debug, Default, Serialize)]
pub struct Forms {
    /// Of those about samples.
    pub sample: Vec<Form>,
    /// Of those about kernel traces.
    pub kernel: Vec<Form>,
}

impl Forms {
    /// The forms of every question, in the order of the navigation.
    pub fn all() -> Forms {
        let mut forms = Forms::default();
        each_question(&mut forms);
        forms
    }
}

impl QuestionVisitor for Forms {
    /// What the question needs, which samples, what else it can have.
    fn about_samples<Q: SampleQuestion>(&mut self) {
        let page = Q::DECLARATION.page;
        let (needed, other): (Vec<Field>, Vec<Field>) = page.fields.iter().partition(|field| field.required);
        let fields = [&needed, windows::FIELDS, &other].concat();
        self.sample.push(Form { name: Q::DECLARATION.name, page, fields, uploads: SAMPLE_FILES });
    }

    fn about_kernel_traces<Q: KernelQuestion>(&mut self) {
        let Declaration { name, page, .. } = Q::DECLARATION;
        let name = name.trim_start_matches("kernel/");
        self.kernel.push(Form { name, page, fields: page.fields.to_vec(), uploads: Q::Input::UPLOADS });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FromParams, SampleQuery};
    use serde_json::{Value, json};

    /// Reads every field of every form as the API does.
    struct Fields;

    impl Fields {
        fn check<P: FromParams>(form: &Form) {
            let accepts = |name: &str, value: Value| P::from_json(json!({ name: value })).is_ok();
            for field in &form.fields {
                let name = format!("{} {}", form.name, field.name);
                assert!(accepts(field.name, Value::Null), "{name} is a parameter");
                assert_eq!(accepts(field.name, json!([])), field.many, "{name}: whether it can be several");
                let choices =
                    field.choices.iter().map(|choice| choice.value).filter(|value| !value.is_empty());
                choices.for_each(|value| assert!(accepts(field.name, json!(value)), "{name}: {value}"));
            }
        }
    }

    impl QuestionVisitor for Fields {
        fn about_samples<Q: SampleQuestion>(&mut self) {
            let mut forms = Forms::default();
            forms.about_samples::<Q>();
            Fields::check::<SampleQuery<Q>>(&forms.sample[0]);
        }

        fn about_kernel_traces<Q: KernelQuestion>(&mut self) {
            let mut forms = Forms::default();
            forms.about_kernel_traces::<Q>();
            Fields::check::<Q>(&forms.kernel[0]);
        }
    }

    #[test]
    fn fields_of_forms_are_parameters() {
        each_question(&mut Fields);
    }
}
