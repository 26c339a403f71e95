/** The PostgreSQL whose tools are in the PATH. pg_dump takes no server that is newer than itself, so clients are tried against replicas of that version. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Where Debian has them, by major version. */
const debianRoot = '/usr/lib/postgresql';
const oldestMajorVersion = 15;

/** The folder of its server's programs, or null: then the embedded PostgreSQL serves, and pg_dump cannot be tried. */
export async function installedPostgres(): Promise<string | null> {
  const { stdout } = await run('pg_dump', ['--version']).catch(() => ({ stdout: '' }));
  const major = Number(/\) (\d+)/.exec(stdout)?.[1] ?? 0);
  if (major < oldestMajorVersion) return null;
  const configured = await run('pg_config', ['--bindir']).catch(() => ({ stdout: '' }));
  const debian = await readdir(debianRoot).catch(() => []);
  const folders = [
    ...debian
      .filter((version) => version === String(major))
      .map((version) => join(debianRoot, version, 'bin')),
    configured.stdout.trim(),
  ];
  return folders.find((folder) => folder !== '' && existsSync(join(folder, 'postgres'))) ?? null;
}
