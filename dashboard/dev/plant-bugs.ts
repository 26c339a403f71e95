/**
 * A plugin of Vite: the simulator's Worker once more with a planted bug of the harness in the product's modules, for each entry in sim/planted. An entry's file is named as its bug is, in kebab-case.
 *
 * The modules of such a Worker are told apart from the product's by `?planted=BUG`, also where the server of development hands them out one by one. The product has no switch for any bug.
 * Invariant: a bug whose text is not there exactly once, or whose module is not in the Worker, fails the build.
 */
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Plugin } from 'vite';
import { plantedBugs } from '../../harness/groups/planted.ts';
import type { PlantedBug } from '../../harness/groups/planted-bug.ts';
import { type Mutation, replaceOnce } from '../../harness/nemesis/mutate.ts';

const root = join(import.meta.dirname, '../..');
const entries = join(root, 'dashboard/sim/planted/');
const mark = /[?&]planted=(\w+)/;

export function plantBugs(): Plugin {
  let planted = new Map<PlantedBug, Set<Mutation>>();
  return {
    name: 'plant-bugs',
    enforce: 'pre',
    buildStart() {
      planted = new Map();
    },
    async resolveId(source, importer, options) {
      const bug = importer === undefined ? null : bugOf(importer);
      if (bug === null) return null;
      const resolved = await this.resolve(source, pathOf(importer!), { ...options, skipSelf: true });
      if (resolved === null || resolved.external !== false) return resolved;
      const path = pathOf(resolved.id);
      const isOurs = path.startsWith(`${root}/`) && !path.includes('/node_modules/');
      return isOurs ? { ...resolved, id: `${path}?planted=${bug.name}` } : resolved;
    },
    async load(id) {
      if (!mark.test(id)) return null;
      this.addWatchFile(pathOf(id));
      return readFile(pathOf(id), 'utf8');
    },
    transform(code, id) {
      const bug = mark.test(id) ? bugOf(id) : null;
      if (bug === null) return null;
      const done = planted.get(bug) ?? new Set<Mutation>();
      planted.set(bug, done);
      let text = code;
      for (const mutation of bug.mutations) {
        if (pathOf(id) !== join(root, 'server/src', mutation.file)) continue;
        text = replaceOnce(text, mutation);
        done.add(mutation);
      }
      return text === code ? null : { code: text, map: null };
    },
    buildEnd(error) {
      if (error !== undefined) return;
      for (const [bug, done] of planted) {
        const missing = bug.mutations.find((mutation) => !done.has(mutation));
        if (missing !== undefined) this.error(`${bug.name}: ${missing.file} is no part of the Worker`);
      }
    },
  };
}

/** By the mark of its modules, or the name of its entry. */
function bugOf(id: string): PlantedBug | null {
  const path = pathOf(id);
  const isEntry = path.startsWith(entries);
  const name = mark.exec(id)?.[1] ?? (isEntry ? camelCase(basename(path, '.ts')) : null);
  if (name === null) return null;
  const bug = plantedBugs.find((one) => one.name === name);
  if (bug === undefined) throw new Error(`harness/groups has no planted bug of the name ${name}`);
  return bug;
}

function pathOf(id: string): string {
  return id.replace(/[?#].*$/s, '');
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
