import assert from "node:assert/strict";
import { test } from "node:test";
import * as n from "../src/format/numbers.ts";

test("numbers are formatted as in the reports of the command line", () => {
  // The same cases as in crates/app/report/src/numbers.rs and crates/base/model/src/time.rs.
  const cases: [string, string][] = [
    [n.count(0), "0"], [n.count(999), "999"], [n.count(1_000), "1,000"], [n.count(1_234_567), "1,234,567"],
    [n.factor(1.337), "1.34×"], [n.factor(9.994), "9.99×"], [n.factor(9.996), "10×"], [n.factor(1234.4), "1,234×"],
    [n.factor(Infinity), "–"], [n.factor(1e30), ">1,000,000×"],
    [n.share(0), "0 %"], [n.share(0.0004), "<0.1 %"], [n.share(0.004), "0.4 %"], [n.share(0.0094), "0.9 %"],
    [n.share(0.83), "83 %"], [n.share(0.9949), "99 %"], [n.share(0.9999), ">99 %"], [n.share(1), "100 %"], [n.share(NaN), "–"],
    [n.fineShare(0.9995), "99.95 %"], [n.fineShare(0.999832), "99.983 %"], [n.fineShare(0.95), "95 %"], [n.fineShare(0.5), "50 %"],
    [n.fineShare(1), "100 %"], [n.fineShare(0.999_999_99), "99.999999 %"], [n.fineShare(0), "0 %"], [n.fineShare(null), "–"],
    [n.budgetLeft(0.4), "40 %"], [n.budgetLeft(-9), "−900 %"], [n.budgetLeft(null), "–"],
    [n.pValue(0.0123), "0.012"], [n.pValue(3.14e-12), "3e-12"], [n.pValue(0), "<1e-300"],
    [n.time(870), "870 ns"], [n.time(12_400), "12.4 µs"], [n.time(3_050_000), "3.05 ms"], [n.time(1.2e9), "1.20 s"],
    [n.time(999_999), "1000 µs"], [n.time(-1), "–"], [n.time(null), "–"],
    [n.bytes(999), "999 B"], [n.bytes(12_400_000), "12.4 MB"], [n.ratio(1.336), "1.34"],
    [n.signedTime(48_200_000), "+48.2 ms"], [n.signedTime(-3e6), "−3.00 ms"],
    [n.counted(1, "request"), "1 request"], [n.counted(7, "category", "categories"), "7 categories"],
    [n.brief(1234), "1,234"], [n.brief(12_400), "12.4 k"], [n.brief(3_100_000), "3.10 M"],
    [n.timeTick(2e8), "200 ms"], [n.timeTick(0), "0"], [n.timeTick(1.5e9), "1.5 s"], [n.timeTick(1e9), "1 s"],
  ];
  for (const [given, wanted] of cases) assert.equal(given, wanted);
});
