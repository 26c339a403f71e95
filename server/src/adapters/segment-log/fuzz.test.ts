/**
 * A log whose files were damaged anywhere, by more than a bit: opening it gives what was there up to the damage, and no more than was ever there, or refuses with the log's own error.
 *
 * What is lost with the end of the last segment looks as if it had never been written, so a log may be shorter than it was; what lies before the first byte that was hit is always there.
 */
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { LogStoreError, type LogStore } from '../../ports/log-store.ts';
import {
  ballotOf,
  commandOf,
  configurationOf,
  plain,
  slotOf,
} from '../../ports/testing/log-store-contract.ts';
import { fuzz, fuzzMs, mutated, part } from '../../ports/testing/fuzz.ts';
import { SECTOR_BYTES } from './layout.ts';
import { createFaultyDirectory, type FaultyDirectory } from './testing/faulty-directory.ts';
import { create, open } from './testing/small-segments.ts';

const slots = 12;
type Files = ReadonlyMap<string, Buffer>;

const record: fc.Arbitrary<LogRecord> = fc.oneof(
  fc.nat(9).map((round): LogRecord => ({ kind: 'promise', ballot: ballotOf(round, 'r2') })),
  fc
    .record({
      slot: fc.integer({ min: 1, max: slots }),
      round: fc.nat(9),
      request: fc.nat(),
      bytes: fc.nat(4000),
    })
    .map(({ slot, round, request, bytes }): LogRecord => {
      const entry = commandOf(request, new Uint8Array(bytes).fill(request % 256));
      return round === 0
        ? { kind: 'chosen', slot: slotOf(slot), entry }
        : { kind: 'vote', slot: slotOf(slot), ballot: ballotOf(round), entry };
    }),
  fc.integer({ min: 1, max: slots }).map((slot): LogRecord => ({ kind: 'commitPoint', slot: slotOf(slot) })),
  fc
    .integer({ min: 2, max: 9 })
    .map((version): LogRecord => ({ kind: 'configuration', configuration: configurationOf(version) })),
);
const appends = fc.array(fc.array(record, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 16 });

/** All that a log says of itself. */
async function contents(store: LogStore): Promise<string> {
  const { tail, ...rest } = store.recovered;
  const entries: unknown[] = [];
  for (let slot = 1; slot <= slots; slot++)
    entries.push(plain(await store.read(slotOf(slot), slotOf(slot), 1)));
  const said = {
    ...rest,
    identity: store.identity,
    tail: tail.map(({ slot, ballot }) => [slot, ballot]),
    entries,
  };
  return JSON.stringify(said);
}

interface Written {
  readonly files: Files;
  /** What the log held before the first append, behind it, behind the second... */
  readonly states: readonly string[];
  /** The files at the same times. */
  readonly snapshots: readonly Files[];
}

function copyOf({ files }: FaultyDirectory): Files {
  return new Map([...files].map(([name, { bytes }]) => [name, Buffer.from(bytes)]));
}

function directoryOf(files: Files): FaultyDirectory {
  return createFaultyDirectory(
    new Map([...files].map(([name, bytes]) => [name, { bytes: Buffer.from(bytes) }])),
  );
}

async function write(batches: readonly (readonly LogRecord[])[], closes: boolean): Promise<Written> {
  const directory = createFaultyDirectory();
  const store = await create(directory);
  const snapshots = [copyOf(directory)];
  for (const records of batches) {
    await store.append(records);
    snapshots.push(copyOf(directory));
  }
  if (closes) await store.close();
  const states: string[] = [];
  for (const files of snapshots) states.push(await contents(await open(directoryOf(files))));
  return { files: copyOf(directory), states, snapshots };
}

/** How much of the log no byte was hit of: so many appends lie before it. Damage to what was zero all the time is behind all. */
function appendsBefore({ snapshots, files }: Written, damaged: Files): number {
  let whole = snapshots.length - 1;
  for (const [name, bytes] of files) {
    const now = damaged.get(name) ?? Buffer.alloc(0);
    const hit = firstDifference(bytes, now);
    if (hit === null) continue;
    // The appends of which something stands at or behind the first byte that differs.
    for (let count = 0; count < whole; count++) {
      const [before, after] = [snapshots[count]!.get(name), snapshots[count + 1]!.get(name)];
      if (after !== undefined && reaches(before, after, hit)) whole = count;
    }
    if ([...(snapshots[0]!.get(name) ?? [])].some((byte, at) => at >= hit && byte !== 0)) whole = 0;
  }
  return whole;
}

function reaches(before: Buffer | undefined, after: Buffer, hit: number): boolean {
  for (let at = hit - (hit % SECTOR_BYTES); at < after.length; at += 1)
    if (after[at] !== (before?.[at] ?? 0)) return true;
  return false;
}

function firstDifference(one: Buffer, other: Buffer): number | null {
  const length = Math.max(one.length, other.length);
  for (let at = 0; at < length; at += 1) if (one[at] !== other[at]) return at;
  return null;
}

interface Damage {
  readonly files: Files;
  readonly what: string;
}

/** Some bytes changed, sectors lost, a write that went to another place, a file that is gone or is another's. */
function damageOf(files: Files): fc.Arbitrary<Damage> {
  const all = [...files.keys()].filter((name) => name.startsWith('segment-')).toSorted();
  // That the oldest of several is gone cannot be seen (docs/open-points.md).
  const names = all.length > 1 ? all.slice(1) : all;
  const place = fc.tuple(fc.constantFrom(...names), part).map(([name, where]) => {
    // Most of a segment is zeros.
    const used = lastByte(files.get(name)!);
    return { name, at: Math.floor((where * (used + SECTOR_BYTES)) / SECTOR_BYTES) * SECTOR_BYTES };
  });
  const changed = (name: string, change: (bytes: Buffer) => Buffer, what: string): Damage => {
    const bytes = change(Buffer.from(files.get(name)!));
    return { files: new Map([...files, [name, bytes]]), what: `${name}: ${what}` };
  };
  const put = (bytes: Buffer, at: number, data: Buffer): Buffer => {
    data.copy(bytes, at);
    return bytes;
  };
  return fc.oneof(
    fc
      .constantFrom(...names)
      .chain((name) =>
        mutated([files.get(name)!.subarray(0, lastByte(files.get(name)!) + 100)]).map((bytes) =>
          changed(name, (whole) => put(whole, 0, bytes), 'bytes changed'),
        ),
      ),
    fc
      .constantFrom(...names)
      .chain((name) =>
        mutated([files.get(name)!]).map((bytes) => changed(name, () => bytes, 'another length, perhaps')),
      ),
    fc
      .tuple(place, fc.integer({ min: 1, max: 12 }))
      .map(([{ name, at }, count]) =>
        changed(name, (bytes) => put(bytes, at, Buffer.alloc(count * SECTOR_BYTES)), `sectors lost at ${at}`),
      ),
    fc.tuple(place, place, fc.integer({ min: 1, max: 12 })).map(([to, from, count]) => {
      const data = files.get(from.name)!.subarray(from.at, from.at + count * SECTOR_BYTES);
      return changed(
        to.name,
        (bytes) => put(bytes, to.at, data),
        `sectors of ${from.name} ${from.at} at ${to.at}`,
      );
    }),
    fc.constantFrom(...names).map((name) => ({
      files: new Map([...files].filter(([other]) => other !== name)),
      what: `${name} is gone`,
    })),
    fc
      .tuple(fc.constantFrom(...names), fc.constantFrom(...names))
      .map(([to, from]) => changed(to, () => Buffer.from(files.get(from)!), `is ${from}`)),
  );
}

function lastByte(bytes: Buffer): number {
  let at = bytes.length;
  while (at > 0 && bytes[at - 1] === 0) at -= 1;
  return at;
}

/** `found`: the contents, or the code of the error. */
function judge(found: string, appendsLeast: number, states: readonly string[]): string {
  if (['logCorrupt', 'logFailed', 'logMissing'].includes(found)) return 'refused';
  const kept = states.lastIndexOf(found);
  if (kept < 0) return 'what was never there';
  if (kept < appendsLeast) return `only ${kept} appends, and ${appendsLeast} were not hit`;
  return kept === states.length - 1 ? 'whole' : 'shorter';
}

const outcomes = { refused: 0, whole: 0, shorter: 0 };

it(
  'a log that was damaged anywhere is what it was before the damage, or is refused',
  () =>
    fuzz(
      12,
      fc.asyncProperty(
        appends,
        fc.boolean(),
        fc.infiniteStream(fc.nat()),
        async (batches, closes, chance) => {
          const written = await write(batches, closes);
          for (const { files, what } of fc.sample(damageOf(written.files), {
            numRuns: 12,
            seed: chance.next().value as number,
          })) {
            const found = await open(directoryOf(files)).then(contents, (error: unknown) => {
              if (!(error instanceof LogStoreError)) throw error;
              return error.code;
            });
            const verdict = judge(found, appendsBefore(written, files), written.states);
            expect([what, verdict, found]).toEqual([
              what,
              expect.stringMatching(/^(refused|whole|shorter)$/),
              found,
            ]);
            outcomes[verdict as keyof typeof outcomes] += 1;
          }
        },
      ),
    ),
  fuzzMs,
);

it('the damage above is of both sorts', () => {
  expect([outcomes.refused > 0, outcomes.whole > 0]).toEqual([true, true]);
});
afterAll(() => console.log(`a damaged log was: ${JSON.stringify(outcomes)}`));
