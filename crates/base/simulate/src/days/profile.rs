//! Kinds of systems that ordinary days are simulated for.

/// The ranges that a system is drawn from. Shares and probabilities are within 0..1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Profile {
    /// The name on the command line.
    pub name: &'static str,
    /// Its special feature, in one sentence.
    pub summary: &'static str,
    /// Number of services.
    pub services: [u16; 2],
    /// Requests per second at the mean of the day.
    pub requests_per_s: [f64; 2],
    /// Share of services with more than one replica.
    pub replicated: f64,
    /// Replicas of a replicated service.
    pub replicas: [u16; 2],
    /// Share of operations whose time has two modes: a hit or a miss, a free or an exhausted pool.
    pub bimodal: f64,
    /// Pauses of a process per minute, such as garbage collections.
    pub pauses_per_min: f64,
    /// Share of databases that periodic jobs slow down.
    pub jobs: f64,
    /// Probability that an operation fails; its caller tries again.
    pub failures: f64,
    /// Share of calls made for each item of a list, one after the other or all at once.
    pub fan_out: f64,
    /// Share of requests that wait by design: long polls and blocking reads of queues.
    pub waits: f64,
    /// Amplitude of the load over a day, as a share of its mean.
    pub diurnal: f64,
    /// Whether the number of replicas follows the load.
    pub autoscaled: bool,
    /// Releases per hour that change nothing but the names of the replicas and the version.
    pub releases_per_h: f64,
    /// Whether calls have spans of the client beside those of the server.
    pub client_spans: bool,
}

const SMALL: Profile = Profile {
    name: "small",
    summary: "Three to six services with one replica each and little traffic.",
    services: [3, 6],
    requests_per_s: [1.0, 3.0],
    replicated: 0.0,
    replicas: [1, 1],
    bimodal: 0.2,
    pauses_per_min: 0.2,
    jobs: 0.3,
    failures: 0.001,
    fan_out: 0.1,
    waits: 0.0,
    diurnal: 0.3,
    autoscaled: false,
    releases_per_h: 0.1,
    client_spans: true,
};

/// All of them, in the order of the manual.
pub const PROFILES: [Profile; 10] = [
    SMALL,
    Profile {
        name: "monolith",
        summary: "One service of three replicas with all of its work in internal spans and database calls.",
        services: [1, 1],
        requests_per_s: [3.0, 15.0],
        replicated: 1.0,
        replicas: [3, 3],
        ..SMALL
    },
    Profile {
        name: "shop",
        summary: "Ten services, most with a single replica, that call a few others for each item.",
        services: [9, 12],
        requests_per_s: [3.0, 8.0],
        replicated: 0.2,
        replicas: [2, 3],
        fan_out: 0.3,
        ..SMALL
    },
    Profile {
        name: "forty-services",
        summary: "Thirty to forty services, most with a single replica.",
        services: [30, 40],
        requests_per_s: [4.0, 10.0],
        replicated: 0.15,
        replicas: [2, 4],
        waits: 0.03,
        ..SMALL
    },
    Profile {
        name: "replicated",
        summary: "Ten services of three to eight replicas each.",
        services: [8, 12],
        requests_per_s: [10.0, 25.0],
        replicated: 0.9,
        replicas: [3, 8],
        ..SMALL
    },
    Profile {
        name: "cached",
        summary: "Most operations have two modes: hits and misses of caches, free and exhausted pools.",
        services: [5, 10],
        requests_per_s: [5.0, 15.0],
        replicated: 0.5,
        replicas: [2, 4],
        bimodal: 0.8,
        ..SMALL
    },
    Profile {
        name: "queues",
        summary: "A fifth of the requests wait by design: long polls and blocking reads of queues.",
        services: [5, 10],
        requests_per_s: [3.0, 8.0],
        replicated: 0.4,
        replicas: [2, 4],
        waits: 0.2,
        ..SMALL
    },
    Profile {
        name: "pauses",
        summary: "Processes pause a few times a minute, and periodic jobs slow the databases down.",
        services: [5, 10],
        requests_per_s: [5.0, 15.0],
        replicated: 0.6,
        replicas: [2, 5],
        pauses_per_min: 3.0,
        jobs: 1.0,
        ..SMALL
    },
    Profile {
        name: "autoscaled",
        summary: "The load changes a lot, replicas come and go, and releases that change nothing replace them.",
        services: [6, 12],
        requests_per_s: [10.0, 20.0],
        replicated: 0.8,
        replicas: [2, 6],
        diurnal: 0.7,
        autoscaled: true,
        releases_per_h: 1.0,
        ..SMALL
    },
    Profile {
        name: "retries",
        summary: "Up to one call in a hundred fails and is tried again.",
        services: [6, 12],
        requests_per_s: [5.0, 15.0],
        replicated: 0.5,
        replicas: [2, 4],
        failures: 0.01,
        client_spans: false,
        ..SMALL
    },
];

impl Profile {
    /// The profile of a name.
    pub fn parse(name: &str) -> Option<Profile> {
        PROFILES.into_iter().find(|profile| profile.name == name)
    }
}
