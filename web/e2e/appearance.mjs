// Every page at three widths, light and dark: no errors, no overflow, no serious findings of axe.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { findings, NARROW, open, overhang, PAGES, shoot, visit, WIDE, WIDEST } from "./browser.mjs";
import { placesOf } from "./views.mjs";

/** Each theme and each width is examined once by axe, which is slow; screenshots are taken of all. */
const LOOKS = [
  { look: "wide-light", size: WIDE, theme: "light", examined: true },
  { look: "wide-dark", size: WIDE, theme: "dark" },
  { look: "narrow-dark", size: NARROW, theme: "dark", examined: true },
  { look: "narrow-light", size: NARROW, theme: "light" },
  { look: "widest-light", size: WIDEST, theme: "light" },
  { look: "widest-dark", size: WIDEST, theme: "dark" },
];

/** Every page with one suspect, with none, and with a thousand in hundreds of services; some pages in further scenarios. */
const FULL = ["one", "none", "thousand"].flatMap((scenario) => placesOf(scenario).map((view) => ({ ...view, scenario, looks: LOOKS })));
const some = (scenario, names, looks) =>
  placesOf(scenario).filter((view) => names.includes(view.name)).map((view) => ({ ...view, scenario, looks: LOOKS.filter(({ look }) => looks.includes(look)) }));

const OTHERS = [
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
  if (size === WIDE) assert.ok((await page.getByRole("navigation", { name: "Pages" }).boundingBox()).height < 48, "the navigation is in one row");
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
