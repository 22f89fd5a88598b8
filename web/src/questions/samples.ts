// The settings of a question about samples, which the address holds.

import type { Settings } from "../api/question_job.svelte.ts";
import { ends } from "../api/window_query.ts";
import { address } from "../app/address.svelte.ts";
import { type Field, missing, settingsOf } from "./settings.ts";

/** The settings of the address for stored samples; `null` until they are complete and submitted. */
export function samplesQuestion(fields: Field[]): Settings | null {
  if (!address.param("run") || !address.span || missing(fields, address.param).length > 0) return null;
  return { ...ends(address.span), ...settingsOf(fields, address.param) };
}
