/**
 * Properties that are tried on random inputs: shortly with all other tests, and for as long as one likes by hand.
 *
 * BARISTA_FUZZ_SECONDS: how long each of them is tried (`BARISTA_FUZZ_SECONDS=300 npx vitest run --project unit fuzz`). BARISTA_SEED: where to begin, as a failure tells it.
 */
import fc from 'fast-check';

const seconds = Number(process.env['BARISTA_FUZZ_SECONDS'] ?? 0);
const seed = Number(process.env['BARISTA_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const graceMs = 60_000;
/** Of what fast-check says: inputs can be very long. */
const messageCharsMax = 2000;

/** For `it`: how long such a test may take. */
export const fuzzMs = seconds === 0 ? undefined : seconds * 1000 + graceMs;

/** Holds `property` to `runs` inputs, or to as many as there is time for. */
export async function fuzz<T>(runs: number, property: fc.IRawProperty<T>): Promise<void> {
  const bounds =
    seconds === 0
      ? { numRuns: runs }
      : { numRuns: 1e9, interruptAfterTimeLimit: seconds * 1000, markInterruptAsFailure: false };
  const details = await fc.check(property, { seed, ...bounds });
  if (!details.failed) return;
  const told = (await fc.asyncDefaultReportMessage(details)) ?? '';
  const again = `Once more: BARISTA_SEED=${seed} npx vitest run --project unit fuzz`;
  throw new Error(`${told.slice(0, messageCharsMax)}\n${again}`, { cause: details.errorInstance });
}

interface Change {
  readonly kind: 'byte' | 'bit' | 'remove' | 'repeat' | 'noise' | 'cut' | 'number' | 'splice';
  /** Parts of the length. */
  readonly at: number;
  readonly other: number;
  readonly bytes: number;
  readonly value: number;
}

/** Numbers that lengths and counts are not. */
const oddNumbers = [0, 1, 3, 4, 5, 0xff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];

/** Not of `fc.double`, most of which are all but 0. */
export const part = fc.nat({ max: 2 ** 30 - 1 }).map((number) => number / 2 ** 30);
const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('byte', 'bit', 'remove', 'repeat', 'noise', 'cut', 'number', 'splice'),
  at: part,
  other: part,
  bytes: fc.integer({ min: 1, max: 40 }),
  value: fc.nat(0xffffff),
});

/** Bytes of one of the samples, changed in a few places, or not at all. */
export function mutated(samples: readonly Buffer[], changesMax = 5): fc.Arbitrary<Buffer> {
  return fc
    .tuple(
      fc.constantFrom(...samples),
      fc.array(change, { maxLength: changesMax }),
      fc.constantFrom(...samples),
    )
    .map(([sample, changes, second]) =>
      changes.reduce<Buffer>((bytes, each) => changed(bytes, each, second), Buffer.from(sample)),
    );
}

function changed(
  bytes: Buffer,
  { kind, at: where, other, bytes: count, value }: Change,
  second: Buffer,
): Buffer {
  const at = Math.floor(where * bytes.length);
  const to = Math.min(bytes.length, at + count);
  switch (kind) {
    case 'byte':
      if (bytes.length > 0) bytes[at] = value & 0xff;
      return bytes;
    case 'bit':
      if (bytes.length > 0) bytes[at]! ^= 1 << (value & 7);
      return bytes;
    case 'remove':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    case 'repeat':
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 'noise': {
      const noise = Buffer.from(
        Array.from({ length: count }, (_, i) => (value * (i + 7) * 2_654_435_761) >>> 13),
      );
      return Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]);
    }
    case 'cut':
      return Buffer.from(bytes.subarray(0, at));
    case 'number': {
      const number = oddNumbers[value % oddNumbers.length]!;
      if (at + 4 <= bytes.length) {
        if (count % 2 === 0) bytes.writeUInt32BE(number, at);
        else bytes.writeUInt32LE(number, at);
      }
      return bytes;
    }
    case 'splice':
      return Buffer.concat([bytes.subarray(0, at), second.subarray(Math.floor(other * second.length))]);
    default:
      kind satisfies never;
      return bytes;
  }
}

/** Where to cut a stream: lengths of pieces, again and again. */
export const pieceLengths: fc.Arbitrary<readonly number[]> = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 8 }),
    fc.integer({ min: 1, max: 400 }),
    fc.integer({ min: 1, max: 20_000 }),
    fc.constant(1_000_000),
  ),
  { minLength: 1, maxLength: 8 },
);

export function inPieces(bytes: Buffer, lengths: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const end = at + lengths[turn % lengths.length]!;
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}
