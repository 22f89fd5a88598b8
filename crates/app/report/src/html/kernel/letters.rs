//! Colors and letters of states.

use super::super::markup::Markup;
use crate::kernel::KernelState;

/// The class that colors a shape of a state.
pub(super) const fn class(state: KernelState) -> &'static str {
    match state {
        KernelState::Running => "s-run",
        KernelState::Preempted => "s-pre",
        KernelState::Blocked => "s-blk",
        KernelState::Network => "s-net",
        KernelState::BlockDevice => "s-dsk",
        KernelState::Timer => "s-tim",
        KernelState::Interrupted => "s-int",
        KernelState::Ipi => "s-ipi",
        KernelState::UserInput => "s-usr",
        KernelState::Unknown => "s-unk",
    }
}

/// The letter of a state, so that nothing is told by color alone.
pub(super) const fn letter(state: KernelState) -> char {
    match state {
        KernelState::Running => 'R',
        KernelState::Preempted => 'P',
        KernelState::Blocked => 'B',
        KernelState::Network => 'N',
        KernelState::BlockDevice => 'D',
        KernelState::Timer => 'T',
        KernelState::Interrupted => 'I',
        KernelState::Ipi => 'X',
        KernelState::UserInput => 'U',
        KernelState::Unknown => '?',
    }
}

/// What the colors mean, of the states that occur.
pub(super) fn legend(m: &mut Markup, states: impl Iterator<Item = KernelState>) {
    let mut occur: Vec<KernelState> = states.collect();
    occur.sort_unstable();
    occur.dedup();
    m.raw("<ul class=\"legend\" aria-label=\"Legend\">\n");
    for state in occur {
        m.open("li", &[]);
        m.raw("<svg width=\"16\" height=\"12\" aria-hidden=\"true\">");
        m.shape("rect", class(state), &[("width", 16.0), ("height", 12.0)]);
        m.close("svg");
        m.text(&format!("{} {}", letter(state), state.word()));
        m.close("li");
    }
    m.close("ul");
}
