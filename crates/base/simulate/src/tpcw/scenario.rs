//! The 30 hours of the paper, and variations of them.

use crate::choices;

choices! {
    /// A run of the shop with known truth.
    TpcwScenario {
        Paper = "tpcw", "30 hours: foreign load in segment 2, Home +5 ms in 6, +10 ms in 7";
        Drift = "tpcw-drift", "the same with drifting hardware";
        Quiet = "tpcw-quiet", "12 hours, only load and mix move";
        OneMillisecond = "tpcw-one-ms", "12 hours, Home +1 ms after 6";
        Other = "tpcw-other", "12 hours, a type by the seed +2 to +10 ms after 6";
        Rollback = "tpcw-rollback", "12 hours, Home +5 ms for 4 of them";
        Faster = "tpcw-faster", "12 hours, Execute Search takes half after 6";
        Catalog = "tpcw-catalogue", "12 hours of a synthetic application of 20 types, one gets more expensive after 6";
        Cache = "tpcw-cache", "12 hours with a cache that warms up and expires, nothing changes";
        Cores = "tpcw-cores", "12 hours on 4 cores, Home +5 ms after 6";
        Quota = "tpcw-quota", "12 hours on a quota of 1.5 cores, Home +5 ms after 6";
        Balanced = "tpcw-balanced", "12 hours on 3 front servers, Home +5 ms after 6";
        Foreign = "tpcw-foreign", "12 hours, 20 % of the CPU used by another process for 2 of them";
        Diurnal = "tpcw-diurnal", "2 days by the time of day, nothing changes";
        HeavyTail = "tpcw-heavy-tail", "12 hours of work with a heavy tail, Home +5 ms after 6";
        SlowDatabase = "tpcw-slow-database", "12 hours, calls take half as long again after 6";
        Two = "tpcw-two", "12 hours, Shopping Cart +3 ms and Search Request -1 ms after 6";
        NewType = "tpcw-new-type", "12 hours, a type that only ordering clients know appears with them";
        Contention = "tpcw-contention", "12 hours, transactions that run together slow each other; nothing changes";
        Lag = "tpcw-lag", "12 hours, utilization is measured five seconds off; nothing changes";
        Recurring = "tpcw-recurring", "12 hours, a job takes 15 % of the CPU for two minutes each hour; nothing changes";
        FewClients = "tpcw-few-clients", "12 hours with a thirtieth of the clients, Home +5 ms after 6";
        QuarterMillisecond = "tpcw-quarter-ms", "12 hours, Home +0.25 ms after 6";
        Rare = "tpcw-rare", "12 hours, Order Display (one transaction in 150) +20 ms after 6";
        Objects = "tpcw-objects", "12 hours, Home's embedded objects +3 ms of CPU after 6: no response time changes";
        SlowerHost = "tpcw-slower-host", "12 hours, everything costs a fifth more after 6";
        Coincident = "tpcw-coincident", "12 hours, Home +3 ms when the mix moves";
        Short = "tpcw-short", "12 hours, Home +5 ms for half an hour";
        Noise = "tpcw-noise", "12 hours, utilization measured with 1 % error, Home +2 ms after 6";
        Busy = "tpcw-busy", "12 hours at half as many clients again, Home +1 ms after 6";
    }
}
