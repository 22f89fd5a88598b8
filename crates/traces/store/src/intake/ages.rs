//! Arrival times of records, on the monotonic clock.

use std::collections::VecDeque;
use std::time::Duration;

/// For some record numbers, the instant by which all records up to that number had arrived.
#[derive(Debug)]
pub(crate) struct Ages {
    /// By instant; numbers grow, too.
    notes: VecDeque<AgeMark>,
    /// Minimum distance of two recorded instants.
    resolution: Duration,
}

impl Default for Ages {
    fn default() -> Ages {
        Ages { notes: VecDeque::new(), resolution: RESOLUTION_MIN }
    }
}

#[derive(Clone, Copy, Debug)]
struct AgeMark {
    /// The first and the last instant that this mark represents.
    begun: Duration,
    at: Duration,
    head: u64,
}

const RESOLUTION_MIN: Duration = Duration::from_millis(50);

/// Maximum number of marks. Above it, the distance between instants is doubled.
const NOTES_MAX: usize = 1 << 13;

impl Ages {
    pub(crate) fn note(&mut self, at: Duration, head: u64) {
        if let Some(last) = self.notes.back_mut() {
            if last.head == head {
                return;
            }
            if at < last.begun + self.resolution {
                // Both count as having arrived at the later instant.
                (last.at, last.head) = (at, head);
                return;
            }
        }
        self.notes.push_back(AgeMark { begun: at, at, head });
        if self.notes.len() > NOTES_MAX {
            self.coarsen();
        }
    }

    /// Of two marks the later one remains: records appear younger by their distance, never older.
    fn coarsen(&mut self) {
        self.resolution *= 2;
        let mut index = 0;
        self.notes.retain(|_| {
            index += 1;
            index % 2 == 0
        });
    }

    /// The last record known to have arrived by an instant; 0 if none.
    pub(crate) fn come_by(&self, at: Duration) -> u64 {
        let later = self.notes.partition_point(|note| note.at <= at);
        later.checked_sub(1).map_or(0, |last| self.notes[last].head)
    }

    /// Drops the instants of records before a number.
    pub(crate) fn forget(&mut self, before: u64) {
        while self.notes.get(1).is_some_and(|next| next.head < before) {
            self.notes.pop_front();
        }
        if self.notes.len() < NOTES_MAX / 8 {
            self.resolution = RESOLUTION_MIN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_as_old_as_its_latest_possible_arrival() {
        let ms = Duration::from_millis;
        let mut ages = Ages::default();
        assert_eq!(ages.come_by(ms(1000)), 0);
        ages.note(ms(100), 1);
        ages.note(ms(120), 2);
        ages.note(ms(500), 7);
        ages.note(ms(900), 7);
        assert_eq!(
            [99, 100, 119, 120, 499, 500, 2000].map(|time_ms| ages.come_by(ms(time_ms))),
            [0, 0, 0, 2, 2, 7, 7]
        );
        ages.forget(7);
        assert_eq!(ages.come_by(ms(500)), 7);
    }

    #[test]
    fn a_steady_stream_ages_as_well() {
        let mut ages = Ages::default();
        for number in 1..=100_000 {
            ages.note(Duration::from_millis(number * 50), number);
        }
        assert!(ages.notes.len() <= NOTES_MAX);
        for number in [100, 10_000, 90_000] {
            let old = ages.come_by(Duration::from_millis(number * 50));
            assert!((number - 64..=number).contains(&old), "{old} for {number}");
        }
    }
}
