//! Answers to questions, in every form.

use super::problem::{ApiError, ProblemKind};
use crate::security::REPORT_POLICY;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use laggard_report::{ColorChoice, DeclaredReport, Output, Present, TextStyle, render};
use serde::Deserialize;
use std::any::Any;
use std::io;
use utoipa::IntoParams;

/// A header with the verdict in one word.
pub(crate) const VERDICT: HeaderName = HeaderName::from_static("laggard-verdict");

/// The answer to a question: its report, of any type.
pub(crate) struct Answer {
    verdict: String,
    report: Box<dyn AnyReport>,
}

trait AnyReport: Any + Send + Sync {
    fn write(&self, form: &Form, out: &mut dyn io::Write) -> io::Result<()>;
}

impl<R: Present + Send + Sync + 'static> AnyReport for R {
    fn write(&self, Form { output, style }: &Form, out: &mut dyn io::Write) -> io::Result<()> {
        render(*output, self, style, out)
    }
}

/// The requested form of an answer.
#[derive(Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FormParameters {
    /// Form of the report: json if absent.
    #[param(inline)]
    pub(crate) output: Option<Output>,
    /// Columns of text, 40 to 500; 100 if absent.
    #[param(minimum = 40, maximum = 500)]
    pub(crate) width: Option<u16>,
    /// Whether text has colors.
    pub(crate) color: Option<bool>,
}

/// The requested form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    output: Output,
    style: TextStyle,
}

/// Width of text that goes to no terminal, and what a terminal may have.
const WIDTH: u16 = 100;
const WIDTHS: std::ops::RangeInclusive<u16> = 40..=500;

impl FormParameters {
    pub(crate) fn form(self) -> Result<Form, ApiError> {
        let width = self.width.unwrap_or(WIDTH);
        if !WIDTHS.contains(&width) {
            return Err(ApiError::invalid("width must be a whole number from 40 to 500"));
        }
        let output = self.output.unwrap_or(Output::Json);
        let color = if self.color == Some(true) { ColorChoice::On } else { ColorChoice::Off };
        Ok(Form { output, style: TextStyle { color, width } })
    }
}

impl Answer {
    pub(crate) fn from_report(report: impl DeclaredReport + Send + Sync + 'static) -> Answer {
        Answer { verdict: report.verdict(), report: Box::new(report) }
    }

    /// The report, if it is of this type.
    pub(crate) fn report<R: 'static>(&self) -> Option<&R> {
        let report: &dyn Any = &*self.report;
        report.downcast_ref()
    }

    /// The verdict in one word, as the JSON has it.
    pub(crate) fn verdict(&self) -> &str {
        &self.verdict
    }

    /// The bytes of a form.
    ///
    /// # Errors
    /// None that a `Vec` has; it is our own fault if there is one.
    pub(crate) fn render(&self, form: &Form) -> Result<Vec<u8>, ApiError> {
        let mut out = Vec::new();
        let failed = |error: io::Error| ApiError::new(ProblemKind::Internal, error);
        self.report.write(form, &mut out).map_err(failed)?;
        Ok(out)
    }

    /// The answer as a response.
    pub(crate) fn respond(&self, form: &Form) -> Result<Response, ApiError> {
        let mut response = self.render(form)?.into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(form.output.media_type()));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if form.output == Output::Html {
            // The page is made of names that others chose: here it must not reach the API with the reader's rights.
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
        }
        if let Ok(verdict) = HeaderValue::from_str(&self.verdict) {
            headers.insert(VERDICT, verdict);
        }
        Ok(response)
    }
}
