// The address bar as state: every view can be shared as a link.

import { tick } from "svelte";
import { SvelteMap } from "svelte/reactivity";
import { clock } from "./clock.svelte.ts";
import { DEFAULT_SINCE, resolve, type Span } from "./window.ts";
import { rfc3339 } from "../format/times.ts";

/** Parameters that links to other pages include. */
const SHARED = ["since", "until", "service"];

interface PageAddress {
  path: string;
  params: URLSearchParams;
}

let current = $state.raw<PageAddress>(here());

function here(): PageAddress {
  return { path: location.pathname, params: new URLSearchParams(location.search) };
}

window.addEventListener("popstate", read);

/** The parameters one by one: an effect that reads one does not depend on the others. */
const each = new SvelteMap<string, string>(current.params);

function param(name: string): string {
  return each.get(name) ?? "";
}

/** Reads the address bar. */
function read(): void {
  current = here();
  for (const name of [...each.keys()]) if (!current.params.has(name)) each.delete(name);
  for (const [name, value] of current.params) each.set(name, value);
}

const path = $derived(current.path);
const span = $derived(resolve(param("since"), param("until"), clock.now));

/** Changes of parameters: `null` and `""` remove one. */
export type Changes = Record<string, string | number | null | undefined>;

export const address = {
  get path(): string {
    return path;
  },
  /** A parameter of the address; `""` when it is missing. */
  param,
  /** All of them; an effect that reads this depends on every one. */
  get params(): URLSearchParams {
    return current.params;
  },
  get service(): string {
    return param("service");
  },
  get since(): string {
    return param("since") || DEFAULT_SINCE;
  },
  get until(): string {
    return param("until") || "now";
  },
  /** The window, in milliseconds; relative ends follow the clock's last tick. `null` when it cannot be read. */
  get span(): Span | null {
    return span;
  },
};

/** The address of a page that keeps window and service. */
export function link(path: string, changes: Changes = {}): string {
  const shared = SHARED.filter((name) => current.params.get(name)).map((name) => [name, current.params.get(name) ?? ""]);
  return written(path, apply(new URLSearchParams(shared), changes));
}

/** The address of the page of one thing: a trace, a category. Its id may hold anything. */
export function linkTo(page: string, id: string, changes: Changes = {}): string {
  return link(`${page}/${encodeURIComponent(id)}`, changes);
}

/** The address of this page with other parameters. */
export function changed(changes: Changes): string {
  return written(current.path, apply(new URLSearchParams(current.params), changes));
}

/** Parameters for a window between two moments. */
export function fixed(span: Span): Changes {
  return { since: rfc3339(span.sinceMs), until: rfc3339(span.untilMs) };
}

function apply(params: URLSearchParams, changes: Changes): URLSearchParams {
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") params.delete(name);
    else params.set(name, `${value}`);
  }
  return params;
}

/** Colons and slashes may stand in a query; links stay readable. */
function written(path: string, params: URLSearchParams): string {
  const query = params.toString().replaceAll("%3A", ":").replaceAll("%2F", "/");
  return query ? `${path}?${query}` : path;
}

/** Goes there; the focus follows to the new page's heading. */
export function go(href: string, how: "push" | "replace" = "push"): void {
  const before = current.path;
  if (how === "push") history.pushState(null, "", href);
  else history.replaceState(null, "", href);
  read();
  if (current.path !== before) void focusHeading();
}

async function focusHeading(): Promise<void> {
  await tick();
  window.scrollTo(0, 0);
  document.querySelector<HTMLElement>("#main")?.focus({ preventScroll: true });
}

/** Turns clicks on links within the pages into navigation without loading. */
export function onLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = (event.target as Element | null)?.closest("a");
  if (!anchor || anchor.target || anchor.hasAttribute("download") || anchor.origin !== location.origin) return;
  if (anchor.pathname.startsWith("/api/") || anchor.hash || anchor.dataset.plain !== undefined) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
}
