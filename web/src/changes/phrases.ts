// Words and tones of changes.

import type { ChangeReport, EventKind } from "../api/changes.ts";
import { count, time } from "../format/numbers.ts";

export const VERDICTS: Record<ChangeReport["verdict"], { words: string; tone: string }> = {
  "application-change": { words: "The application changed", tone: "bad" },
  anomaly: { words: "Something foreign", tone: "bad" },
  "unexplained-change": { words: "Unexplained", tone: "unsure" },
  "workload-change": { words: "The workload changed", tone: "unsure" },
  steady: { words: "Steady", tone: "good" },
  "insufficient-data": { words: "Too little data", tone: "unsure" },
};

export const EVENTS: Record<EventKind, { words: string; tone: string }> = {
  "application-change": { words: "application changed", tone: "bad" },
  rollback: { words: "rolled back", tone: "good" },
  "workload-change": { words: "workload changed", tone: "" },
  unexplained: { words: "unexplained", tone: "unsure" },
  "anomaly-start": { words: "anomaly began", tone: "bad" },
  "anomaly-end": { words: "anomaly ended", tone: "" },
};

/** Seconds as a length of time; a negative one with its sign. */
export function lengthOf(seconds: number | null | undefined): string {
  if (seconds == null) return "–";
  return seconds < 0 ? `−${time(-seconds * 1e9)}` : time(seconds * 1e9);
}

/** A server, with its tier where both are known. */
export function serverName(server: string, tier: string): string {
  if (server === "") return tier === "" ? "the server" : tier;
  return tier === "" || tier === server ? server : `${server} (${tier})`;
}

/** Transactions a second. */
export function rate(perSecond: number | null | undefined): string {
  return perSecond == null ? "–" : `${perSecond > 0 && perSecond < 10 ? perSecond.toFixed(2) : count(perSecond)}/s`;
}
