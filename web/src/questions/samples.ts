// The questions about samples: a row each, and their settings, which the address holds.

import type { Settings } from "../api/question_job.svelte.ts";
import { ends } from "../api/window_query.ts";
import { address } from "../app/address.svelte.ts";
import { type Field, type FilePart, missing, settingsOf } from "./settings.ts";

/** The settings of the address for stored samples; `null` until they are complete and submitted. */
export function samplesQuestion(fields: Field[]): Settings | null {
  if (!address.param("run") || !address.span || missing(fields, address.param).length > 0) return null;
  return { ...ends(address.span), ...settingsOf(fields, address.param) };
}

/** Files of samples. */
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

/** A question about samples; its page is at `/NAME`. */
export interface SampleQuestion {
  /** As in the API. */
  name: string;
  title: string;
  /** The key that goes to its page after `g`. */
  key: string;
  introduction: string;
  /** A command at the end of the introduction. */
  command?: string;
  button: string;
  fields: Field[];
}

/** In the order of the navigation. */
export const SAMPLE_QUESTIONS: [SampleQuestion, ...SampleQuestion[]] = [
  {
    name: "changes",
    title: "Changes",
    key: "h",
    introduction:
      "Whether the application, the workload, or something else on the host changed the CPU utilization, and since when: " +
      "from counts of transactions and CPU utilization, stored or in a file.",
    button: "Find changes",
    fields: SAMPLE_FIELDS,
  },
  {
    name: "signature",
    title: "Signature",
    key: "i",
    introduction:
      "What each type of transaction takes at each server when nothing queues. Save it as JSON and compare it with a later one:",
    command: "laggard signature diff old.json new.json",
    button: "Compute the signature",
    fields: [...SAMPLE_FIELDS, { name: "label", label: "Label", hint: "what it is of: a version, a commit" }],
  },
  {
    name: "capacity",
    title: "Capacity",
    key: "p",
    introduction: "How many clients the system can serve before its mean response time exceeds a target, and what saturates first.",
    button: "Compute the capacity",
    fields: [
      { name: "latency-max", label: "Latency target", placeholder: "500ms", hint: "largest mean response time", required: true },
      ...SAMPLE_FIELDS,
      { name: "think", label: "Think time", hint: "of clients, where it is not measured", rare: true },
      { name: "what-if", label: "What if", many: true, hint: "app.servers=4, cart.demand=-30%", rare: true },
      { name: "load", label: "Load factor", hint: "times the current load", rare: true },
      { name: "mix", label: "Mix", hint: "cart=20%,home=80%", rare: true },
    ],
  },
];
