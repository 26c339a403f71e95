/**
 * Makes the target's directories like the source's: what the source does not name goes.
 *
 * Responsible for: names. Writes no file. Invariant: links are removed and never followed; nothing outside of the data directory is touched.
 */
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { CopyError } from '../../../ports/copy.ts';
import { lstat, mkdir, readEntries, rm, syncPath } from '../account-files.ts';
import { isCopiedPath, rootLeftovers } from './file-class.ts';

export class TargetTree {
  private readonly dataDir: string;
  private readonly made = new Set<string>();
  /** Of the directory that is being gone through: what is there and was not named yet. */
  private current: { readonly path: string; readonly there: Map<string, Dirent> } | null = null;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
  }

  /** Removes what would lead a PostgreSQL astray that is started here. */
  async removeLeftovers(): Promise<void> {
    for (const name of rootLeftovers) await rm(join(this.dataDir, name), { recursive: true, force: true });
  }

  /** `path`: relative to the data directory; empty: itself. */
  async beginDirectory(path: string, directories: readonly string[]): Promise<void> {
    if (this.current !== null) throw this.outOfPlace(path);
    if (path !== '') this.assertCopied(path);
    const full = join(this.dataDir, path);
    const found = await lstat(full).catch(() => null);
    if (found !== null && !found.isDirectory()) await rm(full, { force: true });
    if (found === null || !found.isDirectory()) await mkdir(full);
    this.made.add(full);
    const there = new Map((await readEntries(full)).map((entry) => [entry.name, entry]));
    for (const name of directories) {
      const entry = there.get(name);
      if (entry === undefined || entry.isDirectory()) there.delete(name);
    }
    this.current = { path, there };
  }

  /** A file that belongs into this directory. Returns its path, relative to the data directory; whatever is there by that name is a file, or nothing. */
  async name(name: string): Promise<string> {
    if (this.current === null) throw this.outOfPlace(name);
    const { path, there } = this.current;
    const full = path === '' ? name : `${path}/${name}`;
    this.assertCopied(full);
    const entry = there.get(name);
    there.delete(name);
    if (entry !== undefined && !entry.isFile())
      await rm(join(this.dataDir, full), { recursive: true, force: true });
    return full;
  }

  async endDirectory(): Promise<void> {
    if (this.current === null) throw this.outOfPlace('the end of a directory');
    const { path, there } = this.current;
    this.current = null;
    // In the root there are files of the replica's own.
    if (path === '') return;
    for (const name of there.keys())
      await rm(join(this.dataDir, path, name), { recursive: true, force: true });
  }

  /** Makes all names durable. */
  async sync(): Promise<void> {
    for (const directory of this.made) await syncPath(directory);
  }

  private assertCopied(path: string): void {
    if (!isCopiedPath(path))
      throw new CopyError('copyInvalid', `the name ${JSON.stringify(path)} does not belong to a copy`);
  }

  private outOfPlace(what: string): CopyError {
    return new CopyError('copyInvalid', `${JSON.stringify(what)} came out of place`);
  }
}
