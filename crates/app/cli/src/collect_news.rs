//! What `laggard collect` says of a round.

use laggard_collect::{Round, SourceNews};
use std::io::{self, Write};

/// What comes after a round.
#[derive(Clone, Copy)]
pub(crate) enum Further {
    Rounds,
    Nothing,
}

/// A line for the round and one for each thing that somebody should know. That nobody may be listening changes nothing.
pub(crate) fn tell(number: u64, round: &Round, further: Further) {
    let bytes: u64 = round.sources.iter().map(|news| news.bytes).sum();
    let failed = round.sources.iter().filter(|news| news.failure.is_some()).count();
    let asked = round.sources.len();
    let mut out = io::stderr().lock();
    let waiting =
        if round.waiting > 0 { format!(", {} not asked again yet", round.waiting) } else { String::new() };
    let _ = writeln!(out, "round {number}: {bytes} bytes of {asked} files; {failed} failed{waiting}");
    for news in &round.sources {
        for line in lines(news, further) {
            let _ = writeln!(out, "  {}: {line}", news.name);
        }
    }
}

fn lines(news: &SourceNews, further: Further) -> Vec<String> {
    let mut lines = news.cautions.clone();
    if news.rotations > 0 {
        lines.push("another file is there now".to_owned());
    }
    if news.rests_lost > 0 {
        lines.push("what was not read of the last file, if anything, could not be had any more".to_owned());
    }
    if news.passed_over > 0 {
        lines.push(format!("{} bytes of lines longer than --piece were passed over", news.passed_over));
    }
    if news.repeated {
        lines.push("a piece was sent again, because it is not known whether it was taken before".to_owned());
    }
    lines.extend(news.losses.iter().map(|(name, count)| format!("{count} records lost: {name}")));
    if let Some(failure) = &news.failure {
        let pause = news.asked_again.unwrap_or_default().as_secs();
        lines.push(match further {
            Further::Rounds => {
                format!("{failure} ({} in a row); it is asked again after {pause} s", news.failures)
            }
            Further::Nothing => failure.to_string(),
        });
    }
    lines
}
