/**
 * The simulator of groups, or another part of the harness, with a bug planted into the product's own source, as it is bundled: the product has no switch for any bug.
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
  const entry = 'harness/groups/group-schedule.ts';
  const loaded = await loadMutated<{ readonly runSchedule: typeof runSchedule }>({ entry, name, mutations });
  return loaded.runSchedule;
}

/** A module of the harness with all that it imports. @throws Error if the text is not there once */
export async function loadMutated<Loaded>({
  entry,
  name,
  mutations,
}: {
  readonly entry: string;
  readonly name: string;
  readonly mutations: readonly Mutation[];
}): Promise<Loaded> {
  await mkdir(directory, { recursive: true });
  const planted = new Set<Mutation>();
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: {
      ssr: join(root, entry),
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
  if (missing !== undefined) throw new Error(`${missing.file} is no part of ${entry}`);
  const url = pathToFileURL(join(directory, `${name}.mjs`));
  url.search = String(performance.now());
  return (await import(url.href)) as Loaded;
}
