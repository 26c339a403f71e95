/**
 * What is remembered of the calls of one session that had names (calls.ts). Pure.
 *
 * Invariants: it follows from the operations alone; a call is not executed again while it is remembered; what is remembered is bounded.
 */
import { commandTag, readErrorFields } from '../../pgwire/backend-messages.ts';
import { FrameSplitter } from '../../pgwire/frame-splitter.ts';
import { back } from '../../pgwire/message-types.ts';
import type { OperationResult } from './executor.ts';
import type { CallMark } from './operation.ts';

/** So many of the last calls are remembered with what they were answered, up to so many bytes in all. */
export const answersMax = 4;
export const answerBytesMax = 64 * 1024;
/** So many others are known to have been executed. */
export const namesMax = 32;
/** Of a name that is remembered without an answer. */
const nameDigits = 16;

interface Remembered {
  readonly name: string;
  readonly digest: string;
  readonly seq: number;
  /** Null: it is under way, or was too long. */
  answer: Buffer | null;
}

/** As it is written ahead of requests and behind them. */
export interface CallsRow {
  readonly last: readonly (readonly [name: string, digest: string, answer: string | null])[];
  readonly older: string;
}

/** Which calls are known; the empty text: none. */
export function namesOf(row: CallsRow | undefined): string {
  return row === undefined ? '' : `${row.last.map(([name]) => name).join('')} ${row.older}`;
}

export function withoutAnswers(row: CallsRow | undefined): CallsRow | undefined {
  if (row === undefined) return undefined;
  return { ...row, last: row.last.map(([name, digest]) => [name, digest, null] as const) };
}

export class CallMemory {
  private last: Remembered[] = [];
  /** Names, the oldest first. */
  private older: string[] = [];

  static of(row: CallsRow | undefined): CallMemory {
    const memory = new CallMemory();
    memory.last = (row?.last ?? []).map(([name, digest, answer]) => ({
      name,
      digest,
      seq: 0,
      answer: answer === null ? null : Buffer.from(answer, 'base64'),
    }));
    memory.older = row?.older.match(/[0-9a-f]{16}/g) ?? [];
    return memory;
  }

  /** Undefined: there is nothing. */
  row(): CallsRow | undefined {
    if (this.last.length === 0 && this.older.length === 0) return undefined;
    const last = this.last.map(
      ({ name, digest, answer }) => [name, digest, answer?.toString('base64') ?? null] as const,
    );
    return { last, older: this.older.join('') };
  }

  /** Null: it is to be executed. */
  told({ name, digest }: CallMark, seq: number): 'repeated' | 'differs' | 'notKept' | null {
    const one = this.last.find((each) => each.name === name);
    // It has waited for others, and runs again.
    if (one !== undefined && one.seq === seq && one.answer === null) return null;
    if (one !== undefined && one.digest !== digest) return 'differs';
    if (one !== undefined) return one.answer === null ? 'notKept' : 'repeated';
    return this.older.includes(name.slice(0, nameDigits)) ? 'notKept' : null;
  }

  answerOf(name: string): Buffer | null {
    return this.last.find((each) => each.name === name)?.answer ?? null;
  }

  /** A replica that stops within it is to know that it was executed, if it was. */
  begin({ name, digest }: CallMark, seq: number): void {
    this.last = this.last.filter((each) => each.name !== name);
    this.last.push({ name, digest, seq, answer: null });
    for (const { name: gone } of this.last.splice(0, this.last.length - answersMax))
      this.older.push(gone.slice(0, nameDigits));
    this.older.splice(0, this.older.length - namesMax);
  }

  /** What has failed and left no transaction block open has done nothing, and is tried again when it comes again. */
  end({ name }: CallMark, { answer, status }: OperationResult): void {
    const one = this.last.find((each) => each.name === name);
    if (one === undefined) return;
    if (status === 'I' && hasDoneNothing(answer)) {
      this.last = this.last.filter((each) => each !== one);
      return;
    }
    if (answer.length > answerBytesMax) return;
    one.answer = answer;
    let bytes = this.last.reduce((sum, each) => sum + (each.answer?.length ?? 0), 0);
    for (const each of this.last) {
      if (bytes <= answerBytesMax) break;
      bytes -= each.answer?.length ?? 0;
      each.answer = null;
    }
  }
}

/** An answer that was too long: it was executed all the same. */
const tooLong = '54000';

/** An error, or a COMMIT that PostgreSQL has answered with ROLLBACK, as a ROLLBACK is itself. */
function hasDoneNothing(answer: Buffer): boolean {
  const splitter = new FrameSplitter(answer.length + 1);
  splitter.feed(answer);
  while (splitter.next()) {
    const frame = answer.subarray(splitter.start, splitter.end);
    if (splitter.type === back.errorResponse) return readErrorFields(frame).get('C') !== tooLong;
    if (splitter.type === back.commandComplete && commandTag(frame) === 'ROLLBACK') return true;
  }
  return false;
}
