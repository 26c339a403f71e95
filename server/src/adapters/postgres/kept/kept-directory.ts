/**
 * The copy that a replica keeps of its own database, on disk, beside that:
 *
 *   postgres/kept/data           a whole data directory in which no PostgreSQL has run; `barista-copy.json` in it says what it is a copy of
 *   postgres/kept.new, kept.old  one that is being made, and the one before while they change places
 *   postgres/data                the database in use; with `barista-copy.json` in it while its sequences are not set yet
 *
 * Invariants: whoever finds `kept` finds a whole copy, durably; what is in use never becomes part of a copy that is installed: it is removed first.
 */
import { constants } from 'node:fs';
import { cp } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { exists, makeDirectories, readFile, rename, rm, syncPath, writeDurably } from '../account-files.ts';
import type { LaunchUser } from '../launch-user.ts';
import { handOver } from '../owners.ts';
import type { Slot } from '../../../multipaxos/types/names.ts';
import { parseLsn, type Timeline } from '../../../wal/lsn.ts';
import { labelFile } from '../copy/file-class.ts';
import { cutWal } from './copied-wal.ts';
import { syncTree } from './sync-tree.ts';

export const noteName = 'barista-copy.json';
const formatVersion = 1;
const shape = z.strictObject({
  version: z.literal(formatVersion),
  cluster: z.string(),
  slot: z
    .int()
    .min(0)
    .transform((slot) => slot as Slot),
  /** Where sequences stood. */
  sequences: z.array(
    z.strictObject({
      database: z.string(),
      oid: z.int().min(1),
      value: z.string().regex(/^-?\d+$/),
      isCalled: z.boolean(),
    }),
  ),
  /** What is behind `end` is no part of it. */
  wal: z.strictObject({ timeline: z.int().min(1), end: z.string() }).optional(),
});

/** What a copy is of: everything up to `slot` is in it, and nothing else. */
export type CopyNote = Readonly<Omit<z.output<typeof shape>, 'version'>>;

export class KeptDirectory {
  /** Where the next one is made. */
  readonly making: string;
  readonly data: string;
  /** Of the copy that is kept; null: there is none. */
  note: CopyNote | null = null;
  private holders = 0;
  private readonly released: (() => void)[] = [];
  private readonly kept: string;
  private readonly old: string;

  /** `postgres`: holds `data`. */
  constructor(postgres: string) {
    this.data = join(postgres, 'data');
    this.kept = join(postgres, 'kept');
    this.making = join(postgres, 'kept.new', 'data');
    this.old = join(postgres, 'kept.old');
  }

  get keptData(): string {
    return join(this.kept, 'data');
  }

  /** After whatever has happened to the life before. What is of another cluster is none. */
  async open(cluster: string): Promise<void> {
    if (!(await exists(this.kept)) && (await exists(this.old))) await rename(this.old, this.kept);
    for (const left of [dirname(this.making), this.old, this.restoring, this.gone])
      await rm(left, { recursive: true, force: true });
    const note = await readNote(this.keptData);
    this.note = note?.cluster === cluster ? note : null;
  }

  /** An empty place for a new one. */
  async begin(): Promise<void> {
    await rm(dirname(this.making), { recursive: true, force: true });
    await makeDirectories(dirname(this.making));
  }

  /** What was made is whole. */
  async complete(note: CopyNote): Promise<void> {
    await syncTree(this.making);
    await writeNote(this.making, note);
    const parent = dirname(this.kept);
    await syncPath(dirname(this.making));
    while (this.holders > 0)
      await new Promise<void>((resolve) => {
        this.released.push(resolve);
      });
    if (await exists(this.kept)) await rename(this.kept, this.old);
    await rename(dirname(this.making), this.kept);
    await syncPath(parent);
    this.note = note;
    await rm(this.old, { recursive: true, force: true });
  }

  /** The WAL up to a later moment is there, durably: now it is a copy of that one. */
  async goFurther(note: CopyNote): Promise<void> {
    await writeNote(this.keptData, note);
    this.note = note;
  }

  /** The copy that is there stays, until what it returns is called. */
  hold(): () => void {
    this.holders += 1;
    return () => {
      this.holders -= 1;
      for (const resolve of this.released.splice(0)) resolve();
    };
  }

  async giveUp(): Promise<void> {
    await rm(dirname(this.making), { recursive: true, force: true });
  }

  /** There is none any more. */
  async discard(): Promise<void> {
    this.note = null;
    await rm(join(this.keptData, noteName), { force: true });
    await rm(this.kept, { recursive: true, force: true });
    await this.giveUp();
  }

  /** It takes the place of the database. PostgreSQL must not run. */
  async install(user: LaunchUser): Promise<void> {
    await this.removeData();
    await rm(this.restoring, { recursive: true, force: true });
    await cp(this.keptData, this.restoring, { recursive: true, mode: constants.COPYFILE_FICLONE });
    const wal = (await readNote(this.restoring))?.wal;
    if (wal !== undefined)
      await cutWal({ to: this.restoring, timeline: wal.timeline as Timeline }, parseLsn(wal.end));
    await handOver(user, this.restoring);
    await syncTree(this.restoring);
    await rename(this.restoring, this.data);
    await syncPath(dirname(this.data));
  }

  /** All of the database that was in use, or nothing: half of it would look like one that is damaged. */
  async removeData(): Promise<void> {
    await rm(this.gone, { recursive: true, force: true });
    if (!(await exists(this.data))) return;
    await rename(this.data, this.gone);
    await syncPath(dirname(this.data));
    await rm(this.gone, { recursive: true, force: true });
  }

  private get gone(): string {
    return `${this.data}.gone`;
  }

  private get restoring(): string {
    return `${this.data}.restoring`;
  }

  /** Of the database in use: it is a copy, and its sequences may not be set yet. */
  installed(): Promise<CopyNote | null> {
    return readNote(this.data);
  }

  /** PostgreSQL was started on a copy, and struck before that was told: within its recovery it forgets that it is a backup, and takes its WAL for too short when it is started again. */
  async isHalfStarted(): Promise<boolean> {
    return (await this.installed()) !== null && !(await exists(join(this.data, labelFile)));
  }

  async settled(): Promise<void> {
    await rm(join(this.data, noteName), { force: true });
    await syncPath(this.data);
  }
}

async function writeNote(data: string, note: CopyNote): Promise<void> {
  await writeDurably(join(data, noteName), `${noteText(note)}\n`);
}

export function noteText(note: CopyNote): string {
  return JSON.stringify({ version: formatVersion, ...note });
}

/** Null: it is not there, or cannot be read. */
async function readNote(data: string): Promise<CopyNote | null> {
  const text = await readFile(join(data, noteName), 'utf8').catch(() => null);
  return text === null ? null : noteOf(text);
}

export function noteOf(text: string): CopyNote | null {
  try {
    const { version: _, ...note } = shape.parse(JSON.parse(text));
    return note;
  } catch {
    return null;
  }
}
