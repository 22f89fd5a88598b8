//! Fault scenarios.

/// A fault, or the absence of one. Names in brackets are those of the papers' experiments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scenario {
    /// No fault.
    Quiet,
    /// An exhausted thread pool (CloudDiag, case 1).
    ThreadPool,
    /// A blocking random device (CloudDiag, case 2).
    RandomDevice,
    /// Bursts of transactions (CloudDiag, case 3).
    Bursts,
    /// A misconfigured read path (Mi, case 1).
    Misconfiguration,
    /// Failover from dead hosts (Mi, case 2).
    Failover,
    /// A slow code path in an upgrade (Mi, case 3).
    CodeBug,
    /// An upgrade that calls a new operation (Mi, case 3, as new call trees).
    CodeBugNewOperation,
    /// Uneven load over replicas (Mi, case 4).
    LoadImbalance,
    /// One operation a little slower everywhere.
    Uniform,
    /// No fault; requests differ enormously in size.
    HeavyTail,
    /// One host slows everything that runs on it.
    SlowHost,
    /// One of two front ends is slow.
    OneOfTwo,
    /// Forty of a hundred storage hosts are slow.
    FortyOfHundred,
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
    /// All of them, in the order of the manual.
    pub const ALL: [Scenario; 14] = [
        Scenario::Quiet,
        Scenario::ThreadPool,
        Scenario::RandomDevice,
        Scenario::Bursts,
        Scenario::Misconfiguration,
        Scenario::Failover,
        Scenario::CodeBug,
        Scenario::CodeBugNewOperation,
        Scenario::LoadImbalance,
        Scenario::Uniform,
        Scenario::HeavyTail,
        Scenario::SlowHost,
        Scenario::OneOfTwo,
        Scenario::FortyOfHundred,
    ];

    /// The word for the command line.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// A description in one sentence.
    pub fn summary(self) -> &'static str {
        self.row().1
    }

    /// The scenario of a name.
    pub fn parse(name: &str) -> Option<Scenario> {
        Scenario::ALL.into_iter().find(|scenario| scenario.name() == name)
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Scenario::Quiet => ("quiet", "No fault: the baseline of the others."),
            Scenario::ThreadPool => (
                "thread-pool",
                "C1: calls to the chunk store queue for a thread, on all replicas, in 20 % of the requests of some categories.",
            ),
            Scenario::RandomDevice => (
                "random-device",
                "C2: 4 of 10 front ends block while they wait for randomness, in some categories of SendMail.",
            ),
            Scenario::Bursts => {
                ("bursts", "C3: transactions begin late on 3 of 60 hosts, in some categories of SendMail.")
            }
            Scenario::Misconfiguration => (
                "misconfiguration",
                "M1: chunk reads take four times as long in 40 % of the ListFile requests.",
            ),
            Scenario::Failover => {
                ("failover", "M2: half of the chunk writes at 5 hosts wait until a dead disk times out.")
            }
            Scenario::CodeBug => {
                ("code-bug", "M3: an upgrade of 9 of 30 mail-logic hosts makes one operation 20 ms slower.")
            }
            Scenario::CodeBugNewOperation => (
                "code-bug-new-operation",
                "M3, variant: the upgrade of 9 of 30 mail-logic hosts calls a new operation of about 20 ms.",
            ),
            Scenario::LoadImbalance => (
                "load-imbalance",
                "M4: 60 % of the chunk calls of SaveFile go to 5 of 100 hosts, which cannot keep up.",
            ),
            Scenario::Uniform => {
                ("uniform", "One operation is slower everywhere, by 10 %: visible only against a baseline.")
            }
            Scenario::HeavyTail => {
                ("heavy-tail", "No fault: request sizes are heavy-tailed and scale every operation together.")
            }
            Scenario::SlowHost => ("slow-host", "Everything on one of 100 hosts takes three times as long."),
            Scenario::OneOfTwo => {
                ("one-of-two", "There are two front ends; on one of them an operation takes 20 ms longer.")
            }
            Scenario::FortyOfHundred => (
                "forty-of-hundred",
                "Chunk reads take 20 ms longer on 40 of the 100 hosts of the chunk store.",
            ),
        }
    }

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
    fn names_are_read_back() {
        for scenario in Scenario::ALL {
            assert_eq!(Scenario::parse(scenario.name()), Some(scenario));
            assert!(scenario.summary().ends_with('.'));
        }
        assert_eq!(Scenario::parse("Quiet"), None);
    }
}
