// Every page: one row here, one file in `pages/`. Questions about samples declare theirs in `crates/app/params`.

import type { Component } from "svelte";
import Alerts from "../pages/Alerts.svelte";
import Categories from "../pages/Categories.svelte";
import Category from "../pages/Category.svelte";
import Compare from "../pages/Compare.svelte";
import Deployments from "../pages/Deployments.svelte";
import Import from "../pages/Import.svelte";
import Incident from "../pages/Incident.svelte";
import Incidents from "../pages/Incidents.svelte";
import Jobs from "../pages/Jobs.svelte";
import Kernel from "../pages/Kernel.svelte";
import Latency from "../pages/Latency.svelte";
import Objectives from "../pages/Objectives.svelte";
import Overview from "../pages/Overview.svelte";
import Samples from "../pages/Samples.svelte";
import Search from "../pages/Search.svelte";
import ServiceMap from "../pages/ServiceMap.svelte";
import Status from "../pages/Status.svelte";
import Trace from "../pages/Trace.svelte";
import Verdict from "../pages/Verdict.svelte";
import { SAMPLE_FORMS } from "../questions/generated.ts";

/** What a page knows of its address. */
export interface PageProps {
  /** The route's. */
  path: string;
  /** The named parts of the path. */
  parts: Record<string, string>;
}

/** A page. */
export interface Route {
  /** `/categories/:id`: a part with a colon matches anything but a slash. */
  path: string;
  title: string;
  /** Its name in the navigation, if the title is too long for it. */
  short?: string;
  /** Where it stands in the navigation; pages without one are reached from others. */
  group?: "Now" | "Questions" | "Data";
  /** The key that goes there after `g`. */
  key?: string;
  /** It has `PageProps`, some of them, or none. */
  page: Component<never>;
}

/** In the order of the navigation. */
export const ROUTES: Route[] = [
  { path: "/", title: "Overview", group: "Now", key: "o", page: Overview },
  { path: "/incidents", title: "Incidents", group: "Now", key: "i", page: Incidents },
  { path: "/incidents/:id", title: "Incident", page: Incident },
  { path: "/verdict", title: "Verdict", group: "Now", key: "v", page: Verdict },
  { path: "/map", title: "Service map", short: "Map", group: "Now", key: "p", page: ServiceMap },
  { path: "/latency", title: "Latency", group: "Now", key: "l", page: Latency },
  { path: "/categories", title: "Categories", group: "Now", key: "c", page: Categories },
  { path: "/categories/:id", title: "Category", page: Category },
  { path: "/search", title: "Search", group: "Now", key: "/", page: Search },
  { path: "/traces/:id", title: "Trace", page: Trace },
  { path: "/objectives", title: "Objectives", group: "Now", key: "b", page: Objectives },
  { path: "/deployments", title: "Deployments", group: "Now", key: "y", page: Deployments },
  { path: "/compare", title: "Compare", group: "Questions", key: "d", page: Compare },
  ...SAMPLE_FORMS.map(({ name, title, key }): Route => ({ path: `/${name}`, title, group: "Questions", key, page: Samples })),
  { path: "/kernel", title: "Kernel traces", short: "Kernel", group: "Questions", key: "k", page: Kernel },
  { path: "/alerts", title: "Alerts", group: "Data", key: "a", page: Alerts },
  { path: "/import", title: "Import", group: "Data", key: "m", page: Import },
  { path: "/jobs", title: "Jobs", group: "Data", key: "j", page: Jobs },
  { path: "/status", title: "Status", group: "Data", key: "s", page: Status },
];
