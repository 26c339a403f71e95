/**
 * What a replica's database directory says, durably, of what is in it: `state.json` beside `data`.
 *
 * Responsible for: the file's shape, reading it and replacing it in one step. Decides nothing.
 * Invariants: what is written is on disk when `write` resolves; a file that cannot be read is told as such, and never taken for another state.
 */
import { join } from 'node:path';
import { z } from 'zod';
import type { DirectoryState } from '../../ports/database-directory.ts';
import { writeDurably, readFile } from '../file-system.ts';

export type { DirectoryState } from '../../ports/database-directory.ts';

export class DirectoryStateError extends Error {
  override readonly name = 'DirectoryStateError';
  /** Another version of Barista wrote it: it is not damaged, and no copy may take its place for that. */
  readonly code: 'launchRefused' | null;
  constructor(
    message: string,
    {
      isOfOtherVersion = false,
      cause,
    }: { readonly isOfOtherVersion?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = isOfOtherVersion ? 'launchRefused' : null;
  }
}

const fileName = 'state.json';
const formatVersion = 2;

const big = z.string().regex(/^\d+$/).transform(BigInt);
const count = z.int().min(0);
const ballot = z.strictObject({ round: count, replica: z.string() });
const shape = z.strictObject({
  version: z.literal(formatVersion),
  role: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('founder'), isNew: z.boolean() }),
    z.strictObject({ kind: z.literal('standby') }),
    z.strictObject({ kind: z.literal('promoting'), leadership: ballot }),
    z.strictObject({ kind: z.literal('primary'), leadership: ballot }),
    z.strictObject({ kind: z.literal('copying'), from: z.string() }),
  ]),
  position: z.strictObject({
    slot: count,
    leadership: ballot,
    newestStart: ballot,
    timeline: count,
    end: count,
    nextXid: big,
    system: big,
    forks: z.array(z.strictObject({ timeline: count, at: count })),
  }),
  configuration: z.unknown(),
});

/** `directory` is the one that holds `data`. Null: there is no such file. @throws DirectoryStateError if it cannot be understood */
export async function readDirectoryState(directory: string): Promise<DirectoryState | null> {
  const path = join(directory, fileName);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return decodeDirectoryState(text, path);
}

/** `source` names the text in errors. @throws DirectoryStateError */
export function decodeDirectoryState(text: string, source: string): DirectoryState {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new DirectoryStateError(`${source} is no JSON`, { cause });
  }
  const result = shape.safeParse(document);
  if (!result.success) {
    const [issue] = result.error.issues;
    const version = z.object({ version: z.int() }).safeParse(document).data?.version ?? formatVersion;
    throw new DirectoryStateError(
      `${source} cannot be understood: ${issue?.path.join('.')}: ${issue?.message}`,
      { isOfOtherVersion: version !== formatVersion },
    );
  }
  const { role, position, configuration } = result.data;
  // The numbers and names of the file are what was written from these types.
  return { role, position, configuration: configuration ?? null } as unknown as DirectoryState;
}

export function encodeDirectoryState({ role, position, configuration }: DirectoryState): string {
  const document = { version: formatVersion, role, position, configuration };
  const replacer = (_key: string, value: unknown): unknown =>
    typeof value === 'bigint' ? String(value) : value;
  return `${JSON.stringify(document, replacer, 2)}\n`;
}

export async function writeDirectoryState(directory: string, state: DirectoryState): Promise<void> {
  await writeDurably(join(directory, fileName), encodeDirectoryState(state));
}
