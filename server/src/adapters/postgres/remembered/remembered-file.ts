/**
 * A file beside the data directory that says what was found in it, so that it outlasts a restart of PostgreSQL.
 *
 * Responsible for: of which database it is believed, and how it is read and replaced. What it says is a matter of whoever has it.
 * Invariant: it is only believed of the same database, on a machine that was not started again since: of what a disk loses with the power nothing tells.
 */
import { join } from 'node:path';
import { exactStat, readFile, rename, rm, stat, writeFile } from '../account-files.ts';

/** Beside `data`. A copy of another replica's database removes them before it changes anything. */
export const rememberedNames = { sizes: 'sizes.json', ends: 'ends.json' } as const;

export interface RememberedFileOptions {
  readonly dataDir: string;
  readonly path: string;
  /** A longer file is not read: PostgreSQL's account can put anything there. */
  readonly bytesMax: number;
}

export class RememberedFile {
  private readonly options: RememberedFileOptions;
  /** The database that runs, as it was when the file was read; null: it cannot be told from others. */
  private database: string | null = null;
  private writing: Promise<void> = Promise.resolve();
  private written: { readonly text: string; readonly atMs: number } | null = null;

  constructor(options: RememberedFileOptions) {
    this.options = options;
  }

  /** Another PostgreSQL runs, perhaps over another database: `read` comes first. */
  restart(): void {
    this.database = null;
    this.written = null;
  }

  /** Nothing more is written of what was before `restart`. */
  settled(): Promise<void> {
    return this.writing;
  }

  /** What is remembered of the database that runs; `of` names it. Null: nothing can be. */
  async read(): Promise<{ readonly of: string; readonly text: string } | null> {
    const of = await nameOf(this.options.dataDir);
    this.database = of;
    if (of === null) return null;
    const { path, bytesMax } = this.options;
    const text = await stat(path).then(
      ({ size }) => (size > bytesMax ? '' : readFile(path, 'utf8')),
      () => '',
    );
    return { of, text };
  }

  /** `encode`: what is to be remembered of the database of this name. `everyMs`: so seldom it is worth it. Not synced: after a power loss it is not believed anyway. What cannot be written is not remembered. */
  async save(encode: (of: string) => string, everyMs: number): Promise<void> {
    const { database: of, written } = this;
    if (of === null || (written !== null && performance.now() - written.atMs < everyMs)) return;
    // Its directory may hold another one by now.
    if ((await nameOf(this.options.dataDir)) !== of || of !== this.database) return;
    const text = encode(of);
    this.written = { text, atMs: performance.now() };
    if (text !== written?.text) this.writing = this.replace(text).catch(() => undefined);
    await this.writing;
  }

  private async replace(text: string): Promise<void> {
    const { path } = this.options;
    await rm(`${path}.new`, { force: true });
    await writeFile(`${path}.new`, text, { flag: 'wx' });
    await rename(`${path}.new`, path);
  }
}

/** Tells a database from every other, and from itself before the machine was started: PostgreSQL writes pg_control in place, and a copy makes it anew. Null: the system does not tell. */
async function nameOf(dataDir: string): Promise<string | null> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    const { ino, birthtimeNs } = await exactStat(join(dataDir, 'global', 'pg_control'));
    return `${boot.trim()} ${ino} ${birthtimeNs}`;
  } catch {
    return null;
  }
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
