//! Pictures of many small parts: heat maps, lanes of segments, nested frames.

use super::{Color, LegendEntry, Prose};
use serde::Serialize;
use utoipa::ToSchema;

/// Colored cells in rows and columns.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct HeatMap {
    /// Text alternative for assistive technology.
    pub caption: String,
    /// Titles of the rows.
    pub rows: Vec<Prose>,
    /// Titles of the columns; an empty one is not shown.
    pub columns: Vec<Prose>,
    /// TableRow by row; `null` where there is nothing.
    pub cells: Vec<Option<HeatCell>>,
    /// Meaning of each color.
    pub legend: Vec<LegendEntry>,
    /// Meaning of a frame; empty when nothing is framed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub frame_label: String,
    /// Meaning of a cell without content.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub empty_label: String,
}

/// One cell.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct HeatCell {
    /// Its color.
    pub color: Color,
    /// Its words; empty for cells that need none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// A letter in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<char>,
    /// Whether it is framed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub framed: bool,
    /// Whether it is paler than others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pale: bool,
}

/// Lanes of colored segments over time. Times are nanoseconds from its start.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Timeline {
    /// Text alternative for assistive technology.
    pub caption: String,
    /// Its length.
    pub elapsed_ns: u64,
    /// Titles of the lanes.
    pub lanes: Vec<Prose>,
    /// By start.
    pub segments: Vec<TimelineSegment>,
    /// From one lane to another.
    pub jumps: Vec<TimelineJump>,
    /// Meaning of each color.
    pub legend: Vec<LegendEntry>,
}

/// One segment of a lane.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TimelineSegment {
    /// Index of its lane.
    pub lane: u32,
    /// Its start.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Its color.
    pub color: Color,
    /// The letter that says the same.
    pub symbol: char,
    /// Text shown under the pointer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// A line from one lane to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct TimelineJump {
    /// When.
    pub at_ns: u64,
    /// Index of the lane it starts from.
    pub from: u32,
    /// Index of the lane it leads to.
    pub to: u32,
    /// Whether it is dashed: a packet, not a wake-up.
    pub dashed: bool,
}

/// Nested frames: widths are shares of the whole, callers stand above what they call.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Flame {
    /// Text alternative for assistive technology.
    pub caption: String,
    /// Callers before callees.
    pub frames: Vec<Frame>,
    /// Meaning of each color.
    pub legend: Vec<LegendEntry>,
}

/// One frame.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct Frame {
    /// Its left end, 0 to 1.
    pub from: f64,
    /// Its width, 0 to 1.
    pub width: f64,
    /// Rows above it.
    pub depth: u32,
    /// Its color.
    pub color: Color,
    /// Its label.
    pub label: Prose,
    /// Text shown under the pointer.
    pub words: String,
}
