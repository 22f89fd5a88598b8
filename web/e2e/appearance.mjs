// Every page at three widths, light and dark: no errors, no overflow, no serious findings of axe.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { findings, IN_ORDER, inspect, NARROW, open, overhang, PAGES, turn, visit, WIDE, WIDEST } from "./browser.mjs";
import { placesOf } from "./views.mjs";

/** Each theme and each width is examined once by axe, which is slow. */
const LOOKS = [
  { look: "wide-light", size: WIDE, theme: "light", examined: true },
  { look: "wide-dark", size: WIDE, theme: "dark" },
  { look: "narrow-dark", size: NARROW, theme: "dark", examined: true },
  { look: "narrow-light", size: NARROW, theme: "light" },
  { look: "widest-light", size: WIDEST, theme: "light" },
  { look: "widest-dark", size: WIDEST, theme: "dark" },
];

const full = (scenario) => placesOf(scenario).map((view) => ({ ...view, looks: LOOKS }));
const some = (scenario, names, looks) =>
  placesOf(scenario).filter((view) => names.includes(view.name)).map((view) => ({ ...view, looks: LOOKS.filter(({ look }) => looks.includes(look)) }));

/** Every page with one suspect, with none, and with a thousand in hundreds of services; some pages in further scenarios. */
const VIEWS = {
  thousand: full("thousand"),
  one: full("one"),
  none: full("none"),
  several: some("several", ["verdict", "changes", "signature", "capacity"], ["wide-light", "narrow-dark"]),
  empty: some("empty", ["map", "latency", "overview", "verdict", "categories", "search", "status", "alerts"], ["wide-light", "narrow-dark"]),
  insufficient: some("insufficient", ["verdict"], ["wide-light"]),
  baseline: some("baseline", ["verdict"], ["wide-light", "narrow-dark"]),
  periods: some("periods", ["verdict"], ["wide-dark", "narrow-light"]),
};

async function look(page, name, { look, size, theme, examined }) {
  await turn(page, size, theme);
  await inspect(page, `${name}-${look}`, async () => {
    assert.equal(await overhang(page), 0, `${look}: the page is wider than its window`);
    if (size === WIDE) assert.ok((await page.getByRole("navigation", { name: "Pages" }).boundingBox()).height < 48, "the navigation is in one row");
    if (examined) assert.deepEqual(await findings(page), [], look);
  });
}

/** Views of one scenario, one after the other in one page; every visit loads a new document. */
function appearance(scenario, views) {
  describe(`appearance, ${scenario}`, IN_ORDER, () => {
    let stub;
    let page;
    before(async () => {
      stub = await startStub({ scenario, pages: PAGES });
      page = await open(stub.url);
    });
    after(async () => {
      await page.done();
      stub.close();
    });

    for (const view of views) {
      test(view.name, async () => {
        page.wrong = [];
        await turn(page, view.looks[0].size, view.looks[0].theme);
        await visit(page, view.path);
        for (const each of view.looks) await look(page, `${view.name}-${scenario}`, each);
        assert.deepEqual(page.wrong, []);
      });
    }
  });
}

export default () => {
  for (const [scenario, views] of Object.entries(VIEWS)) appearance(scenario, views);
};
