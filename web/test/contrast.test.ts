import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { contrast, rgbOf } from "../src/charts/scale.ts";

const STYLE = readFileSync("../crates/app/report/assets/colors.css", "utf8");

/** Tokens by theme: light, dark. */
function themes(): Record<string, string>[] {
  const blocks = STYLE.split("{").slice(1);
  const all = blocks.map((block) => Object.fromEntries([...block.matchAll(/--([a-z0-9-]+):\s*(#[0-9a-f]{3,6})/gi)].map(([, name, value]) => [name, value])));
  return all.filter((tokens) => tokens.text !== undefined);
}

test("text reaches WCAG AA on its background in every theme", () => {
  const pairs: [string, string, number][] = [
    ["text", "ground", 7], ["text", "card", 7], ["muted", "ground", 4.5], ["muted", "card", 4.5], ["muted", "bar-ground", 4.5],
    ["link", "ground", 4.5], ["link", "card", 4.5], ["link", "link-ground", 4.5], ["card", "link", 4.5],
    ["bad", "bad-ground", 4.5], ["bad", "card", 4.5], ["good", "good-ground", 4.5], ["unsure", "unsure-ground", 4.5],
    ["text", "unsure-ground", 7], ["text", "bad-ground", 7], ["muted", "bad-ground", 4.5], ["field", "card", 3], ["field", "ground", 3],
    ["bar", "card", 3], ["quiet", "card", 3], ["bar", "bar-ground", 3], ["less", "h0", 3],
    ...Array.from({ length: 8 }, (_, at): [string, string, number] => [`s${at}`, "card", 3]),
  ];
  assert.equal(themes().length, 2);
  for (const tokens of themes()) {
    for (const [ink, ground, least] of pairs) {
      const found = contrast(rgbOf(tokens[ink] ?? ""), rgbOf(tokens[ground] ?? ""));
      assert.ok(found >= least, `${ink} on ${ground}: ${found.toFixed(2)}, at least ${least}`);
    }
  }
});

test("contrast follows the standard", () => {
  assert.equal(contrast(rgbOf("#000000"), rgbOf("#ffffff")).toFixed(2), "21.00");
  assert.equal(contrast(rgbOf("#777777"), rgbOf("#ffffff")).toFixed(2), "4.48");
});
