/**
 * The simulator of groups with a bug planted into the product's own source, as it is bundled: the product has no switch for any bug.
 *
 * Invariant: a bug whose text is not there exactly once is not planted at all, and that is an error.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'vite';
import type { runSchedule } from './group-schedule.ts';
import { replaceOnce, type Mutation } from '../nemesis/mutate.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Below it the packages are found. */
const directory = join(root, 'node_modules', '.cache', 'barista-mutants');

/** @throws Error if the text is not there once */
export async function loadMutant(name: string, mutations: readonly Mutation[]): Promise<typeof runSchedule> {
  await mkdir(directory, { recursive: true });
  const planted = new Set<Mutation>();
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: join(root, 'harness/groups/group-schedule.ts'),
      outDir: directory,
      emptyOutDir: false,
      minify: false,
      rollupOptions: { output: { entryFileNames: `${name}.mjs` } },
    },
    plugins: [
      {
        name: 'plant',
        enforce: 'pre',
        transform(code, id) {
          let text = code;
          for (const mutation of mutations) {
            if (!id.endsWith(`/server/src/${mutation.file}`)) continue;
            text = replaceOnce(text, mutation);
            planted.add(mutation);
          }
          return text === code ? null : { code: text, map: null };
        },
      },
    ],
  });
  const missing = mutations.find((mutation) => !planted.has(mutation));
  if (missing !== undefined) throw new Error(`${missing.file} is no part of the simulator`);
  const url = pathToFileURL(join(directory, `${name}.mjs`));
  url.search = String(performance.now());
  const loaded = (await import(url.href)) as { readonly runSchedule: typeof runSchedule };
  return loaded.runSchedule;
}
