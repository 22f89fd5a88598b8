//! Moments as people read them: time of day in UTC, with the date only where it is not the window's.

use crate::{Onset, Report, Window};
use jiff::tz::TimeZone;
use laggard_model::{Nanos, Timestamp};

const SECOND: Nanos = Nanos::from_secs(1);

/// A moment's date and time of day in UTC.
struct Moment {
    date: String,
    time: String,
}

/// Precision of a time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Digits {
    /// `04:27`, and the seconds only when they are not zero.
    Short,
    /// `04:27:03`
    Seconds,
    /// `04:27:03.250`
    Milliseconds,
}

fn moment(instant: Timestamp, digits: Digits) -> Moment {
    let ns = instant.unix_ns();
    let time =
        jiff::Timestamp::from_nanosecond(i128::from(ns)).expect("64 bits of nanoseconds are within range");
    let time = time.to_zoned_datetime(TimeZone::UTC);
    let format = match digits {
        Digits::Milliseconds => "%H:%M:%S%.3f",
        Digits::Short if ns.div_euclid(1_000_000_000) % 60 == 0 => "%H:%M",
        Digits::Short | Digits::Seconds => "%H:%M:%S",
    };
    Moment { date: time.strftime("%Y-%m-%d").to_string(), time: time.strftime(format).to_string() }
}

/// A moment on an axis: its time of day, or its date.
pub(crate) fn tick(instant: Timestamp, dated: bool) -> String {
    let Moment { date, time } = moment(instant, Digits::Short);
    if dated { date } else { time }
}

/// A moment that stands alone in a sentence: `2026-01-12 09:30 UTC`.
pub fn minute(instant: Timestamp) -> String {
    format!("{} UTC", Calendar::dated().time(instant))
}

/// Writes the times of one report: those on the day of its window go without a date.
pub(crate) struct Calendar {
    day: Option<String>,
}

impl Calendar {
    pub(crate) fn of(report: &Report) -> Calendar {
        Calendar::from_window(report.window.as_ref())
    }

    pub(crate) fn from_window(window: Option<&Window>) -> Calendar {
        let ends =
            window.map(|window| [window.since, window.until].map(|end| moment(end, Digits::Short).date));
        Calendar { day: ends.filter(|[first, last]| first == last).map(|[day, _]| day) }
    }

    /// For sentences that stand alone: every time has its date.
    pub(crate) const fn dated() -> Calendar {
        Calendar { day: None }
    }

    /// The date and zone that times leave out: `2026-01-12, UTC`.
    pub(crate) fn zone(&self) -> String {
        self.day.as_ref().map_or_else(|| "UTC".to_owned(), |day| format!("{day}, UTC"))
    }

    /// `04:27`, or `2026-01-12 04:27` on another day than the window's.
    pub(crate) fn time(&self, instant: Timestamp) -> String {
        self.text(instant, Digits::Short)
    }

    /// Both ends of a span of time; the second has a date when it is another day than the first's.
    pub(crate) fn ends(&self, time: Window) -> [String; 2] {
        self.both(time, Digits::Short)
    }

    /// The most likely time: `04:27:19`.
    pub(crate) fn onset(&self, onset: &Onset) -> String {
        self.text(onset.at, digits(onset))
    }

    /// The interval around it, both ends; `None` when it is too short to differ from the time itself.
    pub(crate) fn interval(&self, onset: &Onset) -> Option<[String; 2]> {
        let [first, last] = self.both(onset.interval(), digits(onset));
        (first != last).then_some([first, last])
    }

    fn both(&self, time: Window, digits: Digits) -> [String; 2] {
        let Window { since: first, until: last } = time;
        let same_day = moment(first, digits).date == moment(last, digits).date;
        let end = if same_day { moment(last, digits).time } else { self.text(last, digits) };
        [self.text(first, digits), end]
    }

    fn text(&self, instant: Timestamp, digits: Digits) -> String {
        let Moment { date, time } = moment(instant, digits);
        if self.day.as_ref() == Some(&date) { time } else { format!("{date} {time}") }
    }
}

/// Seconds, unless the interval is shorter than one.
fn digits(onset: &Onset) -> Digits {
    let length = onset.latest.since(onset.earliest).non_negative();
    if length.is_some_and(|length| (Nanos::from_ns(1)..SECOND).contains(&length)) {
        Digits::Milliseconds
    } else {
        Digits::Seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2022-08-22T04:27:00Z.
    const START: Timestamp = Timestamp::from_unix_ns(1_661_142_420_000_000_000);

    fn after_s(seconds: u64) -> Timestamp {
        START.plus(Nanos::from_secs(seconds))
    }

    fn from_start(seconds: u64) -> Window {
        Window { since: START, until: after_s(seconds) }
    }

    #[test]
    fn the_date_is_written_only_where_it_changes() {
        let known = Calendar { day: Some("2022-08-22".to_owned()) };
        let unknown = Calendar { day: None };
        assert_eq!(known.time(START), "04:27");
        assert_eq!(known.time(after_s(9)), "04:27:09");
        assert_eq!(unknown.time(START), "2022-08-22 04:27");
        assert_eq!(known.ends(from_start(240)), ["04:27", "04:31"]);
        assert_eq!(unknown.ends(from_start(240)), ["2022-08-22 04:27", "04:31"]);
        assert_eq!(known.ends(from_start(86_400)), ["04:27", "2022-08-23 04:27"]);
        assert_eq!(unknown.time(Timestamp::MAX), "2262-04-11 23:47:16");
        assert_eq!(unknown.time(Timestamp::MIN), "1677-09-21 00:12:43");
    }

    #[test]
    fn intervals_below_a_second_have_milliseconds() {
        let known = Calendar { day: Some("2022-08-22".to_owned()) };
        let wide = Onset { at: after_s(5), earliest: START, latest: after_s(60) };
        assert_eq!(known.onset(&wide), "04:27:05");
        assert_eq!(known.interval(&wide), Some(["04:27:00".to_owned(), "04:28:00".to_owned()]));
        let [early, late] = [2, 237].map(|ms| START.plus(Nanos::from_ms(ms)));
        let narrow = Onset { at: late, earliest: early, latest: late };
        assert_eq!(known.onset(&narrow), "04:27:00.237");
        assert_eq!(known.interval(&narrow), Some(["04:27:00.002".to_owned(), "04:27:00.237".to_owned()]));
        assert_eq!(known.interval(&Onset { at: START, earliest: START, latest: START }), None);
    }
}
