// The time window in the address: `since` and `until`, relative (`-1h`) or absolute (RFC 3339).

import type { Zone } from "../format/times.ts";

/** Both ends in milliseconds since the Unix epoch. */
export interface Span {
  sinceMs: number;
  untilMs: number;
}

/** The window of an address that names none. */
export const DEFAULT_SINCE = "-1h";

/** The longest and shortest window that can be requested. */
const LONGEST_MS = 10 * 366 * 86_400_000;
const SHORTEST_MS = 1;

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Windows offered by name. */
export const PRESETS: { since: string; name: string }[] = [
  { since: "-15m", name: "15 minutes" },
  { since: "-1h", name: "hour" },
  { since: "-6h", name: "6 hours" },
  { since: "-1d", name: "day" },
  { since: "-7d", name: "7 days" },
];

/** Whether a time moves with the clock. */
export const isRelative = (text: string): boolean => text === "now" || text.startsWith("-");

/** A time as people and addresses write it, in milliseconds; `null` when it is none. Without a zone it is UTC, or local. */
export function parseTime(text: string, nowMs: number, zone: Zone = "utc"): number | null {
  const trimmed = text.trim();
  if (trimmed === "now") return nowMs;
  if (trimmed.startsWith("-")) {
    const back = parseLength(trimmed.slice(1));
    return back === null ? null : nowMs - back;
  }
  if (/^\d{10,19}$/.test(trimmed)) return epoch(trimmed);
  return civil(trimmed, zone);
}

/** `15m`, `1h30m`, `2d`; `null` when it is no length. */
export function parseLength(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|min|s|m|h|d|w))+$/.test(text)) return null;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|min|s|m|h|d|w)/g);
  const sum = [...parts].reduce((total, [, value, unit]) => total + Number(value) * (UNITS[unit ?? ""] ?? Number.NaN), 0);
  return Number.isFinite(sum) && sum <= LONGEST_MS ? sum : null;
}

/** Seconds, milliseconds, microseconds or nanoseconds, by the number of digits. */
function epoch(digits: string): number {
  const scale = [10, 13, 16, 19].find((length) => digits.length <= length) ?? 19;
  return Number(digits) / 10 ** (scale - 13);
}

/** RFC 3339, or the same without zone (the given one), without seconds, or with a blank for the `T`. */
function civil(text: string, without: Zone): number | null {
  const parts = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?)?\s*(Z|[+-]\d{2}:\d{2})?$/i.exec(text);
  if (!parts) return null;
  const [, day, minutes = "00:00", seconds = ":00", zone = without === "utc" ? "Z" : ""] = parts;
  const ms = Date.parse(`${day}T${minutes}${seconds}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? null : ms;
}

/** The window that two texts name; ends in the wrong order are put right; `null` when one is no time. */
export function resolve(since: string, until: string, nowMs: number): Span | null {
  const ends = [parseTime(since || DEFAULT_SINCE, nowMs), parseTime(until || "now", nowMs)];
  const [first, last] = ends as [number | null, number | null];
  if (first === null || last === null) return null;
  const [sinceMs, untilMs] = first <= last ? [first, last] : [last, first];
  if (untilMs - sinceMs > LONGEST_MS) return null;
  return { sinceMs: Math.floor(sinceMs), untilMs: Math.max(Math.ceil(untilMs), Math.floor(sinceMs) + SHORTEST_MS) };
}

/** The same length before or after. */
export function shifted(span: Span, steps: number): Span {
  const length = (span.untilMs - span.sinceMs) * steps;
  return { sinceMs: span.sinceMs + length, untilMs: span.untilMs + length };
}

/** Around the same middle, `factor` times as long. */
export function zoomed(span: Span, factor: number): Span {
  const middle = (span.sinceMs + span.untilMs) / 2;
  const half = Math.max(((span.untilMs - span.sinceMs) * factor) / 2, SHORTEST_MS);
  return { sinceMs: Math.floor(middle - half), untilMs: Math.ceil(middle + half) };
}
