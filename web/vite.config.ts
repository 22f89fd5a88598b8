import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

/** Where `npm run dev` finds an API: `laggard serve`, or the stub of recorded answers. */
const api = process.env.LAGGARD_API ?? "http://127.0.0.1:4316";

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022",
    // The content security policy forbids `data:` addresses, so nothing is put inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 400,
  },
  server: { proxy: { "/api": api, "/healthz": api, "/readyz": api, "/version": api } },
});
