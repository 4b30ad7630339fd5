// `npm run dev` shows the console against a server that runs: DOVE_URL (http://127.0.0.1:7717) and,
// where there is no cookie, the token in DOVE_TOKEN.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const token = process.env.DOVE_TOKEN;

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: process.env.DOVE_CONSOLE_OUT ?? 'dist',
    emptyOutDir: true,
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
  server: {
    proxy: {
      '/v1': {
        target: process.env.DOVE_URL ?? 'http://127.0.0.1:7717',
        ws: true,
        headers: token ? { Authorization: `Bearer ${token}` } : {},
      },
    },
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
