#!/usr/bin/env node
// The `barista` command. What it does is in server/src/cli; this only finds it.
import { existsSync } from 'node:fs';

const main = new URL('../server/dist/cli/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write(
    'Barista is not built yet. Run "npm ci" and "npm run build:server" first, or "npm start".\n',
  );
  process.exit(1);
}
const { run } = await import(main.href);
process.exit(await run(process.argv));
