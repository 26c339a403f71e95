/**
 * Histories: what clients asked and what they were told, in the order in which one process saw it.
 *
 * Responsible for: the format of a history file and for pairing each invocation with its completion. Judges nothing.
 *
 * A file is NDJSON: a header, then one operation a line. `ok`: it took effect. `fail`: it certainly did not and never will. `info`: nobody
 * knows, it may take effect at any later time. Invariants: the order of lines is the order of events in real time; a process has at most one operation under
 * way, and none after an `info` (a client that goes on does so as another process).
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ReadMode, ReadTerms } from './read-terms.ts';

export type OperationType = 'invoke' | 'ok' | 'fail' | 'info';

export interface Operation {
  readonly process: number;
  readonly type: OperationType;
  /** What is done, such as `read`; each workload has its own. */
  readonly f: string;
  readonly value: unknown;
  /** Since the beginning of the run. */
  readonly timeUs: number;
  /** SQLSTATE or the like of what was not `ok`. */
  readonly error?: string;
  /** Of the invocation of a read that is not, as a matter of course, at the leader. */
  readonly terms?: ReadTerms;
}

export interface HistoryHeader {
  readonly format: 'barista-history-1';
  readonly workload: string;
  readonly seed: number;
  readonly replicas: number;
  readonly startedAt: string;
  /** What the workload's checker must know, such as the bank's total. */
  readonly options: Readonly<Record<string, unknown>>;
  /** How clients read at all replicas, besides. */
  readonly readModes?: readonly ReadMode[];
}

export interface History {
  readonly header: HistoryHeader;
  readonly operations: readonly Operation[];
}

/** One operation from its invocation to its completion. */
export interface Call {
  readonly process: number;
  readonly f: string;
  readonly outcome: 'ok' | 'fail' | 'info';
  readonly asked: unknown;
  /** What was answered; for anything but `ok`, what was asked. */
  readonly answer: unknown;
  /** Positions in the history. An `info` is never over. */
  readonly begin: number;
  readonly end: number;
  readonly beginUs: number;
  readonly endUs: number;
  readonly error: string | null;
  readonly terms: ReadTerms | null;
  /** What had ended before this position must be in it: where it begins; for a bounded read so much earlier; for one of a snapshot nowhere, which is -1. */
  readonly currentAt: number;
}

export class HistoryError extends Error {
  override readonly name = 'HistoryError';
}

/** @throws HistoryError if the operations are no history */
export function pairCalls(operations: readonly Operation[]): readonly Call[] {
  const calls: Call[] = [];
  const open = new Map<number, { readonly operation: Operation; readonly begin: number }>();
  const given = new Set<number>();
  for (const [index, operation] of operations.entries()) {
    const { process, type } = operation;
    const begun = open.get(process);
    if (type === 'invoke') {
      if (begun !== undefined || given.has(process))
        throw new HistoryError(`operation ${index}: process ${process} has one under way already`);
      open.set(process, { operation, begin: index });
      continue;
    }
    if (begun === undefined)
      throw new HistoryError(`operation ${index}: process ${process} has none under way`);
    open.delete(process);
    if (type === 'info') given.add(process);
    calls.push(callOf(operations, begun, { operation, index }));
  }
  // The run was cut short: nobody knows.
  for (const begun of open.values()) calls.push(callOf(operations, begun, null));
  return calls.sort((a, b) => a.begin - b.begin);
}

function callOf(
  operations: readonly Operation[],
  { operation, begin }: { readonly operation: Operation; readonly begin: number },
  completion: { readonly operation: Operation; readonly index: number } | null,
): Call {
  const type = completion?.operation.type ?? 'info';
  const outcome = type === 'ok' || type === 'fail' ? type : 'info';
  const isOver = completion !== null && outcome !== 'info';
  return {
    process: operation.process,
    f: operation.f,
    outcome,
    asked: operation.value,
    answer: outcome === 'ok' ? completion?.operation.value : operation.value,
    begin,
    end: isOver ? completion.index : Number.POSITIVE_INFINITY,
    beginUs: operation.timeUs,
    endUs: isOver ? completion.operation.timeUs : Number.POSITIVE_INFINITY,
    error: completion?.operation.error ?? null,
    terms: operation.terms ?? null,
    currentAt: currentAt(operations, operation, begin),
  };
}

/** A bound of staleness is counted on the replica's clock, which is rounded. */
const clockResolutionUs = 1000;

function currentAt(operations: readonly Operation[], { terms, timeUs }: Operation, begin: number): number {
  if (terms?.mode === 'snapshot') return -1;
  if (terms?.mode !== 'bounded') return begin;
  return firstSince(operations, timeUs - (terms.stalenessMaxMs ?? 0) * 1000 - clockResolutionUs);
}

/** The position of the first operation that is not earlier. Operations stand in the order of their times. */
function firstSince(operations: readonly Operation[], timeUs: number): number {
  let [low, high] = [0, operations.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (operations[middle]!.timeUs < timeUs) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface HistoryWriter {
  write(operation: Operation): void;
  close(): Promise<void>;
}

/** Streams to a file; the first error is thrown by `close`. */
export function writeHistory(path: string, header: HistoryHeader): HistoryWriter {
  const stream = createWriteStream(path);
  let failure: Error | null = null;
  stream.on('error', (error) => (failure ??= error));
  stream.write(`${JSON.stringify(header)}\n`);
  return {
    write: (operation) => void stream.write(`${JSON.stringify(operation)}\n`),
    close: () =>
      new Promise((resolve, reject) => {
        const done = (): void => (failure === null ? resolve() : reject(failure));
        if (stream.destroyed) done();
        else {
          stream.once('close', done);
          stream.end();
        }
      }),
  };
}

/** @throws HistoryError if the file is no history; a last line that was cut off is left out */
export async function readHistory(path: string): Promise<History> {
  const operations: Operation[] = [];
  let header: HistoryHeader | null = null;
  let bad: string | null = null;
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    number++;
    if (bad !== null) throw new HistoryError(`${path}: ${bad}`);
    const parsed = parseLine(line);
    if (parsed === null) bad = `line ${number} is not JSON`;
    else if (header === null) header = checkHeader(path, parsed);
    else operations.push(checkOperation(`${path}, line ${number}`, parsed));
  }
  if (header === null) throw new HistoryError(`${path}: there is no header`);
  return { header, operations };
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return null;
  }
}

function checkHeader(path: string, parsed: unknown): HistoryHeader {
  const header = parsed as HistoryHeader;
  if (header.format !== 'barista-history-1')
    throw new HistoryError(`${path}: the first line is not the header of a history`);
  return header;
}

function checkOperation(where: string, parsed: unknown): Operation {
  const { process, type, f, timeUs } = parsed as Operation;
  const isOne =
    Number.isInteger(process) &&
    ['invoke', 'ok', 'fail', 'info'].includes(type) &&
    typeof f === 'string' &&
    Number.isFinite(timeUs);
  if (!isOne) throw new HistoryError(`${where}: not an operation`);
  return parsed as Operation;
}
