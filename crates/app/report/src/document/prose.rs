//! Running text with names in it.

use crate::Window;
use crate::names::{self, SentencePart};
use serde::Serialize;
use utoipa::ToSchema;

/// Columns a name is shortened to: names can be megabytes long.
const NAME_ROOM: usize = 500;

/// Text made of spans. In JSON it is the list of its spans.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
#[serde(transparent)]
pub struct Prose(pub Vec<Span>);

/// Text of one style. Control characters and direction marks are spelled out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct Span {
    /// The text.
    pub text: String,
    /// Its style.
    #[serde(skip_serializing_if = "SpanStyle::is_plain")]
    pub style: SpanStyle,
    /// The id of the section or block of the document it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The page of the service it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<PageLink>,
}

/// A page of the service; documents outside of it show the text alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(tag = "to", rename_all = "kebab-case")]
pub enum PageLink {
    /// The requests of a category.
    Category {
        /// Its id.
        id: String,
        /// A position of its call tree.
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<u32>,
    },
    /// A trace.
    Trace {
        /// Its id.
        id: String,
        /// The suspect that it is an example of.
        #[serde(skip_serializing_if = "Option::is_none")]
        suspect: Option<TraceSuspect>,
    },
    /// The diagnosis of an interval, compared with the interval before it.
    Diagnosis {
        /// Nanoseconds since the Unix epoch.
        since_ns: i64,
        /// Nanoseconds since the Unix epoch.
        until_ns: i64,
    },
    /// The critical paths of the executions that a delimiter yields.
    Executions {
        /// The delimiter, as `--executions` accepts it.
        delimiter: String,
    },
}

impl PageLink {
    pub(crate) const fn diagnosis(time: Window) -> PageLink {
        PageLink::Diagnosis { since_ns: time.since.unix_ns(), until_ns: time.until.unix_ns() }
    }
}

/// What to look at in a trace: the calls of an operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct TraceSuspect {
    /// Service.
    pub service: String,
    /// Operation.
    pub operation: String,
    /// When its calls took their usual time, if it was compared with another time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usual: Option<Window>,
}

/// The style of a span. Names come from the input; outputs may shorten them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpanStyle {
    /// Words.
    #[default]
    Plain,
    /// Words that matter most.
    Strong,
    /// Words that matter least.
    Faint,
    /// A name of some other kind: a transaction, a thread, a file.
    Name,
    /// A service.
    Service,
    /// An operation.
    Operation,
    /// A replica, server, or host.
    Replica,
    /// A span kind or another label.
    Label,
    /// The id of a request category.
    Category,
    /// The id of a trace.
    Trace,
}

impl SpanStyle {
    fn is_plain(&self) -> bool {
        *self == SpanStyle::Plain
    }

    /// Whether it comes from the input.
    pub(crate) const fn is_name(self) -> bool {
        !matches!(self, SpanStyle::Plain | SpanStyle::Strong | SpanStyle::Faint)
    }
}

impl From<&str> for Prose {
    fn from(text: &str) -> Prose {
        Prose::default().plain(text)
    }
}

impl From<String> for Prose {
    fn from(text: String) -> Prose {
        Prose::default().plain(text)
    }
}

impl Prose {
    /// A sentence with names in backticks; an unpaired backtick makes all of it plain.
    pub(crate) fn quoted(sentence: &str) -> Prose {
        let span = |part| match part {
            SentencePart::Prose(text) => Span { text, style: SpanStyle::Plain, link: None, page: None },
            SentencePart::Quoted(text) => Span { text, style: SpanStyle::Name, link: None, page: None },
        };
        Prose(names::parts(sentence).into_iter().map(span).collect())
    }

    /// A name of the input.
    pub(crate) fn name(style: SpanStyle, name: &str) -> Prose {
        Prose::default().named(style, name)
    }

    /// `service operation`
    pub(crate) fn operation(service: &str, operation: &str) -> Prose {
        let prose = Prose::default();
        let prose =
            if service.is_empty() { prose } else { prose.named(SpanStyle::Service, service).plain(" ") };
        prose.named(SpanStyle::Operation, operation)
    }

    /// The first names, and how many are left: `a, b, c and 4 more`.
    pub(crate) fn names(style: SpanStyle, names: &[String], limit: usize) -> Prose {
        let mut prose = Prose::default();
        for (index, name) in names.iter().take(limit).enumerate() {
            prose = if index > 0 { prose.plain(", ") } else { prose }.named(style, name);
        }
        match names.len().saturating_sub(limit) {
            0 => prose,
            omitted => prose.plain(format!(" and {} more", crate::numbers::count(omitted as u64))),
        }
    }

    pub(crate) fn plain(self, text: impl AsRef<str>) -> Prose {
        self.with(SpanStyle::Plain, text.as_ref())
    }

    pub(crate) fn strong(self, text: impl AsRef<str>) -> Prose {
        self.with(SpanStyle::Strong, text.as_ref())
    }

    pub(crate) fn faint(self, text: impl AsRef<str>) -> Prose {
        self.with(SpanStyle::Faint, text.as_ref())
    }

    /// Followed by a name of the input.
    pub(crate) fn named(self, style: SpanStyle, name: &str) -> Prose {
        let prose = self.with(style, &names::label(name, NAME_ROOM));
        match style {
            SpanStyle::Category => prose.page(PageLink::Category { id: name.to_owned(), position: None }),
            SpanStyle::Trace => prose.page(PageLink::Trace { id: name.to_owned(), suspect: None }),
            _ => prose,
        }
    }

    /// Followed by more.
    pub(crate) fn then(mut self, more: Prose) -> Prose {
        self.0.extend(more.0);
        self
    }

    /// The last span leads to a section or block.
    pub(crate) fn linked(mut self, id: Option<&str>) -> Prose {
        if let Some(last) = self.0.last_mut() {
            last.link = id.map(str::to_owned);
        }
        self
    }

    /// The last span leads to a page of the service.
    pub(crate) fn page(mut self, page: PageLink) -> Prose {
        if let Some(last) = self.0.last_mut() {
            last.page = Some(page);
        }
        self
    }

    /// Its traces are examples of a suspect.
    pub(crate) fn examples_of(mut self, of: &TraceSuspect) -> Prose {
        for span in &mut self.0 {
            if let Some(PageLink::Trace { suspect, .. }) = &mut span.page {
                *suspect = Some(of.clone());
            }
        }
        self
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bare text.
    pub fn text(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }

    fn with(mut self, style: SpanStyle, text: &str) -> Prose {
        if text.is_empty() {
            return self;
        }
        let text = names::visible(text).into_owned();
        match self.0.last_mut() {
            Some(last)
                if last.style == style && !style.is_name() && last.link.is_none() && last.page.is_none() =>
            {
                last.text += &text
            }
            _ => self.0.push(Span { text, style, link: None, page: None }),
        }
        self
    }
}
