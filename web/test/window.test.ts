import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLength, parseTime, resolve, shifted, zoomed } from "../src/app/window.ts";
import { nsText, range, rfc3339 } from "../src/format/times.ts";

const NOW = Date.UTC(2026, 0, 12, 10);

test("times are parsed in all input formats", () => {
  const cases: [string, number | null][] = [
    ["now", NOW],
    ["-15m", NOW - 900_000],
    ["-1h30m", NOW - 5_400_000],
    ["-1.5d", NOW - 129_600_000],
    ["2026-01-12", Date.UTC(2026, 0, 12)],
    ["2026-01-12 09:10", Date.UTC(2026, 0, 12, 9, 10)],
    ["2026-01-12T09:10:11.25Z", Date.UTC(2026, 0, 12, 9, 10, 11, 250)],
    ["2026-01-12T09:10:00+02:00", Date.UTC(2026, 0, 12, 7, 10)],
    ["1768212000", NOW],
    ["1768212000000", NOW],
    ["1768212000000000000", NOW],
    ["yesterday", null],
    ["-", null],
    ["-5", null],
    ["-99999d", null],
    ["2026-13-01", null],
    ["", null],
  ];
  for (const [text, wanted] of cases) assert.equal(parseTime(text, NOW), wanted, text);
  assert.equal(parseLength("2w"), 1_209_600_000);
});

test("a window is ordered, not empty, and bounded", () => {
  assert.deepEqual(resolve("", "", NOW), { sinceMs: NOW - 3_600_000, untilMs: NOW });
  assert.deepEqual(resolve("now", "-1h", NOW), { sinceMs: NOW - 3_600_000, untilMs: NOW });
  assert.deepEqual(resolve("now", "now", NOW), { sinceMs: NOW, untilMs: NOW + 1 });
  assert.equal(resolve("-1h", "later", NOW), null);
  assert.equal(resolve("1900-01-01", "now", NOW), null);
});

test("windows move by their length and zoom around their middle", () => {
  const hour = { sinceMs: NOW - 3_600_000, untilMs: NOW };
  assert.deepEqual(shifted(hour, -1), { sinceMs: NOW - 7_200_000, untilMs: NOW - 3_600_000 });
  assert.deepEqual(zoomed(hour, 2), { sinceMs: NOW - 5_400_000, untilMs: NOW + 1_800_000 });
  assert.deepEqual(zoomed(zoomed(hour, 0.5), 2), hour);
});

test("times are written exactly and as short as possible", () => {
  assert.equal(nsText(NOW), "1768212000000000000");
  assert.equal(rfc3339(NOW), "2026-01-12T10:00:00Z");
  assert.equal(rfc3339(NOW + 5), "2026-01-12T10:00:00.005Z");
  assert.equal(range(NOW - 3_600_000, NOW), "2026-01-12, 09:00 to 10:00 UTC");
  assert.equal(range(NOW - 36e6 - 1000, NOW), "2026-01-11 23:59:59 to 2026-01-12 10:00 UTC");
  assert.equal(rfc3339(Number.NaN), "");
});
