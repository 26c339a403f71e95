/**
 * Builds the dashboard into dashboard/dist, which the demo serves. `vite dashboard` serves it with hot reload and passes
 * the API on to the address in BARISTA_API (the demo, or the fixture server of dashboard/dev).
 */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const api = process.env['BARISTA_API'] ?? 'http://127.0.0.1:8080';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  base: './',
  build: { outDir: 'dist', emptyOutDir: true, target: 'es2023', chunkSizeWarningLimit: 400 },
  server: { proxy: { '/api': { target: api, ws: true } } },
});
