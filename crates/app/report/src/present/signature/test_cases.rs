//! A difference of signatures as a gate: one case for each transaction at each server.

use super::phrases::difference_clause;
use crate::render::{HasTestCases, Rule, TestCase, TestCases, TestOutcome};
use crate::{SignatureDiff, TransactionDiff, TransactionOutcome};
use serde_json::json;

const SLOWER: Rule = Rule {
    id: "transaction-slower",
    name: "TransactionSlower",
    title: "A transaction takes longer than before",
    description: "The time a transaction takes at a server without queueing has grown by more than the threshold and by \
                  more than its standard errors allow for.",
    help: "Compare the two versions of the code that serves this transaction. `laggard compare` on traces of both \
           shows which operation takes the time.",
    word: "slower",
};

impl HasTestCases for SignatureDiff {
    fn test_cases(&self) -> TestCases<'_> {
        TestCases {
            name: "signature",
            version: &self.laggard_version,
            file: &self.new.file,
            rules: &[SLOWER],
            cases: self.transactions.iter().map(case).collect(),
            properties: json!({
                "verdict": self.verdict,
                "headline": self.headline,
                "inconclusive": self.counts.inconclusive,
            }),
        }
    }
}

fn case(transaction: &TransactionDiff) -> TestCase {
    let (outcome, clause) = match transaction.outcome {
        TransactionOutcome::Slower => (TestOutcome::Failed(0), difference_clause(transaction)),
        TransactionOutcome::New => (TestOutcome::Skipped, "only the new signature has it".to_owned()),
        TransactionOutcome::Removed => (TestOutcome::Skipped, "only the old signature has it".to_owned()),
        TransactionOutcome::Inconclusive => (TestOutcome::Skipped, difference_clause(transaction)),
        TransactionOutcome::Faster | TransactionOutcome::Same => {
            (TestOutcome::Passed, difference_clause(transaction))
        }
    };
    let TransactionDiff { tier, server, transaction: name, .. } = transaction;
    TestCase {
        location: transaction.location().to_owned(),
        name: name.clone(),
        seconds: transaction.after_s,
        outcome,
        clause,
        fingerprint: ("transaction/v1", format!("{tier}/{server}/{name}")),
        properties: json!({
            "beforeSeconds": transaction.before_s,
            "afterSeconds": transaction.after_s,
            "differenceSeconds": transaction.difference_s,
            "standardErrorSeconds": transaction.standard_error_s,
        }),
    }
}
