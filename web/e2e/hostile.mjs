// Names from traces may contain anything: markup, control characters, direction marks, a thousand characters.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startStub } from "../stub/server.mjs";
import { findings, IN_ORDER, inspect, NARROW, open, overhang, PAGES, visit, WIDE } from "./browser.mjs";
import { PLACES } from "./views.mjs";

const NAMES = ["overview", "verdict", "categories", "map", "map-service", "latency", "search", "trace", "trace-suspect", "alerts", "compare"];

export default () => describe("hostile names", IN_ORDER, () => {
  let stub;
  let page;
  before(async () => {
    stub = await startStub({ scenario: "hostile", pages: PAGES });
    page = await open(stub.url);
  });
  after(async () => {
    await page.done();
    stub.close();
  });

  for (const { name, path } of PLACES.filter((place) => NAMES.includes(place.name))) {
    test(name, async () => {
      for (const [look, size] of [["wide", WIDE], ["narrow", NARROW]]) {
        await page.setViewportSize(size);
        await visit(page, path);
        assert.match(await page.title(), / · Laggard$/, "no name became a script");
        assert.equal(await page.locator("main img").count(), 0, "no name became an element");
        const controls = await page.locator("main").evaluate((main) => /[\u0000-\u0008\u000e-\u001f\u202a-\u202e\u2066-\u2069]/.test(main.textContent));
        assert.equal(controls, false, "controls are spelled out");
        await inspect(page, `${name}-hostile-${look}-light`, async () => {
          assert.equal(await overhang(page), 0, look);
          assert.deepEqual(await findings(page), [], look);
        });
      }
      assert.deepEqual(page.wrong, []);
    });
  }
});
