//! A report as blocks: what is said, in which words and in which order, before it becomes text, Markdown, or HTML.
//!
//! ```text
//! Document ── verdict, headline, figures
//!    └─ Section*  id, title, remark
//!         └─ Block*  title, folded or open, level of detail
//!              └─ BlockContent: Sentences | Table | Tree | HeatMap | Chart | Timeline | Flame
//! ```
//!
//! Names and numbers are worded when a block is made, so every output shows the same words; a [`Cell`] keeps the
//! number behind its text for sorting. Names of the input are safe to show, but not escaped for any language.

mod cell;
mod chart;
mod color;
mod maps;
mod prose;
mod table;

pub use cell::{Cell, CellKind, Graphic, GraphicMark, GraphicShape, Lane};
pub(crate) use chart::round_up;
pub use chart::{Axis, Chart, ChartMark, Level, MarkStyle, Panel, Scale, Series, SeriesShape, Tick};
pub use color::{Color, LegendEntry};
pub use maps::{Flame, Frame, HeatCell, HeatMap, Timeline, TimelineJump, TimelineSegment};
pub use prose::{PageLink, Prose, Span, SpanStyle, TraceSuspect};
pub(crate) use table::columns;
pub use table::{Column, ColumnKind, Emphasis, Filter, Note, Table, TableRow};

use crate::names;
use laggard_model::Losses;
use serde::Serialize;
use utoipa::ToSchema;

/// A report, ready to be shown.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Document {
    /// The verdict's meaning for its reader.
    pub tone: Tone,
    /// The verdict in one or two words.
    pub verdict: String,
    /// The answer in a sentence or two.
    pub headline: Prose,
    /// Further sentences that belong to the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Prose>,
    /// The time covered, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The time covered, where its ends are instants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<crate::Window>,
    /// The most important numbers, for pages.
    pub figures: Vec<Figure>,
    /// From the answer down to what it is based on.
    pub sections: Vec<Section>,
}

impl Document {
    /// A verdict with its meaning, the answer with names in backticks, and the sections that there are.
    pub(crate) fn new(
        (tone, verdict): (Tone, &str),
        headline: &str,
        sections: impl IntoIterator<Item = Option<Section>>,
    ) -> Document {
        Document {
            tone,
            verdict: verdict.to_owned(),
            headline: Prose::quoted(headline),
            remarks: Vec::new(),
            time: None,
            window: None,
            figures: Vec::new(),
            sections: sections.into_iter().flatten().collect(),
        }
    }
}

/// Meaning for the reader; shown by color, never by color alone.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Neither good nor bad.
    #[default]
    Neutral,
    /// Something is wrong, or got worse.
    Bad,
    /// All is well, or got better.
    Good,
    /// Something needs attention, but is not clearly wrong.
    Warning,
    /// It is not known, or limits trust.
    Unsure,
}

impl Tone {
    pub(crate) fn is_neutral(&self) -> bool {
        *self == Tone::Neutral
    }
}

/// Which outputs show something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// All, the forty lines of Markdown included.
    #[default]
    Summary,
    /// Text and pages.
    Full,
    /// Pages only.
    Page,
}

impl Detail {
    pub(crate) fn is_summary(&self) -> bool {
        *self == Detail::Summary
    }
}

/// A number at the top of a page.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Cell,
    /// Text after the value in smaller type: `of 24,000`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

impl Figure {
    pub(crate) fn new(name: &str, value: Cell, remark: impl Into<String>) -> Figure {
        Figure { name: name.to_owned(), value, remark: remark.into() }
    }
}

/// Blocks under a title.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Section {
    /// Unique in its document: lower case, hyphens.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Half a line about it, shown beside the title in text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remark: String,
    /// How to read it, for pages; the remark where this is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub introduction: String,
    /// `unsure` for what limits trust in the answer.
    #[serde(skip_serializing_if = "Tone::is_neutral")]
    pub tone: Tone,
    /// Which outputs show it.
    #[serde(skip_serializing_if = "Detail::is_summary")]
    pub detail: Detail,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

impl Section {
    pub(crate) fn new(id: &str, title: impl Into<String>) -> Section {
        Section {
            id: id.to_owned(),
            title: title.into(),
            remark: String::new(),
            introduction: String::new(),
            tone: Tone::Neutral,
            detail: Detail::Summary,
            blocks: Vec::new(),
        }
    }

    pub(crate) fn remark(mut self, remark: impl Into<String>) -> Section {
        self.remark = remark.into();
        self
    }

    pub(crate) fn introduction(mut self, introduction: impl Into<String>) -> Section {
        self.introduction = introduction.into();
        self
    }

    pub(crate) const fn tone(mut self, tone: Tone) -> Section {
        self.tone = tone;
        self
    }

    pub(crate) const fn detail(mut self, detail: Detail) -> Section {
        self.detail = detail;
        self
    }

    pub(crate) fn block(mut self, block: impl Into<Block>) -> Section {
        self.blocks.push(block.into());
        self
    }

    pub(crate) fn blocks(mut self, blocks: impl IntoIterator<Item = Block>) -> Section {
        self.blocks.extend(blocks);
        self
    }
}

/// A part of a section.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Block {
    /// Its title, or the line that unfolds it.
    #[serde(skip_serializing_if = "Prose::is_empty")]
    pub title: Prose,
    /// Whether and how a page folds it; text shows folded blocks if their detail says so.
    pub fold: Fold,
    /// The target of links in the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Which outputs show it.
    #[serde(skip_serializing_if = "Detail::is_summary")]
    pub detail: Detail,
    /// Content.
    pub content: BlockContent,
}

/// Whether a page folds a block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// It is always shown.
    #[default]
    Never,
    /// It can be folded, and is open at first.
    Open,
    /// It is folded at first.
    Closed,
    /// It repeats a picture as a table; folded at first, and on paper.
    Alternative,
}

/// The content of a block.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BlockContent {
    /// Sentences, as a list or as paragraphs.
    Sentences(Sentences),
    /// Rows and columns.
    Table(Table),
    /// A table whose rows have a depth.
    Tree(Table),
    /// Colored cells in rows and columns.
    HeatMap(HeatMap),
    /// Curves, bars, and dots over a common axis.
    Chart(Chart),
    /// Lanes of colored segments over time.
    Timeline(Timeline),
    /// Nested frames, callers above callees.
    Flame(Flame),
}

impl<C: Into<BlockContent>> From<C> for Block {
    fn from(content: C) -> Block {
        let content = content.into();
        Block { title: Prose::default(), fold: Fold::Never, id: None, detail: Detail::Summary, content }
    }
}

impl Block {
    pub(crate) fn titled(mut self, title: impl Into<Prose>) -> Block {
        self.title = title.into();
        self
    }

    /// With the line that unfolds it.
    pub(crate) fn folded(mut self, fold: Fold, summary: impl Into<Prose>) -> Block {
        self.fold = fold;
        self.titled(summary)
    }

    pub(crate) fn id(mut self, id: impl Into<String>) -> Block {
        self.id = Some(id.into());
        self
    }

    pub(crate) const fn detail(mut self, detail: Detail) -> Block {
        self.detail = detail;
        self
    }
}

macro_rules! content_from {
    ($($kind:ident),*) => {
        $(impl From<$kind> for BlockContent {
            fn from(content: $kind) -> BlockContent {
                BlockContent::$kind(content)
            }
        })*
    };
}

content_from!(Sentences, Table, HeatMap, Chart, Timeline, Flame);

/// Sentences of one sort.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Sentences {
    /// The sort of each, for outputs that list several sorts together: `Caution`. Paragraphs when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The tone of the mark before each.
    #[serde(skip_serializing_if = "Tone::is_neutral")]
    pub tone: Tone,
    /// The sentences.
    pub sentences: Vec<Prose>,
}

impl Sentences {
    /// A list.
    pub(crate) fn list(label: &str, tone: Tone, sentences: impl IntoIterator<Item = Prose>) -> Sentences {
        Sentences { label: label.to_owned(), tone, sentences: sentences.into_iter().collect() }
    }

    /// A list of sentences with names in backticks.
    pub(crate) fn quoted_list(label: &str, tone: Tone, sentences: &[String]) -> Sentences {
        Sentences::list(label, tone, sentences.iter().map(|text| Prose::quoted(text)))
    }

    pub(crate) fn paragraphs(sentences: impl IntoIterator<Item = Prose>) -> Sentences {
        Sentences::list("", Tone::Neutral, sentences)
    }
}

/// The section about what limits trust in the answer; none without cautions.
pub(crate) fn cautions(cautions: &[String]) -> Option<Section> {
    list_section("cautions", "Cautions", "Caution", Tone::Unsure, cautions)
}

/// The section about what would have been needed for an answer; none when nothing is missing.
pub(crate) fn missing(missing: &[String]) -> Option<Section> {
    list_section("missing", "What is missing", "Missing", Tone::Unsure, missing)
}

/// The same, without the first where the headline already says it.
pub(crate) fn further_missing(in_headline: bool, all: &[String]) -> Option<Section> {
    missing(&all[usize::from(in_headline).min(all.len())..])
}

/// The section about what was examined without a finding; none when there is nothing.
pub(crate) fn ruled_out(ruled_out: &[String]) -> Option<Section> {
    list_section("ruled-out", "Ruled out, or not tested", "Ruled out", Tone::Good, ruled_out)
}

fn list_section(id: &str, title: &str, label: &str, tone: Tone, sentences: &[String]) -> Option<Section> {
    let shown = if tone == Tone::Unsure { Tone::Unsure } else { Tone::Neutral };
    let list = Sentences::quoted_list(label, tone, sentences);
    (!sentences.is_empty()).then(|| Section::new(id, title).tone(shown).block(list))
}

/// The section about losses, which pages always show.
pub(crate) fn losses(losses: &Losses) -> Section {
    let section = Section::new("losses", "Lost, repaired, or doubtful");
    if losses.is_empty() {
        let nothing = Sentences::paragraphs([Prose::from("Nothing: every record was read and used.")]);
        return section.detail(Detail::Page).block(nothing);
    }
    let mut rows: Vec<_> = losses.iter().collect();
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.count));
    let sentence = |(loss, row): &(laggard_model::Loss, &laggard_model::LossCount)| {
        let prose = Prose::default().strong(crate::numbers::count(row.count)).plain(" ").plain(loss.phrase());
        if row.example.is_empty() {
            return prose;
        }
        prose.faint(" (e.g. ").faint(names::label(&row.example, 120)).faint(")")
    };
    section.block(Sentences::list("Lost, repaired, or doubtful", Tone::Unsure, rows.iter().map(sentence)))
}
