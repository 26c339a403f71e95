import { describe, expect, it } from 'vitest';
import { commandComplete, errorResponse, readyForQuery } from '../../pgwire/backend-messages.ts';
import { answerBytesMax, answersMax, CallMemory, namesMax } from './call-memory.ts';
import type { OperationResult } from './executor.ts';
import type { CallMark } from './operation.ts';

const mark = (number: number, digest = 'd'): CallMark => ({
  name: number.toString(16).padStart(16, '0').repeat(2),
  digest: digest.repeat(32),
  needs: 'any',
  isNamed: true,
});
const done = (answer: Buffer, status: OperationResult['status'] = 'I'): OperationResult => ({
  outcome: 'executed',
  answer,
  status,
  digest: null,
});
const tag = (text: string): Buffer => Buffer.concat([commandComplete(text), readyForQuery('I')]);
const failed = (sqlState: string): Buffer => errorResponse('ERROR', { sqlState, message: 'no' });

function ran(memory: CallMemory, number: number, result: OperationResult): void {
  memory.begin(mark(number), number);
  memory.end(mark(number), result);
}

describe('calls that have names', () => {
  it('are answered as before, and another request of the name is told apart', () => {
    const memory = new CallMemory();
    expect(memory.told(mark(1), 1)).toBeNull();
    ran(memory, 1, done(tag('INSERT 0 1')));
    expect(memory.told(mark(1), 2)).toBe('repeated');
    expect(memory.answerOf(mark(1).name)).toEqual(tag('INSERT 0 1'));
    expect(memory.told(mark(1, 'e'), 2)).toBe('differs');
  });

  it('run again where they have waited for others, and under no other number', () => {
    const memory = new CallMemory();
    memory.begin(mark(1), 5);
    expect(memory.told(mark(1), 5)).toBeNull();
    expect(memory.told(mark(1), 6)).toBe('notKept');
  });

  it.each([
    ['an error outside of a block', done(failed('23505')), null],
    ['an error within one', done(failed('23505'), 'E'), 'repeated'],
    ['an answer that was too long', done(failed('54000')), 'repeated'],
    ['a COMMIT that has rolled back', done(tag('ROLLBACK')), null],
  ])('are tried again if they did nothing: %s', (_what, result, told) => {
    const memory = new CallMemory();
    ran(memory, 1, result);
    expect(memory.told(mark(1), 2)).toBe(told);
  });

  it('are remembered within bounds, the last ones with their answers', () => {
    const memory = new CallMemory();
    const all = 100;
    for (let number = 1; number <= all; number += 1) ran(memory, number, done(tag(`INSERT 0 ${number}`)));
    expect(memory.told(mark(all - answersMax + 1), 200)).toBe('repeated');
    expect(memory.told(mark(all - answersMax), 200)).toBe('notKept');
    expect(memory.told(mark(all - answersMax - namesMax + 1), 200)).toBe('notKept');
    expect(memory.told(mark(all - answersMax - namesMax), 200)).toBeNull();
  });

  it('keep no more bytes than the bound, the newest answers first', () => {
    const memory = new CallMemory();
    const half = Buffer.concat([tag('x'.repeat(answerBytesMax / 2))]);
    for (const number of [1, 2, 3]) ran(memory, number, done(half));
    expect([1, 2, 3].map((number) => memory.told(mark(number), 9))).toEqual([
      'notKept',
      'notKept',
      'repeated',
    ]);
    ran(memory, 4, done(tag('x'.repeat(answerBytesMax))));
    expect(memory.told(mark(4), 9)).toBe('notKept');
    expect(memory.told(mark(3), 9)).toBe('repeated');
  });

  it('are known to a replica that was restarted, those that were under way as executed', () => {
    const memory = new CallMemory();
    for (let number = 1; number <= 6; number += 1) ran(memory, number, done(tag('INSERT 0 1')));
    memory.begin(mark(7), 7);
    const other = CallMemory.of(JSON.parse(JSON.stringify(memory.row())));
    expect([1, 5, 7].map((number) => other.told(mark(number), 8))).toEqual([
      'notKept',
      'repeated',
      'notKept',
    ]);
    expect(other.row()).toEqual(memory.row());
    expect(CallMemory.of(undefined).row()).toBeUndefined();
  });
});
