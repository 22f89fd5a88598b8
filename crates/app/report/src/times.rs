//! Moments as people read them: time of day in UTC, with the date only where it is not the window's.

use crate::{Onset, Report, Window};
use jiff::{Timestamp, tz::TimeZone};

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

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

fn moment(ns: i64, digits: Digits) -> Moment {
    let time = Timestamp::from_nanosecond(i128::from(ns)).expect("64 bits of nanoseconds are within range");
    let time = time.to_zoned(TimeZone::UTC);
    let format = match digits {
        Digits::Milliseconds => "%H:%M:%S%.3f",
        Digits::Short if ns.rem_euclid(60 * SECOND) < SECOND => "%H:%M",
        Digits::Short | Digits::Seconds => "%H:%M:%S",
    };
    Moment { date: time.strftime("%Y-%m-%d").to_string(), time: time.strftime(format).to_string() }
}

/// A moment on an axis: its time of day, or its date.
pub(crate) fn tick(ns: i64, dated: bool) -> String {
    let Moment { date, time } = moment(ns, Digits::Short);
    if dated { date } else { time }
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
            window.map(|window| [window.since_ns, window.until_ns].map(|ns| moment(ns, Digits::Short).date));
        Calendar { day: ends.filter(|[first, last]| first == last).map(|[day, _]| day) }
    }

    /// For sentences that stand alone: every time has its date.
    pub(crate) const fn dated() -> Calendar {
        Calendar { day: None }
    }

    /// What the times go without: `2026-01-12, UTC`.
    pub(crate) fn zone(&self) -> String {
        self.day.as_ref().map_or_else(|| "UTC".to_owned(), |day| format!("{day}, UTC"))
    }

    /// `04:27`, or `2026-01-12 04:27` on another day than the window's.
    pub(crate) fn time(&self, ns: i64) -> String {
        self.text(ns, Digits::Short)
    }

    /// Both ends of a span of time; the second has a date when it is another day than the first's.
    pub(crate) fn ends(&self, since_ns: i64, until_ns: i64) -> [String; 2] {
        self.both(since_ns, until_ns, Digits::Short)
    }

    /// The most likely time: `04:27:19`.
    pub(crate) fn onset(&self, onset: &Onset) -> String {
        self.text(onset.at_ns, digits(onset))
    }

    /// The interval around it, both ends; `None` when it is too short to differ from the time itself.
    pub(crate) fn interval(&self, onset: &Onset) -> Option<[String; 2]> {
        let [first, last] = self.both(onset.earliest_ns, onset.latest_ns, digits(onset));
        (first != last).then_some([first, last])
    }

    fn both(&self, first: i64, last: i64, digits: Digits) -> [String; 2] {
        let same_day = moment(first, digits).date == moment(last, digits).date;
        let end = if same_day { moment(last, digits).time } else { self.text(last, digits) };
        [self.text(first, digits), end]
    }

    fn text(&self, ns: i64, digits: Digits) -> String {
        let Moment { date, time } = moment(ns, digits);
        if self.day.as_ref() == Some(&date) { time } else { format!("{date} {time}") }
    }
}

/// Seconds, unless the interval is shorter than one.
fn digits(onset: &Onset) -> Digits {
    let length = onset.latest_ns.saturating_sub(onset.earliest_ns);
    if (1..SECOND).contains(&length) { Digits::Milliseconds } else { Digits::Seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2022-08-22T04:27:00Z.
    const AT: i64 = 1_661_142_420 * SECOND;

    fn onset(at: i64, earliest: i64, latest: i64) -> Onset {
        let text = String::new;
        Onset {
            at_ns: at,
            earliest_ns: earliest,
            latest_ns: latest,
            at: text(),
            earliest: text(),
            latest: text(),
        }
    }

    #[test]
    fn the_date_is_told_where_it_is_not_known() {
        let known = Calendar { day: Some("2022-08-22".to_owned()) };
        let unknown = Calendar { day: None };
        assert_eq!(known.time(AT), "04:27");
        assert_eq!(known.time(AT + 9 * SECOND), "04:27:09");
        assert_eq!(unknown.time(AT), "2022-08-22 04:27");
        assert_eq!(known.ends(AT, AT + 240 * SECOND), ["04:27", "04:31"]);
        assert_eq!(unknown.ends(AT, AT + 240 * SECOND), ["2022-08-22 04:27", "04:31"]);
        assert_eq!(known.ends(AT, AT + 86_400 * SECOND), ["04:27", "2022-08-23 04:27"]);
        assert_eq!(unknown.time(i64::MAX), "2262-04-11 23:47:16");
        assert_eq!(unknown.time(i64::MIN), "1677-09-21 00:12:43");
    }

    #[test]
    fn intervals_below_a_second_have_milliseconds() {
        let known = Calendar { day: Some("2022-08-22".to_owned()) };
        let wide = onset(AT + 5 * SECOND, AT, AT + 60 * SECOND);
        assert_eq!(known.onset(&wide), "04:27:05");
        assert_eq!(known.interval(&wide), Some(["04:27:00".to_owned(), "04:28:00".to_owned()]));
        let narrow = onset(AT + 237_000_000, AT + 2_000_000, AT + 237_000_000);
        assert_eq!(known.onset(&narrow), "04:27:00.237");
        assert_eq!(known.interval(&narrow), Some(["04:27:00.002".to_owned(), "04:27:00.237".to_owned()]));
        assert_eq!(known.interval(&onset(AT, AT, AT)), None);
    }
}
