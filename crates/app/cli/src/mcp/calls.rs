//! Arguments of tools about files: paths beside the parameters of the question.

use laggard_mcp::{Tool, input_schema, with_properties};
use laggard_params::{
    COMPARE_QUESTION, CompareParams, DIAGNOSE_QUESTION, Declaration, DiagnoseParams, FromParams, Inputs,
    KernelQuestion, KernelTraces, ParamsError, RawParams, SampleQuery, SampleQuestion, Weights, tool,
};
use laggard_report::schema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Files of a question about one set.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Paths {
    paths: Vec<String>,
}

/// Files of `diagnose`.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct DiagnosePaths {
    pub(super) paths: Vec<String>,
    pub(super) baseline: Vec<String>,
    pub(super) samples: Vec<String>,
}

/// Files of two sets.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ComparePaths {
    pub(super) paths: Vec<String>,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
}

/// Kernel traces.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct KernelPaths {
    pub(super) paths: Vec<String>,
    pub(super) normal: Vec<String>,
    pub(super) sample: Vec<String>,
}

/// A call of `diagnose`.
pub(super) struct DiagnoseCall {
    pub(super) files: DiagnosePaths,
    pub(super) question: DiagnoseParams,
    pub(super) inputs: Inputs,
    pub(super) weights: Weights,
}

/// A call of `compare`.
pub(super) struct CompareCall {
    pub(super) files: ComparePaths,
    pub(super) question: CompareParams,
    pub(super) inputs: Inputs,
}

/// A call of a question about samples.
pub(super) struct SampleCall<Q> {
    pub(super) paths: Vec<String>,
    pub(super) query: SampleQuery<Q>,
}

/// A call of a question about kernel traces.
pub(super) struct KernelCall<Q> {
    pub(super) files: KernelPaths,
    pub(super) question: Q,
}

impl FromParams for DiagnoseCall {
    fn from_raw(raw: &mut RawParams) -> Result<DiagnoseCall, ParamsError> {
        // `baseline` are files here; a server's parameter of this name says whether it chooses one.
        let files: DiagnosePaths = raw.group()?;
        required("paths", &files.paths)?;
        Ok(DiagnoseCall {
            files,
            question: DiagnoseParams::from_raw(raw)?,
            inputs: raw.group()?,
            weights: raw.group()?,
        })
    }
}

impl FromParams for CompareCall {
    fn from_raw(raw: &mut RawParams) -> Result<CompareCall, ParamsError> {
        let files: ComparePaths = raw.group()?;
        let two = !files.before.is_empty() && !files.after.is_empty();
        let some = !files.before.is_empty() || !files.after.is_empty();
        if files.paths.is_empty() != two || (some && !two) {
            return Err(ParamsError::new(
                "name the files of the two sets, before and after; or one data set, paths, with since (what is before that time is \
                 compared with what is after it)",
            ));
        }
        if files.paths.len() > 1 {
            return Err(ParamsError::new("paths is one data set: name one folder, file, or pattern"));
        }
        Ok(CompareCall { files, question: CompareParams::from_raw(raw)?, inputs: raw.group()? })
    }
}

impl<Q: FromParams> FromParams for SampleCall<Q> {
    fn from_raw(raw: &mut RawParams) -> Result<SampleCall<Q>, ParamsError> {
        let Paths { paths } = raw.group()?;
        required("paths", &paths)?;
        Ok(SampleCall { paths, query: SampleQuery::from_raw(raw)? })
    }
}

impl<Q: KernelQuestion> FromParams for KernelCall<Q> {
    fn from_raw(raw: &mut RawParams) -> Result<KernelCall<Q>, ParamsError> {
        let files = match Q::Input::TWO_SETS {
            true => raw.group()?,
            false => KernelPaths { paths: raw.group::<Paths>()?.paths, ..KernelPaths::default() },
        };
        if !Q::Input::TWO_SETS {
            required("paths", &files.paths)?;
        }
        let in_two = !files.normal.is_empty() || !files.sample.is_empty();
        if in_two && !files.paths.is_empty() {
            return Err(ParamsError::new(
                "name traces that hold both sets as paths, or normal and sample, but not all",
            ));
        }
        Ok(KernelCall { files, question: Q::from_raw(raw)? })
    }
}

fn required(name: &str, paths: &[String]) -> Result<(), ParamsError> {
    match paths.is_empty() {
        true => {
            Err(ParamsError::new(format_args!("{name} is missing: a list of files, folders, or patterns")))
        }
        false => Ok(()),
    }
}

/// A list of paths.
fn paths(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

const TRACES: &str = "Files, folders, or patterns of traces; formats are recognized, archives unpacked";

pub(super) fn diagnose_tool() -> Tool {
    let about_samples = "Samples of CPU of the same time and half an hour or more before it: they say whether slow calls compute or wait";
    let files = [
        ("paths", paths(TRACES)),
        (
            "baseline",
            paths("Compare with these: files, folders, or patterns of an earlier time or another release"),
        ),
        ("samples", paths(about_samples)),
    ];
    let tool = with_group(tool::<DiagnoseParams>("diagnose", DIAGNOSE_QUESTION), schema::<Inputs>("inputs"));
    with_files(with_group(tool, schema::<Weights>("weights")), &files, &["paths"])
}

pub(super) fn compare_tool() -> Tool {
    let files = [
        ("before", paths("The set before: files, folders, or patterns of traces")),
        ("after", paths("The set after")),
        (
            "paths",
            paths(
                "One data set instead of two, with since: what is before that time is compared with what is after it",
            ),
        ),
    ];
    with_files(
        with_group(tool::<CompareParams>("compare", COMPARE_QUESTION), schema::<Inputs>("inputs")),
        &files,
        &[],
    )
}

pub(super) fn sample_tool<Q: SampleQuestion>() -> Tool {
    let Declaration { name, question, .. } = Q::DECLARATION;
    let about = "Files, folders, or patterns of samples, traces, or access logs, in any mixture; formats are recognized";
    with_files(tool::<SampleQuery<Q>>(name, question), &[("paths", paths(about))], &["paths"])
}

pub(super) fn kernel_tool<Q: KernelQuestion>() -> Tool {
    let Declaration { name, question, .. } = Q::DECLARATION;
    let tool = tool::<Q>(name, question);
    if !Q::Input::TWO_SETS {
        return with_files(tool, &[("paths", paths("Kernel traces: files, or folders of CTF"))], &["paths"]);
    }
    let files = [
        ("normal", paths("Kernel traces of normal executions")),
        ("sample", paths("Kernel traces of the executions in question")),
        (
            "paths",
            paths(
                "Instead of these two, kernel traces that hold both sets, distinguished by windows or labels",
            ),
        ),
    ];
    with_files(tool, &files, &[])
}

fn with_files(mut tool: Tool, files: &[(&str, Value)], required: &[&str]) -> Tool {
    tool.input_schema = with_properties(tool.input_schema, files, required);
    tool
}

/// Adds the parameters of another group.
fn with_group(mut tool: Tool, group: Value) -> Tool {
    let group = input_schema(group);
    for (name, property) in group["properties"].as_object().into_iter().flatten() {
        tool.input_schema["properties"][name] = property.clone();
    }
    tool
}

#[cfg(test)]
mod tests {
    use super::*;
    use laggard_params::{ChangesParams, KernelDiagnoseParams, KernelPathParams};

    fn error<C: FromParams>(arguments: Value) -> String {
        C::from_json(arguments).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn paths_are_read_beside_parameters() {
        let call = DiagnoseCall::from_json(
            json!({"paths": ["a"], "baseline": ["b"], "top": 3, "format": "zipkin", "cv-min": 2}),
        );
        let call = call.unwrap();
        assert_eq!((call.files.paths, call.files.baseline), (vec!["a".to_owned()], vec!["b".to_owned()]));
        assert_eq!(
            (call.question.top.to_string(), call.inputs.format.as_deref()),
            ("3".to_owned(), Some("zipkin"))
        );
        let call = KernelCall::<KernelDiagnoseParams>::from_json(json!({"normal": ["a"], "sample": ["b"]}));
        assert_eq!(call.unwrap().files.sample, ["b"]);
    }

    #[test]
    fn errors_state_what_is_missing() {
        assert!(error::<DiagnoseCall>(json!({})).starts_with("paths is missing"));
        assert!(error::<DiagnoseCall>(json!({"paths": "a"})).starts_with("paths: invalid type"));
        assert!(error::<SampleCall<ChangesParams>>(json!({"paths": []})).starts_with("paths is missing"));
        assert!(
            error::<SampleCall<ChangesParams>>(json!({"paths": ["a"], "path": 1}))
                .contains("did you mean paths?")
        );
        for arguments in
            [json!({}), json!({"before": ["a"]}), json!({"before": ["a"], "after": ["b"], "paths": ["c"]})]
        {
            assert!(error::<CompareCall>(arguments.clone()).contains("the two sets"), "{arguments}");
        }
        assert!(
            error::<KernelCall<KernelPathParams>>(json!({"paths": ["a"], "normal": ["b"]}))
                .contains("no setting")
        );
        let both = json!({"paths": ["a"], "normal": ["b"], "sample": ["c"]});
        assert!(error::<KernelCall<KernelDiagnoseParams>>(both).contains("but not all"));
    }

    #[test]
    fn every_parameter_of_a_tool_is_read() {
        let some = |property: &Value| match property["type"].as_str() {
            Some("array") => json!([]),
            _ => Value::Null,
        };
        let check = |tool: Tool, read: fn(Value) -> Option<String>| {
            for (name, property) in tool.input_schema["properties"].as_object().unwrap() {
                let mut arguments = json!({"paths": ["a"]});
                if name != "paths" {
                    arguments[name] = some(property);
                }
                assert_eq!(read(arguments), None, "{} {name}", tool.name);
            }
        };
        fn read<C: FromParams>(arguments: Value) -> Option<String> {
            C::from_json(arguments).err().map(|error| error.to_string())
        }
        check(diagnose_tool(), read::<DiagnoseCall>);
        check(compare_tool(), read::<CompareCall>);
        check(sample_tool::<ChangesParams>(), read::<SampleCall<ChangesParams>>);
        check(kernel_tool::<KernelPathParams>(), read::<KernelCall<KernelPathParams>>);
        check(kernel_tool::<KernelDiagnoseParams>(), read::<KernelCall<KernelDiagnoseParams>>);
    }
}
