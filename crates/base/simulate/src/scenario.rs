//! Fault scenarios: where a fault is injected, and which services requests enter.

use crate::choices;

choices! {
    /// A fault, or the absence of one. C1 to C3 are the cases of CloudDiag, M1 to M4 those of Mi et al.
    Scenario {
        Quiet = "quiet", "No fault: the baseline of the others.";
        ThreadPool = "thread-pool", "C1: calls to the chunk store queue for a thread, on all replicas, in 20 % of the requests of some categories.";
        RandomDevice = "random-device", "C2: 4 of 10 front ends block while they wait for randomness, in some categories of SendMail.";
        Bursts = "bursts", "C3: transactions begin late on 3 of 60 hosts, in some categories of SendMail.";
        Misconfiguration = "misconfiguration", "M1: chunk reads take four times as long in 40 % of the ListFile requests.";
        Failover = "failover", "M2: half of the chunk writes at 5 hosts wait until a dead disk times out.";
        CodeBug = "code-bug", "M3: an upgrade of 9 of 30 mail-logic hosts makes one operation 20 ms slower.";
        CodeBugNewOperation = "code-bug-new-operation", "M3, variant: the upgrade of 9 of 30 mail-logic hosts calls a new operation of about 20 ms.";
        LoadImbalance = "load-imbalance", "M4: 60 % of the chunk calls of SaveFile go to 5 of 100 hosts, which cannot keep up.";
        Uniform = "uniform", "One operation is slower everywhere, by 10 %: visible only against a baseline.";
        HeavyTail = "heavy-tail", "No fault: request sizes are heavy-tailed and scale every operation together.";
        SlowHost = "slow-host", "Everything on one of 100 hosts takes three times as long.";
        OneOfTwo = "one-of-two", "There are two front ends; on one of them an operation takes 20 ms longer.";
        FortyOfHundred = "forty-of-hundred", "Chunk reads take 20 ms longer on 40 of the 100 hosts of the chunk store.";
    }
}

/// Which three services the requests enter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ServiceSet {
    /// ListMail, ReadMail, SendMail.
    Mail,
    /// ListFile, ReadFile, SaveFile.
    File,
}

impl ServiceSet {
    /// The entry operations of the front end: two that read, one that writes.
    pub const fn entry_operations(self) -> [&'static str; 3] {
        match self {
            ServiceSet::Mail => ["ListMail", "ReadMail", "SendMail"],
            ServiceSet::File => ["ListFile", "ReadFile", "SaveFile"],
        }
    }
}

/// Where a fault sits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultScope {
    /// On some replicas of the culprits.
    Replicas,
    /// On all replicas alike.
    All,
    /// There is no fault.
    None,
}

impl Scenario {
    /// The services the papers' case was about; mail where it does not matter.
    pub const fn services(self) -> ServiceSet {
        match self {
            Scenario::Misconfiguration
            | Scenario::Failover
            | Scenario::CodeBug
            | Scenario::CodeBugNewOperation
            | Scenario::LoadImbalance => ServiceSet::File,
            _ => ServiceSet::Mail,
        }
    }

    /// Where the fault sits.
    pub const fn scope(self) -> FaultScope {
        match self {
            Scenario::Quiet | Scenario::HeavyTail => FaultScope::None,
            Scenario::ThreadPool | Scenario::Misconfiguration | Scenario::Uniform => FaultScope::All,
            _ => FaultScope::Replicas,
        }
    }

    /// Whether the fault hits most requests of the categories it hits, so that nothing inside the data can
    /// distinguish it from normal requests, so a comparison with a baseline period is needed.
    pub const fn needs_baseline(self) -> bool {
        matches!(
            self,
            Scenario::Misconfiguration
                | Scenario::CodeBug
                | Scenario::CodeBugNewOperation
                | Scenario::LoadImbalance
                | Scenario::Uniform
                | Scenario::OneOfTwo
                | Scenario::FortyOfHundred
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_parsing() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::parse(scenario.name()), Some(scenario));
            assert!(scenario.summary().ends_with('.'));
        }
        assert_eq!(Scenario::parse("Quiet"), None);
    }
}
