// Every page with an address that shows it with data.

import { diagnosis } from "../stub/answers.mjs";

const HOUR = "since=2026-01-12T09:00:00Z&until=2026-01-12T10:00:00Z";
const { categories } = diagnosis("one");
const examined = categories.find((category) => category.tree?.some((node) => node.suspect)) ?? categories[0];
const { id } = examined;
/** A trace of the category, and the operation that is slow in it. */
const TRACE = `5b8efff798038103d269b633813fc6${categories.indexOf(examined).toString(16).padStart(2, "0")}`;
const SUSPECT = examined.tree?.at(-1) ?? examined;
const OF_SUSPECT = `/traces/${TRACE}?${HOUR}&suspect_service=${encodeURIComponent(SUSPECT.service)}&suspect_operation=${encodeURIComponent(SUSPECT.operation)}`;

/** `name` is the name of its screenshots. */
export const PLACES = [
  { name: "overview", path: `/?${HOUR}` },
  { name: "verdict", path: `/verdict?${HOUR}` },
  { name: "categories", path: `/categories?${HOUR}` },
  { name: "category", path: `/categories/${id}?${HOUR}` },
  { name: "map", path: `/map?${HOUR}` },
  { name: "map-service", path: `/map?${HOUR}&selected=mail-logic` },
  { name: "latency", path: `/latency?${HOUR}&selected_since=1768210560000000000&selected_until=1768210920000000000&min_ns=300000000` },
  { name: "search", path: `/search?${HOUR}` },
  { name: "trace", path: "/traces/5b8efff798038103d269b633813fc60c" },
  { name: "trace-suspect", path: OF_SUSPECT },
  { name: "compare", path: `/compare?${HOUR}&before-since=2026-01-12T08:00:00Z&before-until=2026-01-12T09:00:00Z&run=1` },
  { name: "changes", path: `/changes?${HOUR}&run=1` },
  { name: "signature", path: `/signature?${HOUR}&run=1` },
  { name: "capacity", path: `/capacity?${HOUR}&latency-max=500ms&run=1` },
  { name: "kernel", path: "/kernel" },
  { name: "incidents", path: `/incidents?${HOUR}` },
  { name: "incident", path: `/incidents/incident-0?${HOUR}` },
  { name: "deployments", path: `/deployments?${HOUR}` },
  { name: "alerts", path: `/alerts?${HOUR}` },
  { name: "objectives", path: "/objectives" },
  { name: "import", path: "/import" },
  { name: "jobs", path: "/jobs" },
  { name: "status", path: "/status" },
];

export { HOUR, id as CATEGORY, OF_SUSPECT };
