//! Requests × calls matrices with the cause of every request.

use super::{Group, SetKind, entries, file_name};
use crate::patterns::{NaturalModes, load};
use crate::run::Runner;
use std::path::Path;

pub(super) fn visit(folder: &Path, runner: &mut Runner<'_>) -> Result<(), String> {
    if !runner.wants_set(SetKind::Delag) {
        return Ok(());
    }
    let files = entries(folder)?.into_iter().filter(|path| path.is_file());
    for (path, seed) in files.zip(runner.seeds().start..) {
        let name = file_name(&path);
        if !(name.ends_with(".csv") || name.ends_with(".csv.zst")) || name.starts_with("spans.") {
            continue;
        }
        let system = system_of(name);
        let group = Group::new(SetKind::Delag, system);
        let variant = |what: &str| Group::new(SetKind::Delag, &format!("{system}, {what}"));
        let normal = variant("only requests that nothing hit");
        let delayed = NaturalModes::ALL.map(|modes| (variant(modes.name()), modes));
        let groups = [&group, &normal].into_iter().chain(delayed.iter().map(|(group, _)| group));
        if !groups.into_iter().any(|group| runner.wants(group)) {
            continue;
        }
        let Some(matrix) = load(&path)? else { continue };
        runner.find_patterns(&group, &matrix);
        runner.find_patterns(&normal, &matrix.only_normal());
        for (group, modes) in delayed {
            if let Some(delayed) = matrix.with_delays(seed, modes) {
                runner.find_patterns(&group, &delayed);
            }
        }
    }
    Ok(())
}

/// `eshopper` for `eshopper-003.csv.zst`: files of one system differ by a number.
fn system_of(name: &str) -> &str {
    let stem = name.split('.').next().unwrap_or_default();
    stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_system_differ_by_a_number() {
        assert_eq!(system_of("eshopper-003.csv.zst"), "eshopper");
        assert_eq!(system_of("train-ticket-12.csv"), "train-ticket");
        assert_eq!(system_of("other.csv"), "other");
    }
}
