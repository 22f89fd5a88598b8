// Light or dark: the system's choice unless somebody chose. `public/theme.js` applies it before the first paint.

export type Theme = "system" | "light" | "dark";

const KEY = "laggard.theme";
const root = document.documentElement;
const system = window.matchMedia("(prefers-color-scheme: dark)");

const given = root.dataset.theme;
let chosen = $state<Theme>(given === "light" || given === "dark" ? given : "system");
let systemDark = $state(system.matches);
system.addEventListener("change", (event) => {
  systemDark = event.matches;
});

export const theme = {
  get chosen(): Theme {
    return chosen;
  },
  /** What is on screen; charts drawn on canvas read it to draw again. */
  get shown(): "light" | "dark" {
    if (chosen !== "system") return chosen;
    return systemDark ? "dark" : "light";
  },
  choose(next: Theme): void {
    chosen = next;
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

/** The value of a color token, for drawing on canvas. Who reads it is told when the theme changes. */
export function color(token: string): string {
  void theme.shown;
  return getComputedStyle(root).getPropertyValue(`--${token}`).trim();
}
