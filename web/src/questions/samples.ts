// The questions about samples: their settings, which the address holds.

import type { Settings } from "../api/question_job.svelte.ts";
import { ends } from "../api/window_query.ts";
import { address } from "../app/address.svelte.ts";
import { type Field, type FilePart, missing, settingsOf } from "./settings.ts";

/** The settings of the address for stored samples; `null` until they are complete and submitted. */
export function samplesQuestion(fields: Field[]): Settings | null {
  if (!address.param("run") || !address.span || missing(fields, address.param).length > 0) return null;
  return { ...ends(address.span), ...settingsOf(fields, address.param) };
}

/** Files of samples: of changes, signatures, and capacity. */
export const SAMPLE_FILES: FilePart[] = [{ part: "file", label: "Samples, traces or access logs", multiple: true }];

/** How samples become windows. */
export const SAMPLE_FIELDS: Field[] = [
  { name: "window", label: "Window length", placeholder: "60s", hint: "60s, 5m, 500ms" },
  { name: "tier", label: "Tiers", placeholder: "all", many: true, hint: "commas between several" },
  { name: "server", label: "Servers", placeholder: "all", many: true, hint: "replicas, pods or hosts" },
  { name: "front", label: "Front tier", hint: "the tier that clients call", rare: true },
  { name: "cores", label: "Cores", many: true, hint: "4, app=4, db-1=1.5", rare: true },
  {
    name: "utilization",
    label: "Utilization values are",
    rare: true,
    choices: [
      { value: "", label: "recognized" },
      { value: "fraction", label: "0 to 1" },
      { value: "percent", label: "0 to 100" },
      { value: "cores", label: "cores in use" },
    ],
  },
  { name: "deployment", label: "Deployments", many: true, hint: "2026-01-12T09:10:00Z=v1.4", rare: true },
];
