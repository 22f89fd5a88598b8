//! Probes on functions of programs: made before recording, removed after.

use super::buffer::refused;
use super::stale;
use super::tracefs::Tracefs;
use super::undo::{Restorer, UndoAction};
use crate::error::RecordError;
use crate::events::EventName;
use crate::settings::Uprobe;
use laggard_elf::function_offset;
use laggard_model::ProbedFunction;
use std::collections::BTreeSet;

/// The file that probes are written to.
const PROBES: &str = "uprobe_events";
/// The file with the number of calls of each probe.
const PROFILE: &str = "uprobe_profile";

/// The probes of a recording.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Their events.
    pub(super) events: Vec<EventName>,
    /// Their functions.
    pub(super) functions: Vec<ProbedFunction>,
}

/// Makes two probes for each function, `NAME` at its begin and `NAME_return` at its end.
pub(super) fn create(
    tracefs: &Tracefs,
    restorer: &mut Restorer,
    uprobes: &[Uprobe],
) -> Result<Probes, RecordError> {
    let system = stale::probe_group();
    let mut probes = Probes::default();
    let mut places = BTreeSet::new();
    for uprobe in uprobes {
        let impossible = |reason| RecordError::Impossible {
            reason: format!("--uprobe {}:{}: {reason}", uprobe.binary.display(), uprobe.function),
        };
        let binary = uprobe.binary.canonicalize().map_err(|error| impossible(error.to_string()))?;
        let offset =
            function_offset(&binary, &uprobe.function).map_err(|error| impossible(error.to_string()))?;
        // Two probes on one function would make each call its own callee.
        if !places.insert((binary.clone(), offset)) {
            continue;
        }
        let is_taken = |name: &str| {
            probes.events.iter().any(|event| event.name == name || event.name == return_of(name))
        };
        let name = event_name(&uprobe.function, is_taken);
        for (kind, name) in [('p', name.clone()), ('r', return_of(&name))] {
            let removal = format!("-:{system}/{name}");
            restorer.before(UndoAction::Append { file: PROBES.to_owned(), value: removal })?;
            let probe = format!("{kind}:{system}/{name} {}:{offset:#x}", binary.display());
            tracefs
                .append(PROBES, &probe)
                .map_err(|source| refused(&format!("the probe '{probe}' failed"), source))?;
            probes.events.push(EventName { system: system.clone(), name });
        }
        let program = binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
        probes.functions.push(ProbedFunction { event: name, program, function: uprobe.function.clone() });
    }
    Ok(probes)
}

/// Functions that were never called, in a sentence; nothing if all were. Probes count the calls of all programs.
pub(super) fn uncalled(tracefs: &Tracefs, functions: &[ProbedFunction]) -> Option<String> {
    let profile = tracefs.text(PROFILE);
    let names: Vec<String> = functions
        .iter()
        .filter(|function| calls_in(&profile, &function.event) == Some(0))
        .map(|function| format!("{}:{}", function.program, function.function))
        .collect();
    let names = names.join(", ");
    (!names.is_empty()).then(|| {
        format!("Never called: {names}. If that cannot be, another file is run, or the compiler has inlined the function.")
    })
}

/// The calls of a probe by the kernel's count, from lines of a file, an event, and a number. Names of files may have blanks, and
/// another recorder may have a probe of this name: then the larger count.
fn calls_in(profile: &str, event: &str) -> Option<u64> {
    let counts = profile.lines().filter_map(|line| {
        let mut words = line.split_whitespace().rev();
        let (hits, name) = (words.next()?, words.next()?);
        (name == event).then(|| hits.parse().ok())?
    });
    counts.max()
}

fn return_of(name: &str) -> String {
    format!("{name}_return")
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
    fn calls_are_counted_by_the_kernel() {
        let profile =
            "  /bin/a b        handle          3\n  /bin/a b        handle_return    2\n  /c handle 0";
        assert_eq!((calls_in(profile, "handle"), calls_in(profile, "handle_return")), (Some(3), Some(2)));
        assert_eq!((calls_in(profile, "b"), calls_in("", "handle")), (None, None));
    }

    #[test]
    fn probe_names_are_valid_for_the_kernel() {
        assert_eq!(event_name("handle", |_| false), "handle");
        assert_eq!(event_name("ns::f<u8>", |_| false), "ns__f_u8_");
        assert_eq!(event_name("0x12a", |_| false), "f0x12a");
        assert_eq!(event_name("a", |name| name == "a"), "a_2");
        assert_eq!(event_name(&"x".repeat(100), |_| false).len(), 40);
    }
}
