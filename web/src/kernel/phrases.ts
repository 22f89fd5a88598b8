// Words, tones and colors of kernel reports.

import type { KernelDiagnosis } from "../api/kernel.ts";

export const VERDICTS: Record<KernelDiagnosis["verdict"], { words: string; tone: string }> = {
  slower: { words: "Slower", tone: "bad" },
  "slower-overall": { words: "Slower overall", tone: "bad" },
  "nothing-found": { words: "Nothing found", tone: "good" },
  "insufficient-data": { words: "Too little data", tone: "unsure" },
};

export const CAUSES: Record<string, string> = {
  computing: "computing",
  other_thread: "another thread",
  cpu_quota: "CPU quota",
  cpu_busy: "busy CPU",
  cpu_wake_up: "waking up",
  disk: "disk",
  network: "network",
  timer: "timer",
  interrupt: "interrupt",
  person: "a person",
  unresolved: "not in the trace",
  unknown: "unknown",
};

/** States in the order of their colors. */
export const STATES: { name: string; words: string; token: string }[] = [
  { name: "running", words: "running", token: "s2" },
  { name: "preempted", words: "waiting for a CPU", token: "s4" },
  { name: "block_device", words: "disk", token: "s0" },
  { name: "network", words: "network", token: "s3" },
  { name: "timer", words: "timer", token: "s6" },
  { name: "interrupted", words: "interrupted", token: "s5" },
  { name: "ipi", words: "other CPU", token: "s5" },
  { name: "user_input", words: "user input", token: "s1" },
  { name: "blocked", words: "blocked", token: "s7" },
  { name: "unknown", words: "unknown", token: "s7" },
];

/** The color token of a state. */
export function tokenOf(state: string): string {
  return STATES.find((one) => one.name === state)?.token ?? "s7";
}

/** A thread with its number. */
export function threadName(thread: string, tid: number | null, host = ""): string {
  return `${thread}${tid === null ? "" : ` (${tid})`}${host ? ` on ${host}` : ""}`;
}
