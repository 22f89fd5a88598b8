// Links out of a report.

import { address, type Changes, fixed } from "../app/address.svelte.ts";
import type { Report } from "../api/report.ts";

/** The window that links take along: that of the report where the answer of a job is shown, which need not be the chosen one. */
export function windowOf(report: Report): Changes {
  if (!address.param("job") || !report.window) return {};
  return fixed({ sinceMs: Math.floor(report.window.since_ns / 1e6), untilMs: Math.ceil(report.window.until_ns / 1e6) });
}
