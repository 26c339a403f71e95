/** The files of tests of each kind, and what each rests on. Only what takes long is spared: the other unit tests run each time. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesBelow, type Place, root } from './rests-on.ts';

export const projects = ['unit', 'pg', 'tlc', 'zk', 'e2e'] as const;
export type Project = (typeof projects)[number];

const ROOTS = ['server/src', 'harness', 'dashboard', 'scripts', 'packaging'];
const NOT_OURS = new Set(['node_modules', 'dist', '.cache']);

/** Whole products that such a test starts, whatever it imports. */
const STARTS: Readonly<Record<Project, readonly string[]>> = {
  unit: [],
  pg: [],
  tlc: ['specs', 'scripts/specs'],
  zk: [],
  e2e: ['server/src', 'bin', 'specs'],
};
/** How the product is built. */
const BUILT_BY = ['package.json', 'server/tsconfig.build.json'];
const BROWSER = 'playwright-core';

export function projectOf(file: string): Project | null {
  const match = /(?:\.(\w+))?\.test\.tsx?$/.exec(file);
  if (match === null) return null;
  const suffix = match[1] ?? 'unit';
  return projects.find((project) => project === suffix) ?? null;
}

/** From the top of the repository, in the order of their names. */
export function testFiles(project: Project): readonly string[] {
  return ROOTS.flatMap(below)
    .filter((file) => projectOf(file) === project)
    .sort();
}

function below(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : below(path);
    return [path];
  });
}

/** Null: runs each time. Unit tests that simulate, plant bugs or judge traces take half of the time of all of them. */
export function placeOf(file: string): Place | null {
  const project = projectOf(file);
  if (project === null) return null;
  if (project === 'unit' && !/^(harness|dashboard\/sim)\//.test(file)) return null;
  const folders = [dirname(file), ...STARTS[project]];
  if (project === 'e2e' && usesBrowser(file, folders)) folders.push('dashboard');
  const entries = project === 'e2e' ? [file, ...BUILT_BY] : [file];
  return { entries, folders };
}

function usesBrowser(file: string, folders: readonly string[]): boolean {
  const files = filesBelow({ entries: [file], folders: folders.slice(0, 1) });
  return files.some(
    (each) => /\.tsx?$/.test(each) && readFileSync(join(root, each), 'utf8').includes(BROWSER),
  );
}
