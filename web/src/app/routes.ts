// Every page: one row here, one file in `pages/`.

import type { Component } from "svelte";

/** What a page is given: the named parts of its path. */
export interface PageProps {
  parts: Record<string, string>;
}

/** Pages take `PageProps`, or nothing. */
type Load = () => Promise<{ default: Component<never> }>;

/** A page. */
export interface Route {
  /** `/categories/:id`: a part with a colon matches anything but a slash. */
  path: string;
  title: string;
  /** Where it stands in the navigation; pages without one are reached from others. */
  group?: "Now" | "Questions" | "Data";
  /** The key that goes there after `g`. */
  key?: string;
  load: Load;
}

/** In the order of the navigation. */
export const ROUTES: Route[] = [
  { path: "/", title: "Overview", group: "Now", key: "o", load: () => import("../pages/Overview.svelte") },
  { path: "/verdict", title: "Verdict", group: "Now", key: "v", load: () => import("../pages/Verdict.svelte") },
  { path: "/categories", title: "Categories", group: "Now", key: "c", load: () => import("../pages/Categories.svelte") },
  { path: "/categories/:id", title: "Category", load: () => import("../pages/Category.svelte") },
  { path: "/search", title: "Search", group: "Now", key: "/", load: () => import("../pages/Search.svelte") },
  { path: "/traces/:id", title: "Trace", load: () => import("../pages/Trace.svelte") },
  { path: "/alerts", title: "Alerts", group: "Now", key: "a", load: () => import("../pages/Alerts.svelte") },
  { path: "/compare", title: "Compare", group: "Questions", key: "d", load: () => import("../pages/Compare.svelte") },
  { path: "/changes", title: "Changes", group: "Questions", key: "h", load: () => import("../pages/Changes.svelte") },
  { path: "/signature", title: "Signature", group: "Questions", key: "i", load: () => import("../pages/Signature.svelte") },
  { path: "/capacity", title: "Capacity", group: "Questions", key: "p", load: () => import("../pages/Capacity.svelte") },
  { path: "/kernel", title: "Kernel traces", group: "Questions", key: "k", load: () => import("../pages/Kernel.svelte") },
  { path: "/import", title: "Import", group: "Data", key: "m", load: () => import("../pages/Import.svelte") },
  { path: "/jobs", title: "Jobs", group: "Data", key: "j", load: () => import("../pages/Jobs.svelte") },
  { path: "/status", title: "Status", group: "Data", key: "s", load: () => import("../pages/Status.svelte") },
];
