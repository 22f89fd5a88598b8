// Runs before the first paint, so that a chosen theme does not flash in the other one.
"use strict";
try {
  const chosen = localStorage.getItem("laggard.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's theme stays.
}
