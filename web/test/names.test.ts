import assert from "node:assert/strict";
import { test } from "node:test";
import { match } from "../src/app/match.ts";
import { label, sentence } from "../src/format/names.ts";
import { settingsFromText, settingsToText } from "../src/questions/settings_text.ts";

test("names cannot contain hidden characters", () => {
  assert.equal(label("a\u202Eb\u0007c\n"), "a\\u{202e}b\\u{7}c\\u{a}");
  assert.deepEqual([label("  "), label(""), label("a b")], ["(blank)", "", "a b"]);
  assert.equal(label("abcdefghij", 5), "ab…ij");
  assert.equal(label("日本語のサービス", 4), "日本…ス");
  assert.equal(Array.from(label("x".repeat(1000), 64)).length, 64);
});

test("names in backticks are set apart", () => {
  assert.deepEqual(sentence("`a b` is slow"), [{ text: "a b", code: true }, { text: " is slow", code: false }]);
  assert.deepEqual(sentence(""), []);
});

test("paths lead to pages", () => {
  assert.deepEqual(match("/", "/"), {});
  assert.deepEqual(match("/categories/:id", "/categories/a%2Fb/"), { id: "a/b" });
  assert.equal(match("/categories/:id", "/categories"), null);
  assert.equal(match("/categories/:id", "/categories/%E0%A4%A"), null);
  assert.equal(match("/jobs", "/job"), null);
});

test("thresholds in the address are named", () => {
  const settings = { mode: "paper", "replica-level": "1e-4" };
  assert.deepEqual(settingsFromText(settingsToText(settings)), settings);
  assert.deepEqual(settingsFromText("  "), {});
  assert.deepEqual(settingsFromText("__proto__=1 A=2 =3 cv-min="), {});
  assert.equal(settingsToText({ "cv-min": " ", "tail-mad": "4 " }), "tail-mad=4");
});
