// The studio: the pages that `ambulo play` serves.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/ambulo/studio/static",
    emptyOutDir: true,
    target: "es2022",
    chunkSizeWarningLimit: 900,
    rolldownOptions: { input: ["index.html", "pose.html"] },
  },
  server: {
    // `npm run dev` talks to a studio started with `ambulo play PROJECT --port 8765 --no-browser`.
    proxy: { "/ws": { target: "ws://127.0.0.1:8765", ws: true, changeOrigin: true, rewriteWsOrigin: true }, "/pose/ws": { target: "ws://127.0.0.1:8765", ws: true, changeOrigin: true, rewriteWsOrigin: true } },
  },
});
