/**
 * The copy that a replica keeps of its own database, for another replica, whole, over a channel of bytes:
 *
 *   target -> source   a line: what it is, which slot is the least that is of use to it, and whether one is to be made otherwise
 *   source -> target   a line: the note of the copy, or why there is none; then for each directory and file a line, and behind a file's its bytes; a line with the SHA-256 of all of it
 *
 * Lines are JSON. Nothing is held up at the source, which goes on: what is sent does not change. Time limits are the channel's.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { makeDirectories, open, readEntries, stat } from '../account-files.ts';
import { CopyError, type CopyErrorCode, type CopyProgress, type CopySource } from '../../../ports/copy.ts';
import type { CopyOwner } from '../copy/copy-source.ts';
import { isCopiedPath, labelFile } from '../copy/file-class.ts';
import { type Installation, unlikeness } from '../copy/installation.ts';
import { toReceiveError } from '../copy/target-space.ts';
import { ByteReader } from './byte-reader.ts';
import { type CopyNote, type KeptDirectory, noteName, noteOf, noteText } from './kept-directory.ts';

const protocol = 1;
const hello = z.object({
  protocol: z.int(),
  group: z.string(),
  cluster: z.string(),
  installation: z.object({
    majorVersion: z.int(),
    architecture: z.string(),
    libc: z.string().nullable(),
    icu: z.string().nullable(),
  }),
  atLeast: z.int(),
  /** Without one that is of use: one is to be made. */
  isUrgent: z.boolean().default(true),
});
const begin = z.union([
  z.object({ note: z.string(), bytes: z.int().min(0) }),
  z.object({ code: z.string(), message: z.string() }),
]);
const item = z.union([
  z.object({ directory: z.string() }),
  z.object({ file: z.string(), bytes: z.int().min(0) }),
  z.object({ sum: z.string() }),
]);

export interface GiveOptions {
  readonly directory: KeptDirectory;
  readonly owner: CopyOwner;
  readonly installation: Installation;
  /** There is none that is of use: one is to be made. */
  readonly onWanted: () => void;
  readonly pass: (bytes: number) => Promise<void>;
}

export function keptCopySource(options: GiveOptions): CopySource {
  const { directory } = options;
  return {
    async serve(channel) {
      channel.on('error', () => undefined);
      const release = directory.hold();
      try {
        await give(options, channel);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const code: CopyErrorCode = error instanceof CopyError ? error.code : 'transferFailed';
        if (!channel.destroyed && !channel.writableEnded) channel.end(line({ code, message }));
      } finally {
        release();
      }
      channel.resume();
      if (!channel.destroyed)
        await new Promise<void>((resolve) => {
          channel.once('close', resolve);
          channel.once('end', resolve);
          channel.once('error', () => resolve());
        });
    },
  };
}

async function give({ directory, owner, installation, onWanted, pass }: GiveOptions, channel: Duplex) {
  const asked = hello.parse(JSON.parse(await new ByteReader(channel).line()));
  if (asked.protocol !== protocol || asked.group !== owner.group || asked.cluster !== owner.cluster)
    throw new CopyError('unlike', `this is the data of cluster ${owner.cluster} (group ${owner.group})`);
  const unlike = unlikeness(asked.installation, installation);
  if (unlike !== null) throw new CopyError('unlike', unlike);
  const { note, keptData } = directory;
  if (note === null || note.slot < asked.atLeast) {
    if (asked.isUrgent) onWanted();
    throw new CopyError('sourceUnavailable', 'it keeps no copy yet that is of use, and makes one');
  }
  const items = await itemsBelow(keptData);
  const bytes = items.reduce((sum, one) => sum + ('bytes' in one ? one.bytes : 0), 0);
  const sum = createHash('sha256');
  const send = (part: Buffer | string): Promise<void> => {
    sum.update(part);
    return sent(channel, part);
  };
  await send(line({ note: noteText(note), bytes }));
  for (const one of items) {
    await send(line(one));
    if (!('file' in one) || one.bytes === 0) continue;
    const file = await open(join(keptData, one.file), 'r');
    for await (const chunk of file.createReadStream({ start: 0, end: one.bytes - 1 })) {
      await pass((chunk as Buffer).length);
      await send(chunk as Buffer);
    }
  }
  await sent(channel, line({ sum: sum.digest('hex') }));
  channel.end();
}

type Item = { readonly directory: string } | { readonly file: string; readonly bytes: number };

async function itemsBelow(root: string, path = ''): Promise<readonly Item[]> {
  const found: Item[] = [];
  for (const entry of await readEntries(join(root, path))) {
    const full = path === '' ? entry.name : `${path}/${entry.name}`;
    if (full === noteName) continue;
    if (entry.isDirectory()) found.push({ directory: full }, ...(await itemsBelow(root, full)));
    else found.push({ file: full, bytes: (await stat(join(root, full))).size });
  }
  return found;
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

function sent(channel: Duplex, part: Buffer | string): Promise<void> {
  return new Promise((resolve, reject) => {
    channel.write(part, (error) => (error === null || error === undefined ? resolve() : reject(error)));
  });
}

/** What is asked of a source. */
interface Asked {
  readonly owner: CopyOwner;
  readonly installation: Installation;
  readonly atLeast: number;
}

/** The note of the copy that another replica keeps, and how many bytes that has; none is made for it. @throws CopyError; Error of the channel */
export async function lookAtKeptCopy(
  channel: Duplex,
  { owner, installation, atLeast }: Asked,
): Promise<{ readonly note: CopyNote; readonly bytes: number }> {
  try {
    await sent(channel, line({ protocol, ...owner, installation, atLeast, isUrgent: false }));
    return noteIn(await new ByteReader(channel).line(), owner, atLeast);
  } finally {
    channel.destroy();
  }
}

/** @throws CopyError */
function noteIn(
  answer: string,
  { cluster }: CopyOwner,
  atLeast: number,
): { readonly note: CopyNote; readonly bytes: number } {
  const began = begin.parse(JSON.parse(answer));
  if ('code' in began) throw new CopyError(began.code as CopyErrorCode, began.message);
  const note = noteOf(began.note);
  if (note === null || note.cluster !== cluster || note.slot < atLeast)
    throw new CopyError('copyInvalid', 'the note of the copy cannot be read, or is of another');
  return { note, bytes: began.bytes };
}

export interface TakeOptions extends Asked {
  readonly directory: KeptDirectory;
  readonly onProgress: (progress: CopyProgress) => void;
  readonly signal: AbortSignal;
}

/** It is the copy that this replica keeps, when it resolves. @throws CopyError; the signal's reason */
export async function takeKeptCopy(channel: Duplex, options: TakeOptions): Promise<CopyNote> {
  const { directory, signal } = options;
  const abort = (): void => void channel.destroy(new CopyError('transferFailed', 'given up'));
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await take(channel, options);
  } catch (error) {
    await directory.giveUp();
    signal.throwIfAborted();
    throw toReceiveError(error);
  } finally {
    signal.removeEventListener('abort', abort);
    channel.destroy();
  }
}

async function take(channel: Duplex, options: TakeOptions): Promise<CopyNote> {
  const { directory, owner, installation, atLeast, onProgress } = options;
  await sent(channel, line({ protocol, ...owner, installation, atLeast }));
  const sum = createHash('sha256');
  const reader = new ByteReader(channel, (part) => sum.update(part));
  const { note, bytes } = noteIn(await reader.line(), owner, atLeast);
  await directory.begin();
  const to = directory.making;
  await makeDirectories(to, 0o700);
  for (let bytesReceived = 0; ; ) {
    const before = sum.copy().digest('hex');
    const next = item.parse(JSON.parse(await reader.line()));
    if ('sum' in next) {
      if (next.sum !== before) throw new CopyError('copyInvalid', 'the copy was altered on its way');
      break;
    }
    const path = 'file' in next ? next.file : next.directory;
    if (!isCopiedPath(path) && path !== labelFile) throw new CopyError('copyInvalid', `a name: ${path}`);
    if ('directory' in next) {
      await makeDirectories(join(to, path), 0o700);
      continue;
    }
    const file = await open(join(to, path), 'w', 0o600);
    try {
      await reader.bytes(next.bytes, (part) => file.writeFile(part));
    } finally {
      await file.close();
    }
    bytesReceived += next.bytes;
    onProgress({ bytesCompared: bytesReceived, bytesToCompare: bytes, bytesReceived });
  }
  await directory.complete(note);
  return note;
}
