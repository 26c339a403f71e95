/**
 * What a test rests on: the files that it imports, names or starts, at any depth, and a digest of their text.
 *
 * Invariant: rather too many files than too few. A file that is missing here lets a change pass untested; one too many costs a run.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** Without these no test gives what it gave: the packages, and how tests are run. */
const OF_EVERY_TEST = ['package-lock.json', 'vitest.config.ts', 'tsconfig.base.json'];
const DIGEST_LENGTH = 16;
const IS_SOURCE = /\.(ts|tsx|mjs|js)$/;
const IS_TEST = /\.test\.tsx?$/;
/** What builds and tests leave behind. */
const NOT_OURS = new Set([
  'node_modules',
  'dist',
  '.tlc',
  'states',
  '.cache',
  'venv',
  'gen',
  '__pycache__',
  'target',
]);

/** Modules by `import`, `export from` and `import()`. */
const IMPORTED = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;
/** Files beside a module, by `import.meta.url`; of a template what stands before its first `${`. */
const BESIDE = /new URL\(\s*(?:'([^']*)'|`([^`$]*)[^`]*`),\s*import\.meta\.url/g;
/** Any other string that may be the path of a file from the top of the repository. */
const NAMED = /'([\w@.-]+(?:\/[\w@.-]+)+)'/g;

/** What passed is written here, and no test rests on it. */
const NOTES = new Set(['proven.json', 'proven.json.new']);

export interface Place {
  /** Files, from the top of the repository. */
  readonly entries: readonly string[];
  /** Folders of which all counts but tests. */
  readonly folders?: readonly string[];
}

/** All files, from the top of the repository, in the order of their names. @throws Error for an entry or a folder that is not there */
export function filesBelow({ entries, folders = [] }: Place): readonly string[] {
  const found = new Set<string>();
  const waiting = [...entries];
  for (const folder of folders) waiting.push(...filesOf(folder));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    if (IS_SOURCE.test(file)) waiting.push(...neighboursOf(file));
  }
  return [...found].sort();
}

/** Of the text of all files that the place rests on, the packages and Node.js; `also` is what else tells two runs apart. */
export function digestOf(place: Place, also = ''): string {
  const hash = createHash('sha256').update(`${process.versions.node.split('.')[0]}\0${also}`);
  for (const file of [...OF_EVERY_TEST, ...filesBelow(place)])
    hash.update(`\0${file}\0${digestOfFile(file)}`);
  return hash.digest('hex').slice(0, DIGEST_LENGTH);
}

const digests = new Map<string, string>();
/** A file is read once in a process: whoever asks again later forgets first. */
function digestOfFile(file: string): string {
  let digest = digests.get(file);
  if (digest === undefined) {
    digest = createHash('sha256')
      .update(readFileSync(join(root, file)))
      .digest('hex');
    digests.set(file, digest);
  }
  return digest;
}

const neighbours = new Map<string, readonly string[]>();
function neighboursOf(file: string): readonly string[] {
  const known = neighbours.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(join(root, file), 'utf8');
  const folder = dirname(join(root, file));
  const result: string[] = [];
  for (const [, path = ''] of text.matchAll(IMPORTED)) {
    const target = moduleAt(resolve(folder, path.replace(/\?.*$/, '')));
    if (target !== null) result.push(target);
  }
  for (const [, plain, beginning] of text.matchAll(BESIDE))
    result.push(...besideOf(folder, plain ?? beginning ?? ''));
  // It may read files beside it by names that are put together.
  if (text.includes('import.meta.')) result.push(...dataIn(dirname(file)));
  for (const [, path = ''] of text.matchAll(NAMED)) if (isFile(join(root, path))) result.push(path);
  neighbours.set(file, result);
  return result;
}

/** The texts of files may have changed. */
export function forget(): void {
  digests.clear();
  neighbours.clear();
}

function besideOf(folder: string, path: string): readonly string[] {
  const target = resolve(folder, path);
  const below = relative(root, target);
  if (below === '' || below.startsWith('..') || below.startsWith('node_modules')) return [];
  const asModule = moduleAt(target);
  if (asModule !== null) return [asModule];
  if (isFolder(target)) return filesOf(below);
  // A name that is put together: all that begins so.
  const beginning = target;
  return isFolder(dirname(target)) && below.includes('/')
    ? filesOf(relative(root, dirname(target))).filter((file) => join(root, file).startsWith(beginning))
    : [];
}

/** `x.js` stands for `x.ts` in modules that are built. */
function moduleAt(target: string): string | null {
  const stem = target.replace(/\.js$/, '');
  const path = [target, `${stem}.ts`, `${stem}.tsx`].find(isFile);
  return path === undefined ? null : relative(root, path);
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** What is no source, in the folder itself. */
function dataIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile() && !IS_SOURCE.test(entry.name) && !NOTES.has(entry.name))
    .map(({ name }) => join(folder, name));
}

/** All that is not a test, at any depth. */
function filesOf(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesOf(path);
    return IS_TEST.test(entry.name) || NOTES.has(entry.name) || !entry.isFile() ? [] : [path];
  });
}
