// The settings of a diagnosis in the address.

import { address } from "../app/address.svelte.ts";
import type { Settings } from "../api/question_job.svelte.ts";
import { resolve } from "../app/window.ts";
import { clock } from "../app/clock.svelte.ts";
import { settingsFromText } from "./settings_text.ts";
import { rfc3339 } from "../format/times.ts";

/** Flags of `laggard diagnose` with a parameter of their own; all others stand in `settings`. */
const FLAGS = ["operation", "category", "method", "mode", "time", "top"];

/** Settings of the window and service alone, as the overview submits them; `null` when the window cannot be read. */
export function plainSettings(): Settings | null {
  const span = address.span;
  if (!span) return null;
  return { since: rfc3339(span.sinceMs), until: rfc3339(span.untilMs), service: address.service };
}

/** All settings of the address. */
export function diagnosisSettings(): Settings | null {
  const settings = plainSettings();
  if (!settings) return null;
  for (const flag of FLAGS) settings[flag] = address.param(flag);
  const set = settingsFromText(address.param("settings"));
  if (Object.keys(set).length > 0) settings.set = set;
  const before = baseline();
  if (before) Object.assign(settings, before);
  return settings;
}

/** Baselines by the value of their parameter. */
export const BASELINES: { value: string; name: string }[] = [
  { value: "", name: "Earlier requests, chosen automatically" },
  { value: "none", name: "Nothing: find slow periods" },
  { value: "before", name: "The same length just before" },
  { value: "day", name: "The same time a day before" },
  { value: "week", name: "The same time a week before" },
  { value: "rest", name: "Everything else that is stored" },
  { value: "own", name: "Another window" },
];

const DAY_MS = 86_400_000;

function baseline(): Settings | null {
  const span = address.span;
  if (!span) return null;
  if (address.param("baseline") === "none") return { baseline: "none" };
  if (address.param("baseline") === "rest") return { "baseline-rest": true };
  const back = { before: span.untilMs - span.sinceMs, day: DAY_MS, week: 7 * DAY_MS }[address.param("baseline")];
  if (back !== undefined) return moved(span.sinceMs - back, span.untilMs - back - (address.param("baseline") === "before" ? 1 : 0));
  if (!address.param("baseline-since")) return null;
  const own = resolve(address.param("baseline-since"), address.param("baseline-until"), clock.now);
  return own ? moved(own.sinceMs, own.untilMs) : null;
}

function moved(sinceMs: number, untilMs: number): Settings {
  return { "baseline-since": rfc3339(sinceMs), "baseline-until": rfc3339(untilMs) };
}
