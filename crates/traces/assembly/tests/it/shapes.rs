//! Requests with equal shapes are of one category.

use laggard_assembly::{Shape, ShapeRule, Shaper, assemble};
use laggard_model::OperationId;
use laggard_testkit::parse_spans;
use proptest::prelude::*;

fn shape(text: &str, rule: ShapeRule) -> Shape {
    let mut drawn = parse_spans(text);
    drawn.rows.sort_by_key(|row| (row.start, row.span));
    let operations: Vec<_> = (0..drawn.names.operations())
        .map(|index| drawn.names.fingerprint(OperationId::from_index(index)))
        .collect();
    Shaper::new(rule, &operations).shape(&assemble(&drawn.rows).requests[0].tree)
}

/// A root with children one after another, each letter an operation; a letter followed by digits has
/// children named by them.
fn sequence(letters: &str) -> String {
    let mut text = "root - root@h 0..1000000\n".to_owned();
    let mut last = String::new();
    for (index, letter) in letters.chars().enumerate() {
        let from = index * 100;
        if letter.is_ascii_digit() {
            text.push_str(&format!("s{index} {last} {letter}@h {}..{}\n", from, from + 1));
            continue;
        }
        last = format!("s{index}");
        text.push_str(&format!("{last} root {letter}@h {from}..{}\n", from + 50));
    }
    text
}

fn same(a: &str, b: &str) -> bool {
    shape(&sequence(a), ShapeRule::Canonical).fingerprint
        == shape(&sequence(b), ShapeRule::Canonical).fingerprint
}

#[test]
fn a_loop_of_seven_is_a_loop_of_six() {
    assert!(same("wwwwwwc", "wwwwwwwc"));
    assert!(same("wc", "wwwwwwwc"));
    assert!(same("orcorcorc", "orc"), "a loop with a body of three");
    assert!(same("orrcorrrcorc", "orc"), "a loop inside a loop");
    assert!(!same("wc", "cw"));
    assert!(!same("w", "wc"));
    assert!(same("w1w1w1", "w1"));
    assert!(!same("w1w2w1", "w1w2"), "a body left half done is another shape");
}

#[test]
fn the_paper_counts_every_repetition() {
    let fingerprint = |letters| shape(&sequence(letters), ShapeRule::Exact).fingerprint;
    assert_ne!(fingerprint("ww"), fingerprint("w"));
    assert_eq!(fingerprint("ww"), fingerprint("ww"));
}

#[test]
fn positions_of_a_loop_are_shared_and_in_pre_order() {
    let shape = shape(&sequence("w1w1c"), ShapeRule::Canonical);
    let parents: Vec<_> = shape.positions.iter().map(|position| position.parent).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(0)]);
    assert_eq!(shape.position_of, [0, 1, 2, 1, 2, 3]);
}

#[test]
fn siblings_that_overlap_have_no_order() {
    let race = |first: &str, second: &str| {
        shape(
            &format!("1 - root@h 0..100\n2 1 {first}@h 10..50\n3 1 {second}@h 20..60"),
            ShapeRule::Canonical,
        )
        .fingerprint
    };
    // The letters are interned in another order in the second drawing: the fingerprint does not depend on handles.
    assert_eq!(race("a", "b"), race("b", "a"));
}

proptest! {
    /// Repeating any sibling directly after itself does not change the shape, and every position belongs to a call.
    #[test]
    fn repeating_a_sibling_changes_nothing(letters in "[a-d]{1,12}", at in 0_usize..12) {
        let position = at % letters.len();
        let mut longer = letters.clone();
        longer.insert(position, letters.as_bytes()[position] as char);
        // Collapsing runs first makes this hold whatever the longer loops are.
        prop_assert!(same(&letters, &longer));
        let shape = shape(&sequence(&letters), ShapeRule::Canonical);
        let used: std::collections::BTreeSet<_> = shape.position_of.iter().collect();
        prop_assert_eq!(used.len(), shape.positions.len());
    }
}
