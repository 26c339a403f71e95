/**
 * What the two sides of a copy say to each other, and its bytes. A frame is a length (u32), a kind (u8), the first eight bytes of the SHA-256 of kind and body, and the body. Numbers are little-endian.
 *
 *   target -> source   Hello     which group it is of, what its PostgreSQL and its files are
 *   source -> target   Begin     the same of the source, and the position that it has now: the target may still take its leave
 *   target -> source   Go
 *   source -> target   Started   the copying begins: what the target has is no database from here on
 *   source -> target   Directory, then a File for each of its files, then DirectoryEnd: what is not named between them does not exist
 *   target -> source   Have      evidence (evidence.ts) of the blocks of a file, in order; `last`: that is all it has of it
 *   source -> target   Blocks    of a file, in order; then FileEnd with its length
 *   source -> target   History   of a timeline: where it comes from
 *   source -> target   Complete  what the copy is worth, when all of it is chosen
 *   source -> target   Failed    instead of any of these: why there is no copy
 *   either             Alive     nothing to say yet; from the source with the bytes compared so far
 *
 * Pure. Invariant: what was altered on its way is not taken for a message.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CopyError, type CopyErrorCode } from '../../../ports/copy.ts';
import { decodeEvidence, encodeEvidence, type Evidence } from './evidence.ts';

export const copyProtocol = 1;
/** Blocks of one message hold no more. */
export const blocksBytesMax = 512 * 1024;
export const frameBytesMax = blocksBytesMax + 64 * 1024;
export const frameHeadBytes = 13;
const sumBytes = 8;

const count = z.int().min(0);
const big = z.string().regex(/^\d+$/).transform(BigInt);
const installation = z.strictObject({
  majorVersion: count,
  architecture: z.string(),
  libc: z.string().nullable(),
  icu: z.string().nullable(),
});
const control = z.strictObject({
  system: big,
  controlVersion: count,
  catalogVersion: count,
  pageBytes: count,
  segmentPages: count,
  walPageBytes: count,
  walSegmentBytes: count,
  checksums: z.boolean(),
});
const hello = z.strictObject({ protocol: count, group: z.string(), cluster: z.string(), installation });
/** `state`: as in directory-state.ts. */
const begin = z.strictObject({ installation, control, state: z.string() });
const started = z.strictObject({ database: z.enum(['standby', 'primary']), bytesToCompare: count });
const directory = z.strictObject({ path: z.string(), directories: z.array(z.string()) });
const history = z.strictObject({ timeline: count, text: z.string() });
/** `label`: what backup_label must hold. `control`: pg_control, in base64. */
const complete = z.strictObject({
  state: z.string(),
  label: z.string(),
  control: z.string(),
  files: count,
  blocks: count,
  bytesTotal: count,
});
const codes = [
  'sourceUnavailable',
  'sourceBusy',
  'sourceDamaged',
  'unlike',
  'transferFailed',
  'copyInvalid',
  'tooOld',
  'noSpace',
] as const satisfies readonly CopyErrorCode[];
const failed = z.strictObject({ code: z.enum(codes), message: z.string() });

const texts = { hello, begin, started, directory, history, complete, failed } as const;
type Texts = {
  readonly [Kind in keyof typeof texts]: { readonly kind: Kind } & z.output<(typeof texts)[Kind]>;
};

export type CopyMessage =
  | Texts[keyof Texts]
  | { readonly kind: 'go' | 'directoryEnd' }
  | { readonly kind: 'alive'; readonly compared: number }
  | { readonly kind: 'file'; readonly file: number; readonly bytes: number; readonly name: string }
  | {
      readonly kind: 'have';
      readonly file: number;
      readonly last: boolean;
      readonly evidence: readonly Evidence[];
    }
  | { readonly kind: 'blocks'; readonly file: number; readonly block: number; readonly data: Buffer }
  | { readonly kind: 'fileEnd'; readonly file: number; readonly bytes: number };
export type MessageOf<Kind extends CopyMessage['kind']> = Extract<CopyMessage, { readonly kind: Kind }>;

const kinds = [
  'alive',
  'hello',
  'begin',
  'go',
  'started',
  'directory',
  'file',
  'directoryEnd',
  'have',
  'blocks',
  'fileEnd',
  'history',
  'complete',
  'failed',
] as const satisfies readonly CopyMessage['kind'][];

/** In pieces that are to be sent one after the other: the data of blocks is not copied. */
export function encodeMessage(message: CopyMessage): readonly Buffer[] {
  const body = bodyOf(message);
  const head = Buffer.alloc(frameHeadBytes);
  const length = body.reduce((sum, part) => sum + part.length, 0);
  if (length > frameBytesMax)
    throw new Error(`a message of ${length} bytes (${message.kind}) cannot be sent`);
  head.writeUInt32LE(length, 0);
  head.writeUInt8(kinds.indexOf(message.kind), 4);
  sumOf(head[4]!, body).copy(head, 5);
  return [head, ...body];
}

function sumOf(kind: number, body: readonly Buffer[]): Buffer {
  const hash = createHash('sha256').update(Uint8Array.of(kind));
  for (const part of body) hash.update(part);
  return hash.digest().subarray(0, sumBytes);
}

function bodyOf(message: CopyMessage): readonly Buffer[] {
  switch (message.kind) {
    case 'go':
    case 'directoryEnd':
      return [];
    case 'alive':
      return [numbers(0, message.compared)];
    case 'file':
      return [numbers(message.file, message.bytes), Buffer.from(message.name)];
    case 'have':
      return [numbers(message.file, message.last ? 1 : 0), encodeEvidence(message.evidence)];
    case 'blocks':
      return [numbers(message.file, message.block), message.data];
    case 'fileEnd':
      return [numbers(message.file, message.bytes)];
    case 'hello':
    case 'begin':
    case 'started':
    case 'directory':
    case 'history':
    case 'complete':
    case 'failed':
      return [
        Buffer.from(
          JSON.stringify(message, (_key, value: unknown) =>
            typeof value === 'bigint' ? String(value) : value,
          ),
        ),
      ];
    default:
      return message satisfies never;
  }
}

function numbers(file: number, other: number): Buffer {
  const out = Buffer.alloc(12);
  out.writeUInt32LE(file, 0);
  out.writeBigUInt64LE(BigInt(other), 4);
  return out;
}

/** Of the body that follows. @throws CopyError if it cannot be one */
export function readFrameHead(head: Buffer): { readonly length: number } {
  const length = head.readUInt32LE(0);
  if (length > frameBytesMax || kinds[head[4]!] === undefined)
    throw invalid('what came is no message of a copy');
  return { length };
}

/** The data of blocks and hashes are views of `body`. @throws CopyError if it was altered or is none */
export function decodeMessage(head: Buffer, body: Buffer): CopyMessage {
  const kind = kinds[head[4]!]!;
  if (!sumOf(head[4]!, [body]).equals(head.subarray(5, frameHeadBytes))) {
    throw invalid(`a message (${kind}) was altered on its way`);
  }
  try {
    return read(kind, body);
  } catch (cause) {
    throw new CopyError(
      'copyInvalid',
      `a message (${kind}) cannot be understood: ${(cause as Error).message}`,
      { cause },
    );
  }
}

function read(kind: (typeof kinds)[number], body: Buffer): CopyMessage {
  switch (kind) {
    case 'go':
    case 'directoryEnd':
      return { kind };
    case 'alive':
      return { kind, compared: second(body) };
    case 'file':
      return { kind, file: body.readUInt32LE(0), bytes: second(body), name: body.toString('utf8', 12) };
    case 'have':
      return {
        kind,
        file: body.readUInt32LE(0),
        last: second(body) === 1,
        evidence: decodeEvidence(body.subarray(12)),
      };
    case 'blocks':
      return { kind, file: body.readUInt32LE(0), block: second(body), data: body.subarray(12) };
    case 'fileEnd':
      return { kind, file: body.readUInt32LE(0), bytes: second(body) };
    case 'hello':
    case 'begin':
    case 'started':
    case 'directory':
    case 'history':
    case 'complete':
    case 'failed': {
      const { kind: _kind, ...fields } = JSON.parse(body.toString('utf8')) as { kind?: unknown };
      return { kind, ...texts[kind].parse(fields) } as CopyMessage;
    }
    default:
      return kind satisfies never;
  }
}

function second(body: Buffer): number {
  const value = Number(body.readBigUInt64LE(4));
  if (!Number.isSafeInteger(value)) throw new RangeError('a number is out of bounds');
  return value;
}

function invalid(message: string): CopyError {
  return new CopyError('copyInvalid', message);
}
