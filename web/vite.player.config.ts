// The player: one self-contained script for reports and documentation pages.
import { defineConfig } from "vite";

export default defineConfig({
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: "../src/ambulo/export/static",
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: "src/player/index.ts", name: "AmbuloPlayer", formats: ["iife"], fileName: () => "player.js" },
    copyPublicDir: false,
  },
});
