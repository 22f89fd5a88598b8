// Light or dark: as the system has it, unless a theme is selected. `public/theme.js` applies it before the first paint.

export type Theme = "system" | "light" | "dark";

const KEY = "laggard.theme";
const root = document.documentElement;
const system = window.matchMedia("(prefers-color-scheme: dark)");

const stored = root.dataset.theme;
let selected = $state<Theme>(stored === "light" || stored === "dark" ? stored : "system");
let systemDark = $state(system.matches);
system.addEventListener("change", (event) => {
  systemDark = event.matches;
});

export const theme = {
  get selected(): Theme {
    return selected;
  },
  /** What is on screen; charts drawn on canvas read it to draw again. */
  get shown(): "light" | "dark" {
    if (selected !== "system") return selected;
    return systemDark ? "dark" : "light";
  },
  select(next: Theme): void {
    selected = next;
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      if (next === "system") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, next);
    } catch {
      // Storage may be forbidden; the choice then lasts as long as the page.
    }
  },
};

/** The color of a shape's class, for drawing on canvas. */
export function shapeColor(name: string): string {
  const probe = Object.assign(document.createElement("i"), { className: name, hidden: true });
  document.body.append(probe);
  const value = getComputedStyle(probe).getPropertyValue("--c").trim();
  probe.remove();
  return value;
}

/** The value of a color token, for drawing on canvas. An effect that reads it runs again when the theme changes. */
export function color(token: string): string {
  void theme.shown;
  return getComputedStyle(root).getPropertyValue(`--${token}`).trim();
}
