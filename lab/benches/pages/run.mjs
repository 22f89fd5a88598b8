// How soon the pages of a server show something, and their data, in Chromium:
//
//     (cd web/e2e && npm ci)
//     node lab/benches/pages/run.mjs http://127.0.0.1:4316 [--runs 3] [--query since=-1d] [--only /map]
//
// Every page that opens without parameters, each run with an empty browser cache. Prints a table in Markdown: the medians
// over the runs and, where it differs, the slowest run.

import { readFileSync } from "node:fs";
import { open, stop } from "../../../web/e2e/browser.mjs";

const words = process.argv.slice(2);
const option = (name, otherwise) => (words.includes(name) ? words[words.indexOf(name) + 1] : otherwise);
const url = words[0];
const [runs, query, only] = [Number(option("--runs", "3")), option("--query", ""), option("--only", "")];
const routes = readFileSync(new URL("../../../crates/app/ui/dist/routes.txt", import.meta.url), "utf8");
const paths = routes.split("\n").filter((path) => path && !path.includes(":") && (only === "" || path === only));

/** In the page: when it first painted content, when the first figures were there, and when elements were last added to it. */
function observe() {
  const seen = { paint_ms: null, figures_ms: null, content_ms: null };
  window.seen = seen;
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === "first-contentful-paint") seen.paint_ms = startTime;
  }).observe({ type: "paint", buffered: true });
  const added = ({ addedNodes }) => [...addedNodes].some((node) => node.nodeType === Node.ELEMENT_NODE);
  const inMain = ({ target }) => target instanceof Element && target.closest("main") !== null;
  new MutationObserver((changes) => {
    if (!changes.some((change) => inMain(change) && added(change))) return;
    const figures = document.querySelector("main table, main canvas, main dl") !== null;
    requestAnimationFrame(() => {
      seen.content_ms = performance.now();
      if (figures) seen.figures_ms ??= seen.content_ms;
    });
  }).observe(document, { childList: true, subtree: true });
}

/** One visit: first paint, and when nothing was pending and the last element was there. */
async function visit(path) {
  const page = await open(url, { clock: null });
  try {
    await page.addInitScript(observe);
    await page.goto(query ? `${path}?${query}` : path);
    await page.locator("main h1").first().waitFor();
    await page.waitForLoadState("networkidle");
    await page.waitForFunction(() => !document.querySelector("main [aria-busy=true], main[aria-busy=true]"), null, { timeout: 120_000 });
    await page.waitForTimeout(300);
    const { paint_ms, figures_ms, content_ms } = await page.evaluate(() => window.seen);
    const error = await page.locator("main [role=alert]").first().innerText({ timeout: 1 }).catch(() => "");
    return { paint_ms, figures_ms, content_ms, error: error.split("\n")[0] };
  } finally {
    await page.done();
  }
}

/** `0.21`, or `0.21 (0.35)` with the slowest run; `–` for a page of forms or lists without an entry. */
function seconds(values) {
  if (values.includes(null)) return "–";
  const sorted = [...values].sort((a, b) => a - b);
  const [middle, most] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted.at(-1)].map((ms) => (ms / 1000).toFixed(2));
  return middle === most ? middle : `${middle} (${most})`;
}

// Starts the browser, so that no page pays for that.
await visit(paths[0]);
console.log(`| page | first paint, s | first figures, s | all shown, s |\n|---|---|---|---|`);
for (const path of paths) {
  const visits = [];
  for (let run = 0; run < runs; run += 1) visits.push(await visit(path));
  const error = visits.find((one) => one.error)?.error;
  const [paint, figures, content] = ["paint_ms", "figures_ms", "content_ms"].map((name) => seconds(visits.map((one) => one[name])));
  console.log(`| \`${path}\` | ${paint} | ${figures} | ${content}${error ? ` (${error})` : ""} |`);
}
await stop();
