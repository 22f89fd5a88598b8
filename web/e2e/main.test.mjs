// Everything in one process: one browser serves all tests, two groups of them at a time.
//
//     npm test                              needs built pages in web/dist (or LAGGARD_BUILT_PAGES) and Chromium
//     LAGGARD_E2E=walk,failures npm test     some of them
//     LAGGARD_BINARY=laggard npm test      with a walk through `laggard serve`
//     LAGGARD_SHOOT=all npm test            with screenshots of all pages, not only of those that fail a check
//     LAGGARD_SHOTS=DIR npm test            screenshots go there instead of target/web-shots

import { after, describe } from "node:test";
import { stop } from "./browser.mjs";

const ALL = ["appearance", "reports", "walk", "windows", "explore", "questions", "alerts", "failures", "hostile", "real"];

const names = process.env.LAGGARD_E2E?.split(",") ?? ALL;
const groups = await Promise.all(names.map(async (name) => (await import(`./${name}.mjs`)).default));

// While one page waits for its next frame or for this process, another one computes. Each group has its own server and pages.
describe("pages", { concurrency: 2 }, () => {
  for (const group of groups) group();
});

after(stop);
