//! The third ground table: events of kernel traces.

mod clock;
mod event;
mod snapshot;
mod texts;
mod tid;
mod user_functions;

pub use clock::{ClockMap, KernelTime};
pub use event::{
    ContextFlags, Cpu, EventKind, ExpiredTimer, IpiVector, KernelEvent, PrevState, Socket, StatedumpStatus,
};
pub use snapshot::{ControlGroup, CpuQuota, HostSnapshot, ProbedFunction, ThreadMembership, ThrottleCounts};
pub use texts::{KernelTexts, TextId};
pub use tid::Tid;
pub use user_functions::UserFunctions;
