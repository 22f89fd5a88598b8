// Where the names in a document lead.

import { address, changed, type Changes, fixed, link, linkTo } from "../app/address.svelte.ts";
import type { AlertRow, Interval, PageLink, Window } from "../api/generated.ts";

/** The parameters of an interval in nanoseconds. */
export function interval({ since_ns, until_ns }: { since_ns: number; until_ns: number }): Changes {
  return fixed({ sinceMs: Math.floor(since_ns / 1e6), untilMs: Math.ceil(until_ns / 1e6) });
}

/** The parameters of a suspect that a trace is an example of. */
function suspectOf({ service, operation, usual }: { service: string; operation: string; usual?: Interval | null }): Changes {
  const time = usual ? interval(usual) : {};
  return { suspect_service: service, suspect_operation: operation, usual_since: time.since, usual_until: time.until };
}

const ofJob = (window: Window | null | undefined): Changes => (address.param("job") && window ? interval(window) : {});

/** The address of a page. With the result of a job its window goes along, which need not be the selected one. */
export function hrefOf(page: PageLink, window: Window | null | undefined): string {
  switch (page.to) {
    case "category":
      return linkTo("/categories", page.id, { ...ofJob(window), position: page.position });
    case "trace":
      return linkTo("/traces", page.id, { ...ofJob(window), ...(page.suspect ? suspectOf(page.suspect) : {}) });
    case "diagnosis":
      return link("/verdict", { ...interval(page), baseline: "before" });
    case "executions":
      return changed({ question: "path", executions: page.delimiter });
  }
}

/** The address of a slow request of an alert, with what it suspects and the time that calls are compared with. */
export function slowRequest({ window, baseline, service, operation }: AlertRow, trace: string): string {
  return linkTo("/traces", trace, { ...interval(window), ...suspectOf({ service, operation, usual: baseline }) });
}

/** With a capital letter and, for sentences, a full stop. */
export function sentenceCase(text: string, stop = false): string {
  const end = stop && text !== "" && !/[.!?:]$/.test(text) ? "." : "";
  return text.charAt(0).toUpperCase() + text.slice(1) + end;
}

/** The bare text of spans. */
export const plainText = (prose: { text: string }[]): string => prose.map((span) => span.text).join("");
