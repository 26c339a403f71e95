/**
 * Builds the dashboard into dashboard/dist, which the demo serves; with `--mode lab` into dashboard/lab, which needs no server of ours: any that hands out files will do. `vite dashboard` serves it with hot reload and passes
 * the API on to the address in BARISTA_API (the demo, or the fixture server of dashboard/dev).
 *
 * The simulator's Worker has the replica's own code in it: what that takes of Node.js is in sim/browser. It is built once more for each planted bug that the page shows beside it (sim/planted).
 */
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { plantBugs } from './dev/plant-bugs.ts';

const api = process.env['BARISTA_API'] ?? 'http://127.0.0.1:8080';
const standIns = join(import.meta.dirname, 'sim/browser');

/** The page asks nobody for anything: the browser holds it to that. */
const asksNobody: Plugin = {
  name: 'asks-nobody',
  transformIndexHtml: () => [
    {
      tag: 'meta',
      attrs: {
        'http-equiv': 'Content-Security-Policy',
        content:
          "default-src 'self'; connect-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
      },
      injectTo: 'head-prepend',
    },
  ],
};

export default defineConfig(({ mode }) => ({
  root: import.meta.dirname,
  plugins: [plantBugs(), react(), ...(mode === 'lab' ? [asksNobody] : [])],
  base: './',
  resolve: {
    alias: [
      ...['path', 'net', 'zlib', 'stream'].map((name) => ({
        find: `node:${name}`,
        replacement: join(standIns, `node-${name}.ts`),
      })),
      // Who judges a run: in a browser there is no Java.
      { find: /^.*\/judge\/judges\.ts$/, replacement: join(import.meta.dirname, 'check/browser-judges.ts') },
    ],
  },
  worker: { format: 'es', plugins: () => [plantBugs()] },
  build: {
    outDir: mode === 'lab' ? 'lab' : 'dist',
    emptyOutDir: true,
    target: 'es2023',
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { '/api': { target: api, ws: true } } },
}));
