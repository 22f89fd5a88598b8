//! Colors by meaning; style sheets say what they look like.

use serde::Serialize;
use utoipa::ToSchema;

/// A color of the palette, as the name of a style sheet's class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[schema(value_type = String, example = "heat-3")]
#[serde(transparent)]
pub struct Color(&'static str);

const HEAT: [&str; 8] = ["heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5", "heat-6", "heat-7"];

const SERIES: [&str; 9] = [
    "series-0", "series-1", "series-2", "series-3", "series-4", "series-5", "series-6", "series-7",
    "series-8",
];

const CHANGE: [&str; 7] = ["less-3", "less-2", "less-1", "same", "more-1", "more-2", "more-3"];

impl Color {
    /// Slow, changed, or found.
    pub const ACCENT: Color = Color("accent");
    /// A lighter accent, for what lies behind it.
    pub const ACCENT_LIGHT: Color = Color("accent-light");
    /// Usual, or before.
    pub const QUIET: Color = Color("quiet");
    /// Better than before.
    pub const GOOD: Color = Color("good");
    /// Backgrounds and grids.
    pub const FAINT: Color = Color("faint");
    /// As text.
    pub const TEXT: Color = Color("ink");
    /// As fainter text.
    pub const MUTED: Color = Color("muted");
    /// As links; observations.
    pub const LINK: Color = Color("link");
    /// Alarms and limits.
    pub const BAD: Color = Color("bad");
    /// Unknown or unexplained.
    pub const UNSURE: Color = Color("unsure");
    /// Backgrounds that distinguish one interval from the next.
    pub const SHADES: [Color; 3] = [Color("shade-1"), Color("shade-2"), Color("shade-3")];
    /// Nothing is drawn.
    pub const NONE: Color = Color("none");
    /// New.
    pub const NEW: Color = Color("fresh");
    /// The states of a thread, in the order of their letters `RPBNDTIXU?Q`.
    pub const STATES: [Color; 11] = [
        Color("s-run"),
        Color("s-pre"),
        Color("s-blk"),
        Color("s-net"),
        Color("s-dsk"),
        Color("s-tim"),
        Color("s-int"),
        Color("s-ipi"),
        Color("s-usr"),
        Color("s-unk"),
        Color("series-3"),
    ];

    /// Step 0 (usual) to 7 of the heat scale.
    pub const fn heat(step: usize) -> Color {
        Color(HEAT[if step < 8 { step } else { 7 }])
    }

    /// One of nine hues that can be distinguished; the last is for everything pooled.
    pub const fn series(index: usize) -> Color {
        Color(SERIES[if index < 9 { index } else { 8 }])
    }

    /// −3 (much less) to 3 (much more).
    pub const fn change(step: i32) -> Color {
        Color(
            CHANGE[(if step < -3 {
                -3
            } else if step > 3 {
                3
            } else {
                step
            } + 3) as usize],
        )
    }

    /// The name of the class.
    pub const fn class(self) -> &'static str {
        self.0
    }
}

/// Meaning of a color in one picture.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct LegendEntry {
    /// The color.
    pub color: Color,
    /// A letter that says the same, or nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// Its meaning.
    pub label: String,
}

impl LegendEntry {
    pub(crate) fn new(color: Color, label: impl Into<String>) -> LegendEntry {
        LegendEntry { color, symbol: String::new(), label: label.into() }
    }
}
