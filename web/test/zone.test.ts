import assert from "node:assert/strict";
import { after, test } from "node:test";
import { parseTime } from "../src/app/window.ts";
import { clock, date, moment, range, rfc3339, showTimesBy, utcMoment, zoneName } from "../src/format/times.ts";

process.env.TZ = "Asia/Kolkata";
after(() => showTimesBy(() => "utc"));

const EVENING = Date.UTC(2026, 0, 12, 20, 15, 30);

test("moments are in UTC unless local times are selected", () => {
  assert.deepEqual([moment(EVENING), zoneName(EVENING)], ["2026-01-12 20:15:30", "UTC"]);
  showTimesBy(() => "local");
  assert.deepEqual([moment(EVENING), date(EVENING), clock(EVENING), zoneName(EVENING)], ["2026-01-13 01:45:30", "2026-01-13", "01:45:30", "UTC+05:30"]);
  assert.equal(range(EVENING, EVENING + 60_000), "2026-01-13, 01:45:30 to 01:46:30 UTC+05:30");
  assert.deepEqual([rfc3339(EVENING), utcMoment(EVENING)], ["2026-01-12T20:15:30Z", "2026-01-12 20:15:30"], "addresses and reports have UTC");
  assert.equal(moment(Number.NaN), "– –");
});

test("typed times without a zone are those of the selected one", () => {
  assert.equal(parseTime("2026-01-13 01:45:30", 0, "local"), EVENING);
  assert.equal(parseTime("2026-01-12 20:15:30", 0), EVENING);
  assert.equal(parseTime("2026-01-12T20:15:30Z", 0, "local"), EVENING);
  assert.equal(parseTime("2026-01-12", 0, "local"), Date.UTC(2026, 0, 11, 18, 30));
});
