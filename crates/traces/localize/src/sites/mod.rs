//! Sites: where requests spend time, and how that time differs between replicas, periods and baselines.

mod attributes;
mod blame;
mod blocks;
mod bulk;
mod change;
mod cold_start;
mod concentration;
mod culprits;
mod drift;
mod group_sums;
mod hit_probability;
mod hits;
mod incidents;
mod judge;
mod latency_change;
mod load_effect;
mod long_calls;
mod moments;
mod onset;
mod peers;
mod per_category;
mod replica_change;
mod replica_periods;
mod sets;
mod slow_share;
mod steady;
mod table;
mod table_builder;
mod table_parts;
mod usual_level;

pub(crate) use blocks::Blocks;
pub(crate) use sets::Fast;

pub use attributes::{
    AttributeGroups, AttributeSettings, AttributeTest, AttributedRequest, UnevenAttribute, attribute_tests,
    changed_attributes, uneven_attributes,
};
pub use blame::{End, LinkExcess, MeanExcess, blame_ends};
pub use change::{ChangeSettings, SiteChange, compare_sites};
pub use cold_start::FirstCalls;
pub use concentration::is_concentrated;
pub use culprits::{Culprit, CulpritSettings, ReplicaRate, Share, find_culprits, find_frequent_culprits};
pub use hits::{CallLevel, ComparedSite, FALSE_HITS_MAX, NormalCalls, WindowCall, find_hits};
pub use incidents::{Bins, Incident, Onset, ScanSettings, find_incidents};
pub use judge::{
    Shift, Shifted, SiteSettings, SiteSuspect, WidespreadSlowdown, add_up_suspects, changed_replica_suspects,
    join_suspects, shifted_suspects, uneven_suspects,
};
pub use latency_change::{LatencyChange, UsualLatency, latency_change};
pub use long_calls::long_calls_rose;
pub use onset::{find_onset, find_rate_onset};
pub use peers::{UnevenSite, find_uneven_sites};
pub use replica_periods::{ReplicaPeriod, find_replica_periods};
pub use slow_share::SlowCalls;
pub use steady::are_steadily_slower;
pub use table::{Observation, Site, SiteRequest, SiteTable};
pub use table_builder::{SiteNumbers, SiteTableBuilder, Spent};
