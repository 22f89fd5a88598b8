// Every page with an address that shows it with data.

import { diagnosis } from "../stub/answers.mjs";

const HOUR = "since=2026-01-12T09:00:00Z&until=2026-01-12T10:00:00Z";

/** A trace of the category that a diagnosis examines, and the operation that is slow in it. */
function examples(scenario) {
  const { categories } = diagnosis(scenario);
  const examined = categories.find((category) => category.tree?.some((node) => node.suspect)) ?? categories[0];
  const trace = `5b8efff798038103d269b633813fc6${(categories.indexOf(examined) % 256).toString(16).padStart(2, "0")}`;
  const slow = examined.tree?.at(-1) ?? examined;
  const suspect = `suspect_service=${encodeURIComponent(slow.service)}&suspect_operation=${encodeURIComponent(slow.operation)}`;
  return { id: examined.id, ofSuspect: `/traces/${trace}?${HOUR}&${suspect}` };
}

/** Every page with an address that shows it with the data of a scenario of the stub; `name` is the name of its screenshots. */
export function placesOf(scenario) {
  const { id, ofSuspect } = examples(scenario);
  const places = [
    { name: "overview", path: `/?${HOUR}` },
    { name: "verdict", path: `/verdict?${HOUR}` },
    { name: "categories", path: `/categories?${HOUR}` },
    { name: "category", path: `/categories/${id}?${HOUR}` },
    { name: "map", path: `/map?${HOUR}` },
    { name: "map-service", path: `/map?${HOUR}&selected=mail-logic` },
    { name: "latency", path: `/latency?${HOUR}&selected_since=1768210560000000000&selected_until=1768210920000000000&min_ns=300000000` },
    { name: "search", path: `/search?${HOUR}` },
    { name: "trace", path: "/traces/5b8efff798038103d269b633813fc60c" },
    { name: "trace-suspect", path: ofSuspect },
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
  // Without suspects there is no incident.
  return places.filter(({ name }) => scenario !== "none" || name !== "incident");
}

export const PLACES = placesOf("one");
const { id: CATEGORY, ofSuspect: OF_SUSPECT } = examples("one");
export { HOUR, CATEGORY, OF_SUSPECT };
