// Reports as files (`--output html`) at three widths, light and dark: no overflow, no errors, no serious findings of axe.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { findings, IN_ORDER, inspect, NARROW, open, overhang, turn, WIDE, WIDEST } from "./browser.mjs";

/** The expected reports of the tests, or the folder that `LAGGARD_REPORTS` names. */
const FOLDER = process.env.LAGGARD_REPORTS ?? new URL("../../crates/app/report/tests/golden", import.meta.url).pathname;

const asset = (name) => readFileSync(new URL(`../../crates/app/report/assets/${name}`, import.meta.url), "utf8");

/** The report with its style sheets and its script, which the expected ones are without. */
function complete(html) {
  const styled = html.replace(/<style>\s*<\/style>/, () => `<style>\n${asset("colors.css")}${asset("report.css")}</style>`);
  return styled.replace(/<script>\s*<\/script>/, () => `<script>${asset("report.js")}</script>`);
}

const LOOKS = [
  { look: "wide-light", size: WIDE, theme: "light", examined: true },
  { look: "narrow-dark", size: NARROW, theme: "dark", examined: true },
  { look: "narrow-light", size: NARROW, theme: "light" },
  { look: "widest-light", size: WIDEST, theme: "light" },
  { look: "widest-dark", size: WIDEST, theme: "dark" },
];

export default () => describe("reports", IN_ORDER, () => {
  const folder = mkdtempSync(join(tmpdir(), "laggard-reports-"));
  after(() => rmSync(folder, { recursive: true }));
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".html"));

  test("there are some", () => assert.ok(names.length > 0, FOLDER));

  for (const name of names) {
    test(name, async () => {
      const html = complete(readFileSync(join(FOLDER, name), "utf8"));
      assert.match(html, /\.scroll \{[^]*querySelectorAll/, "it has its style sheet and its script");
      writeFileSync(join(folder, name), html);
      const url = pathToFileURL(join(folder, name)).href;
      const page = await open(url, { clock: null });
      try {
        await page.goto(url);
        for (const { look, size, theme, examined } of LOOKS) {
          await turn(page, size, theme);
          await inspect(page, `report-${name.replace(".html", "")}-${look}`, async () => {
            assert.equal(await overhang(page), 0, `${look}: the report is wider than its window`);
            if (examined) assert.deepEqual(await findings(page), [], look);
          });
        }
        assert.deepEqual(page.wrong, []);
      } finally {
        await page.done();
      }
    });
  }
});
