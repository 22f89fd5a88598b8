//! `signature`: what do transactions take without queueing?

use crate::{
    Declaration, DeclaredQuestion, Field, FromParams, ParamsError, QuestionPage, RawParams, SampleQuestion,
    WindowedSamples, Windows,
};
use clap::Args;
use laggard_metrics_questions::{SignatureQuestion, build_signature};
use laggard_report::Signature;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const EXAMPLES: &str = "Examples:
  laggard signature samples.csv                              what transactions take, as text
  laggard signature access.log cpu.csv --cores 4 --label \"$COMMIT\" -o signature.json
  laggard signature diff main.json signature.json --exit-code --junit signature.xml

Exit status: 0 success, 2 invalid usage, 3 unreadable input, 4 not enough data for a signature.";

/// What a signature is of, and how many transaction types it has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Args, ToSchema)]
#[group(skip)]
#[serde(rename_all = "kebab-case", default)]
pub struct SignatureParams {
    /// What the signature is of, for reports: a version, a commit
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub label: String,
    /// Most transaction types; the rarest are pooled
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub types_max: u16,
}

impl Default for SignatureParams {
    fn default() -> SignatureParams {
        SignatureParams { label: String::new(), types_max: 100 }
    }
}

impl FromParams for SignatureParams {
    fn from_raw(raw: &mut RawParams) -> Result<SignatureParams, ParamsError> {
        let params: SignatureParams = raw.group()?;
        match (1..=1000).contains(&params.types_max) {
            true => Ok(params),
            false => Err(ParamsError::new("types-max: write a whole number from 1 to 1000")),
        }
    }
}

impl DeclaredQuestion for SignatureParams {
    type Settings = SignatureParams;
    type Output = Signature;
    const DECLARATION: Declaration = Declaration {
        name: "signature",
        own_command: true,
        question: "What do transactions take without queueing?",
        about: "Measure what transactions take at every server without queueing, and compare two such signatures",
        examples: EXAMPLES,
        alarm: None,
        stage: "fitting",
        thresholds: None,
        page: QuestionPage {
            title: "Signature",
            key: "i",
            introduction: "What each type of transaction takes at each server when nothing queues. Save it as JSON and compare it \
                           with a later one:",
            command: "laggard signature diff old.json new.json",
            button: "Compute the signature",
            fields: &[Field { hint: "what it is of: a version, a commit", ..Field::new("label", "Label") }],
        },
    };
}

impl SampleQuestion for SignatureParams {
    fn settings(&self, _windows: &Windows) -> Result<SignatureParams, ParamsError> {
        Ok(self.clone())
    }

    fn answer(settings: SignatureParams, samples: WindowedSamples) -> Result<Signature, ParamsError> {
        let mut signature = build_signature(&SignatureQuestion {
            table: &samples.table,
            facts: &samples.facts,
            label: &settings.label,
            types_max: settings.types_max.into(),
        });
        signature.cautions.extend(samples.cautions);
        Ok(signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_have_a_range() {
        let read = SignatureParams::from_json(json!({"label": "v2", "types-max": 5})).unwrap();
        assert_eq!((read.label.as_str(), read.types_max), ("v2", 5));
        for number in [0, 1001] {
            assert!(SignatureParams::from_json(json!({"types-max": number})).is_err(), "{number}");
        }
    }
}
