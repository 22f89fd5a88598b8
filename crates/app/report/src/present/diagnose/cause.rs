//! Section on the kind of cause that the evidence supports.

use crate::document::{Prose, Section, Sentences, Tone};
use crate::{Cause, CauseClass, CauseEvidence, Certainty, Clause, ClauseKind};

/// Pieces of evidence shown for and against.
const SHOWN: usize = 8;

/// The section about the cause, with what slow executions wait for; none where nothing speaks for any.
pub(super) fn cause(cause: &Cause, clauses: &[Clause]) -> Option<Section> {
    let waits = clauses.iter().filter(|clause| clause.kind == ClauseKind::Wait);
    let waits: Vec<String> =
        waits.map(|clause| format!("{}: {}", clause.kind.title(), clause.text)).collect();
    let is_supported = cause.evidence.iter().any(|piece| piece.weight > 0.0);
    let is_silent = waits.is_empty() && cause.contradictions.is_empty();
    if cause.class == CauseClass::Unknown && !is_supported && is_silent {
        return None;
    }
    let is_named = |piece: &CauseEvidence| piece.class == cause.class || Some(piece.class) == cause.also;
    let texts = |is_included: &dyn Fn(&CauseEvidence) -> bool, word: &dyn Fn(&CauseEvidence) -> String| {
        let included = cause.evidence.iter().filter(|piece| is_included(piece));
        let mut texts: Vec<String> = included.map(word).collect();
        texts.truncate(SHOWN);
        texts
    };
    let supporting = texts(&|piece| piece.weight > 0.0 && is_named(piece), &|piece| piece.text.clone());
    let other = texts(&|piece| piece.weight > 0.0 && !is_named(piece), &|piece| {
        format!("For {}: {}", short(piece.class), piece.text)
    });
    let against =
        texts(&|piece| piece.weight < 0.0, &|piece| format!("Not {}: {}", short(piece.class), piece.text));
    let lists = [
        ("For it", Tone::Neutral, &supporting),
        ("For others", Tone::Neutral, &other),
        ("Ruled out", Tone::Good, &against),
        ("Contradiction", Tone::Unsure, &cause.contradictions),
    ];
    let mut section = Section::new("cause", "Kind of cause");
    let sentences = std::iter::once(summary(cause)).chain(waits);
    section = section.block(Sentences::paragraphs(sentences.map(|text| Prose::quoted(&text))));
    for (label, tone, texts) in lists {
        if !texts.is_empty() {
            section = section.block(Sentences::quoted_list(label, tone, texts));
        }
    }
    Some(section)
}

/// `Likely the code: other calls, or more work in a call.`
pub(super) fn summary(cause: &Cause) -> String {
    if cause.class == CauseClass::Unknown {
        return "Unknown: the evidence supports no kind of cause.".to_owned();
    }
    let certainty = match cause.certainty {
        Certainty::Shown | Certainty::Likely => "Likely",
        Certainty::Possible => "Possibly",
    };
    let also = cause.also.map_or_else(String::new, |also| format!(", or {}", phrase(also)));
    format!("{certainty} {}{also}.", phrase(cause.class))
}

/// Without what explains it.
pub(super) fn short(class: CauseClass) -> &'static str {
    let phrase = phrase(class);
    phrase.split_once(" (").map_or(phrase, |(short, _)| short)
}

const fn phrase(class: CauseClass) -> &'static str {
    match class {
        CauseClass::Code => "the code (it does something else, or more of it)",
        CauseClass::Configuration => "a setting or a limit (such as a CPU quota)",
        CauseClass::Load => "the load (more requests, or others)",
        CauseClass::Machine => "one replica or its machine",
        CauseClass::ForeignLoad => "other processes on the machine",
        CauseClass::Network => "the network, or a queue in front of the callee",
        CauseClass::Waiting => "waiting without CPU (a lock, a pool, a disk)",
        CauseClass::Dependency => "something that is called and sends no spans",
        CauseClass::Errors => "errors",
        CauseClass::Data => "what is asked for (a tenant, an account, a route)",
        CauseClass::UnevenLoad => "uneven load (some replicas receive too many calls)",
        CauseClass::Unknown => "unknown",
    }
}
