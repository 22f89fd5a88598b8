// Kinds of causes in a word or two.

import type { CauseClass } from "../api/generated.ts";

const WORDS: Record<CauseClass, string> = {
  code: "code",
  configuration: "configuration",
  load: "load",
  machine: "one machine",
  "foreign-load": "other processes",
  network: "network or queue",
  waiting: "waiting",
  dependency: "dependency",
  errors: "errors",
  data: "data",
  "uneven-load": "uneven load",
  unknown: "unknown",
};

/** `other processes`; a dash where it was not looked for. */
export const causeWords = (cause: CauseClass | null | undefined): string => (cause ? WORDS[cause] : "–");
