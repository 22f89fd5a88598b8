// Everything in one process: one browser serves all tests.
//
//     npm test                              needs built pages in web/dist (or LAGGARD_BUILT_PAGES) and Chromium
//     LAGGARD_E2E=walk,failures npm test     some of them
//     LAGGARD_BINARY=laggard npm test      with a walk through `laggard serve`
//     LAGGARD_SHOTS=DIR npm test            screenshots go there instead of target/web-shots

import { after } from "node:test";
import { stop } from "./browser.mjs";

const ALL = ["appearance", "reports", "walk", "windows", "explore", "questions", "alerts", "failures", "hostile", "real"];

for (const name of process.env.LAGGARD_E2E?.split(",") ?? ALL) await import(`./${name}.mjs`);

after(stop);
