//! Probes on functions of programs: made before recording, removed after.

use super::buffer::refused;
use super::stale;
use super::tracefs::Tracefs;
use super::undo::{Restorer, UndoAction};
use crate::elf::function_offset;
use crate::error::RecordError;
use crate::events::EventName;
use crate::settings::Uprobe;

/// The file that probes are written to.
const PROBES: &str = "uprobe_events";

/// Makes two probes for each function, `NAME` at its begin and `NAME_return` at its end; their events.
pub(super) fn create(
    tracefs: &Tracefs,
    restorer: &mut Restorer,
    uprobes: &[Uprobe],
) -> Result<Vec<EventName>, RecordError> {
    let system = stale::probe_group();
    let mut events: Vec<EventName> = Vec::new();
    for uprobe in uprobes {
        let binary = uprobe
            .binary
            .canonicalize()
            .map_err(|source| RecordError::Command { program: uprobe.binary.clone(), source })?;
        let offset = function_offset(&binary, &uprobe.function)
            .map_err(|error| RecordError::Impossible { reason: format!("{}: {error}", binary.display()) })?;
        let is_taken = |name: &str| events.iter().any(|event| event.name == name);
        let name = event_name(&uprobe.function, is_taken);
        for (kind, name) in [('p', name.clone()), ('r', format!("{name}_return"))] {
            let removal = format!("-:{system}/{name}");
            restorer.before(UndoAction::Append { file: PROBES.to_owned(), value: removal })?;
            let probe = format!("{kind}:{system}/{name} {}:{offset:#x}", binary.display());
            tracefs
                .append(PROBES, &probe)
                .map_err(|source| refused(&format!("the probe '{probe}' failed"), source))?;
            events.push(EventName { system: system.clone(), name });
        }
    }
    Ok(events)
}

/// A valid name that is not in use: letters, digits, and `_`, at most 40 bytes.
fn event_name(function: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let safe = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let mut name: String = function.chars().map(safe).take(40).collect();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name.insert(0, 'f');
    }
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !is_taken(name)).expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_names_are_valid_for_the_kernel() {
        assert_eq!(event_name("handle", |_| false), "handle");
        assert_eq!(event_name("ns::f<u8>", |_| false), "ns__f_u8_");
        assert_eq!(event_name("0x12a", |_| false), "f0x12a");
        assert_eq!(event_name("a", |name| name == "a"), "a_2");
        assert_eq!(event_name(&"x".repeat(100), |_| false).len(), 40);
    }
}
