import { defineConfig } from "vite";

// Names without hashes: the program that serves the page has the files by their names.
const names = {
  entryFileNames: "[name].js",
  chunkFileNames: "[name].js",
  assetFileNames: "[name][extname]",
};

export default defineConfig({
  base: "./",
  server: { fs: { allow: [".."] } },
  build: { target: "es2023", chunkSizeWarningLimit: 1000, assetsInlineLimit: 0, modulePreload: { polyfill: false }, rollupOptions: { output: names } },
  worker: { format: "es", rollupOptions: { output: names } },
});
