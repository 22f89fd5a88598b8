// Reports as files (`--output html`) at three widths, light and dark: no overflow, no errors, no serious findings of axe.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { findings, NARROW, open, overhang, shoot, WIDE, WIDEST } from "./browser.mjs";

/** The expected reports of the tests, or the folder that `LAGGARD_REPORTS` names. */
const FOLDER = process.env.LAGGARD_REPORTS ?? new URL("../../crates/app/report/tests/golden", import.meta.url).pathname;

const LOOKS = [
  { look: "wide-light", size: WIDE, theme: "light", examined: true },
  { look: "narrow-dark", size: NARROW, theme: "dark", examined: true },
  { look: "narrow-light", size: NARROW, theme: "light" },
  { look: "widest-light", size: WIDEST, theme: "light" },
  { look: "widest-dark", size: WIDEST, theme: "dark" },
];

describe("reports", () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".html"));

  test("there are some", () => assert.ok(names.length > 0, FOLDER));

  for (const name of names) {
    test(name, async () => {
      const url = pathToFileURL(join(FOLDER, name)).href;
      const page = await open(url, { clock: null });
      try {
        await page.goto(url);
        for (const { look, size, theme, examined } of LOOKS) {
          await page.setViewportSize(size);
          await page.emulateMedia({ colorScheme: theme });
          await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
          await shoot(page, `report-${name.replace(".html", "")}-${look}`);
          assert.equal(await overhang(page), 0, `${look}: the report is wider than its window`);
          if (examined) assert.deepEqual(await findings(page), [], look);
        }
        assert.deepEqual(page.wrong, []);
      } finally {
        await page.done();
      }
    });
  }
});
