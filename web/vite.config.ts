import { readFileSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/** Where `npm run dev` finds an API: `laggard serve`, or the stub of recorded responses. */
const api = process.env.LAGGARD_API ?? "http://127.0.0.1:4316";

/** The dark colors once more for readers who selected them; reports, which share the style sheet, have no such choice. */
const selectedTheme: Plugin = {
  name: "selected-theme",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/colors.css")) return null;
    const dark = /:root:not\(\[data-theme="light"\]\) \{([^}]*)\}/.exec(code)?.[1] ?? "";
    return `${code}:root[data-theme="light"] { color-scheme: light; }\n:root[data-theme="dark"] { color-scheme: dark; ${dark} }\n`;
  },
};

/** The paths of all pages, a line each: the server answers 404 for others. */
const routes: Plugin = {
  name: "routes",
  apply: "build",
  generateBundle() {
    const table = readFileSync(new URL("src/app/routes.ts", import.meta.url), "utf8");
    const forms = readFileSync(new URL("src/questions/generated.ts", import.meta.url), "utf8").split("export const SAMPLE_FORMS")[1] ?? "";
    const pages = [...table.matchAll(/\{ path: "([^"]+)"/g)].map(([, path]) => path);
    const questions = [...forms.matchAll(/^ {4}"name": "([^"]+)"/gm)].map(([, name]) => `/${name}`);
    this.emitFile({ type: "asset", fileName: "routes.txt", source: `${[...pages, ...questions].join("\n")}\n` });
  },
};

export default defineConfig({
  plugins: [selectedTheme, routes, svelte()],
  build: {
    target: "es2022",
    // The content security policy forbids `data:` addresses, so nothing is put inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    // The built files are in the repository: their names do not change with their content.
    rolldownOptions: { output: { entryFileNames: "assets/app.js", chunkFileNames: "assets/[name].js", assetFileNames: "assets/[name][extname]" } },
  },
  server: { proxy: { "/api": api, "/healthz": api, "/readyz": api, "/version": api } },
});
