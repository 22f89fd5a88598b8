// A window as the API accepts it.

import type { Span } from "../app/window.ts";
import { nsText } from "../format/times.ts";

/** Both ends in nanoseconds, exactly. */
export function ends(span: Span): { since: string; until: string } {
  return { since: nsText(span.sinceMs), until: nsText(span.untilMs) };
}
