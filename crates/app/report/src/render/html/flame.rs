//! Flame graphs: nested frames, callers above what they call.

use super::legend;
use crate::document::{Flame, Frame};
use maud::{Markup, html};

/// Height of a frame with the gap below it, in pixels.
const ROW: u32 = 20;

/// Frames narrower than this share have no text at first.
const NARROW: f64 = 0.03;

pub(super) fn flame(flame: &Flame, key: &str) -> Markup {
    let rows = flame.frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(0);
    let id = format!("flame-{key}");
    html! {
        (legend(&flame.legend))
        div.flame role="region" aria-label=(flame.caption) tabindex="0" {
            svg.flames role="img" aria-labelledby=(id) width="100%" height=(rows * ROW) {
                title #(id) { (flame.caption) }
                @for frame in &flame.frames { (self::frame(frame)) }
            }
        }
        output.readout hidden aria-live="polite" {}
    }
}

fn frame(frame: &Frame) -> Markup {
    let percent = |share: f64| format!("{:.3}%", share * 100.0);
    let class = if frame.width < NARROW { "frame narrow" } else { "frame" };
    html! {
        svg class=(class) x=(percent(frame.from)) y=(frame.depth * ROW) width=(percent(frame.width)) height="19" aria-hidden="true" {
            title { (frame.words) }
            rect class=(frame.color.class()) width="100%" height="19" {}
            text x="4" y="14" { (frame.label.text()) }
        }
    }
}
