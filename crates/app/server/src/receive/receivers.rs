//! The state that all receivers share.

use super::counters::{Counters, Receiver, ReceiverFigures};
use super::in_flight::InFlightLimit;
use super::settings::ReceiveSettings;
use crate::operations::ProcessMemory;
use crate::settings::LimitSettings;
use laggard_model::Losses;
use laggard_system::available_threads;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// State shared by all receivers of the server.
#[derive(Debug)]
pub(crate) struct Receivers {
    pub(super) settings: ReceiveSettings,
    pub(super) in_flight: InFlightLimit,
    /// Large messages that are decompressed and decoded at a time: one per processor.
    pub(super) decode_slots: Semaphore,
    counters: [Counters; Receiver::ALL.len()],
}

impl Receivers {
    pub(crate) fn new(limits: &LimitSettings, memory: Arc<ProcessMemory>) -> Receivers {
        let settings = ReceiveSettings::new(limits, &memory);
        let processors = available_threads().get();
        Receivers {
            settings,
            in_flight: InFlightLimit::new(settings.in_flight_bytes_max, settings.wait_max, memory),
            decode_slots: Semaphore::new(processors),
            counters: Default::default(),
        }
    }

    pub(crate) fn figures(&self, receiver: Receiver) -> ReceiverFigures {
        self.counters(receiver).figures()
    }

    /// Losses of reading, of all receivers.
    pub(crate) fn losses(&self) -> Losses {
        let mut all = Losses::none();
        for counters in &self.counters {
            all.merge(&counters.losses());
        }
        all
    }

    pub(super) fn counters(&self, receiver: Receiver) -> &Counters {
        &self.counters[receiver as usize]
    }
}
