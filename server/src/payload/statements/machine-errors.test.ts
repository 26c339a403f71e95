import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { errorFromFields } from '../../pgwire/backend-messages.ts';
import { type MachineError, MachineErrors, type OthersWord, tellsOfMachine } from './machine-errors.ts';

const errorOf = (sqlState: string, file: string): Buffer =>
  errorFromFields(
    new Map([
      ['C', sqlState],
      ['M', 'no'],
      ['F', file],
    ]),
  );

it('an error of the machine is told by its SQLSTATE and by the file of PostgreSQL that it comes from', () => {
  const of = (sqlState: string, ...files: string[]): boolean[] =>
    files.map((file) => tellsOfMachine(errorOf(sqlState, file)));
  expect(of('53100', 'md.c', 'fd.c', 'pl_exec.c')).toEqual([true, true, false]);
  expect(of('53200', 'mcxt.c', 'lock.c', 'pl_exec.c')).toEqual([true, false, false]);
  expect(of('58P01', 'md.c', 'extension.c', 'pl_exec.c')).toEqual([true, false, false]);
  expect(of('42501', 'fd.c', 'aclchk.c')).toEqual([true, false]);
  expect(of('XX000', 'bufmgr.c', 'lsyscache.c')).toEqual([true, false]);
  expect(of('XX002', 'nbtinsert.c')).toEqual([false]);
  expect(of('XX001', 'bufmgr.c', 'heaptoast.c', 'pl_exec.c')).toEqual([true, true, false]);
  expect(of('22012', 'int.c', 'md.c')).toEqual([false, false]);
  expect(tellsOfMachine(errorFromFields(new Map([['C', '53100']])))).toBe(false);
});

describe('what becomes of an error of the machine', () => {
  const at = { slot: 7, turn: 0 };

  function setUp() {
    const others: { word: OthersWord } = { word: null };
    const errors = new MachineErrors({ others: () => others.word, logger: pino({ level: 'silent' }) });
    const judge = (place = at, sqlState = '58030'): string => {
      try {
        errors.judge(place, place.slot, '1234', errorOf(sqlState, 'md.c'));
        return 'answer';
      } catch (error) {
        const { pauseMs, isDamage } = error as MachineError;
        return `${pauseMs}${isDamage ? ' damage' : ''}`;
      }
    };
    return { others, judge };
  }

  it('is tried again ever later, and is the answer in the end where nobody has answered', () => {
    const { judge } = setUp();
    expect([judge(), judge(), judge(), judge()]).toEqual(['1000', '2000', '4000', 'answer']);
    // It is another one's turn.
    expect(judge({ slot: 8, turn: 0 })).toBe('1000');
  });

  it('is the answer at once where others answered the same', () => {
    const { others, judge } = setUp();
    expect(judge()).toBe('1000');
    others.word = 'same';
    expect(judge()).toBe('answer');
  });

  it('is never the answer where another one executed the request: files are taken for damaged, a disk is waited for', () => {
    const { others, judge } = setUp();
    others.word = 'otherwise';
    const tried = Array.from({ length: 8 }, () => judge());
    expect(tried).toEqual(['1000', '2000', '4000', '8000 damage', '16000', '30000', '30000', '30000 damage']);
    const full = Array.from({ length: 8 }, () => judge({ slot: 8, turn: 0 }, '53100'));
    expect(full.at(3)).toBe('8000');
    expect(full.at(-1)).toBe('30000');
  });
});
