// The page of an exported controller: one self-contained script that runs its graph and shows the character.
import { defineConfig } from "vite";

export default defineConfig({
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir: "../src/ambulo/export/static",
    emptyOutDir: false,
    target: "es2022",
    lib: { entry: "src/live/index.tsx", name: "AmbuloLive", formats: ["iife"], fileName: () => "live.js" },
    copyPublicDir: false,
  },
});
