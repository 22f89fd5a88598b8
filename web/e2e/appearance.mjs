// Every page at three widths, light and dark: no errors, no overflow, no serious findings of axe.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { findings, NARROW, open, overhang, PAGES, shoot, visit, WIDE, WIDEST } from "./browser.mjs";
import { PLACES } from "./views.mjs";

/** Each theme and each width is examined once by axe, which is slow; screenshots are taken of all. */
const LOOKS = [
  { look: "wide-light", size: WIDE, theme: "light", examined: true },
  { look: "wide-dark", size: WIDE, theme: "dark" },
  { look: "narrow-dark", size: NARROW, theme: "dark", examined: true },
  { look: "narrow-light", size: NARROW, theme: "light" },
  { look: "widest-light", size: WIDEST, theme: "light" },
];

/** Which pages are shown in which scenario; `one` is shown everywhere. */
const FULL = PLACES.map((view) => ({ ...view, scenario: "one", looks: LOOKS }));
const some = (scenario, names, looks) =>
  PLACES.filter((view) => names.includes(view.name)).map((view) => ({ ...view, scenario, looks: LOOKS.filter(({ look }) => looks.includes(look)) }));

const OTHERS = [
  ...some("none", ["map", "latency", "overview", "verdict", "categories", "compare", "changes", "alerts"], ["wide-light", "narrow-dark"]),
  ...some("thousand", ["map", "latency", "overview", "verdict", "categories", "alerts", "search", "status"], ["wide-dark", "narrow-light"]),
  ...some("several", ["verdict", "changes", "signature", "capacity"], ["wide-light", "narrow-dark"]),
  ...some("empty", ["map", "latency", "overview", "verdict", "categories", "search", "status", "alerts"], ["wide-light", "narrow-dark"]),
  ...some("insufficient", ["verdict"], ["wide-light"]),
  ...some("baseline", ["verdict"], ["wide-light", "narrow-dark"]),
  ...some("periods", ["verdict"], ["wide-dark", "narrow-light"]),
];

async function look(page, { name, scenario }, { look, size, theme, examined }) {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: theme });
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted))));
  await shoot(page, `${name}-${scenario}-${look}`);
  assert.equal(await overhang(page), 0, `${look}: the page is wider than its window`);
  if (examined) assert.deepEqual(await findings(page), [], look);
}

describe("appearance", () => {
  const stubs = new Map();
  before(async () => {
    for (const { scenario } of [...FULL, ...OTHERS]) {
      if (!stubs.has(scenario)) stubs.set(scenario, await startStub({ scenario, pages: PAGES }));
    }
  });
  after(() => {
    for (const stub of stubs.values()) stub.close();
  });

  for (const view of [...FULL, ...OTHERS]) {
    test(`${view.name}, ${view.scenario}`, async () => {
      const page = await open(stubs.get(view.scenario).url, view.looks[0]);
      try {
        await visit(page, view.path);
        for (const each of view.looks) await look(page, view, each);
        assert.deepEqual(page.wrong, []);
      } finally {
        await page.done();
      }
    });
  }
});
