//! Which windows a look compares.

use super::book::{AlertBook, Rules};
use super::judge::{Found, JudgeSettings, Judgment, TooFew, judge};
use laggard_engine::{LocalEngine, Requests};
use laggard_model::{Nanos, Timestamp};
use laggard_params::Window;

/// Everything detection depends on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Detection {
    /// Length of the window that is judged.
    pub window: Nanos,
    /// Length of what it is compared with.
    pub baseline: Nanos,
    /// What counts.
    pub judge: JudgeSettings,
    /// When alerts begin and end.
    pub rules: Rules,
}

const DAY: Nanos = Nanos::from_secs(86_400);
const INSTANT: Nanos = Nanos::from_ns(1);

impl Detection {
    /// The window that ends at a time.
    pub fn window_at(&self, end: Timestamp) -> Window {
        Window { since: end.minus(self.window).plus(INSTANT), until: end }
    }

    /// The baseline before a time.
    pub fn baseline_before(&self, end: Timestamp) -> Window {
        Window { since: end.minus(self.baseline).plus(INSTANT), until: end }
    }

    /// The same time a day earlier, with half of a window before and after it: what happens daily does not happen on
    /// the second. Not longer, or what is usual at this time would be rare in it.
    pub fn day_before(&self, end: Timestamp) -> Window {
        let half = Nanos::from_ns(self.window.ns() / 2);
        let window = self.window_at(end.minus(DAY));
        Window { since: window.since.minus(half), until: window.until.plus(half) }
    }

    /// Every stretch of time that a look at a window's end may need.
    pub fn needed(&self, book: &AlertBook, end: Timestamp) -> Vec<Window> {
        let window = self.window_at(end);
        let before = self.baseline_before(window.since.minus(INSTANT));
        let mut needed = vec![before.join(window)];
        needed.extend(book.healthy_until(|_| true).map(|until| self.baseline_before(until)));
        needed
    }

    /// Judges the window that ends at a time: what is slower than just before, and not as slow as a day earlier; and
    /// whether what was slow still is, against the last baseline that was not. `day` hands over the requests of the
    /// day before, asked for only where there is something to compare.
    ///
    /// # Errors
    /// When there are too few requests.
    pub fn look(
        &self,
        book: &AlertBook,
        requests: &Requests,
        day: impl FnOnce(Window) -> Option<std::sync::Arc<Requests>>,
        end: Timestamp,
        engine: LocalEngine,
    ) -> Result<Judgment, TooFew> {
        let window = self.window_at(end);
        let before = self.baseline_before(window.since.minus(INSTANT));
        let mut judgment = judge(requests, window, before, self.judge, engine)?;
        self.keep_active(book, requests, &mut judgment, engine);
        let is_new = |found: &Found| !book.active.iter().any(|alert| alert.is_about(found));
        if judgment.found.iter().any(is_new) {
            self.drop_daily(book, day, end, &mut judgment, engine);
        }
        Ok(judgment)
    }

    /// The baseline just before the window gets as slow as the window, if something stays slow.
    fn keep_active(
        &self,
        book: &AlertBook,
        requests: &Requests,
        judgment: &mut Judgment,
        engine: LocalEngine,
    ) {
        let missing = |alert: &super::book::Alert| !judgment.found.iter().any(|found| alert.is_about(found));
        let Some(until) = book.healthy_until(missing) else { return };
        let baseline = self.baseline_before(until);
        let Ok(then) = judge(requests, judgment.window, baseline, self.judge, engine) else {
            // It may be gone by now; that nothing is found then says nothing.
            judgment.is_complete = false;
            return;
        };
        let still = then.found.into_iter().filter(|found| {
            book.active.iter().any(|alert| alert.is_about(found))
                && !judgment
                    .found
                    .iter()
                    .any(|known| known.service == found.service && known.operation == found.operation)
        });
        let still: Vec<Found> = still.collect();
        judgment.found.extend(still);
    }

    /// What is as slow every day at this time is no news.
    fn drop_daily(
        &self,
        book: &AlertBook,
        day: impl FnOnce(Window) -> Option<std::sync::Arc<Requests>>,
        end: Timestamp,
        judgment: &mut Judgment,
        engine: LocalEngine,
    ) {
        let baseline = self.day_before(end);
        let Some(requests) = day(baseline) else { return };
        let Ok(then) = judge(&requests, judgment.window, baseline, self.judge, engine) else { return };
        judgment.found.retain(|found| {
            let known = book.active.iter().any(|alert| alert.is_about(found));
            let slower = then
                .found
                .iter()
                .any(|other| other.service == found.service && other.operation == found.operation);
            known || slower || book.was_about(found, baseline)
        });
    }
}

#[cfg(test)]
mod tests;
