import { expect, it } from 'vitest';
import { frameOf } from '../../pgwire/backend-messages.ts';
import { back } from '../../pgwire/message-types.ts';
import { AnswerDigest } from './answer-digest.ts';

function columns(...names: string[]): Buffer {
  const fields = names.map((name) => Buffer.concat([Buffer.from(`${name}\0`), Buffer.alloc(18)]));
  return frameOf(back.rowDescription, Buffer.concat([Buffer.from([0, names.length]), ...fields]));
}
function dataRow(cells: readonly string[]): Buffer {
  const parts = cells.map((cell) => Buffer.concat([Buffer.from([0, 0, 0, cell.length]), Buffer.from(cell)]));
  return frameOf(back.dataRow, Buffer.concat([Buffer.from([0, cells.length]), ...parts]));
}
const tag = (text: string): Buffer => frameOf(back.commandComplete, Buffer.from(`${text}\0`));

function digestOf(...messages: Buffer[]): string | null {
  const digest = new AnswerDigest();
  for (const message of messages) digest.add(message);
  return digest.end();
}

it('the order of rows does not count, but for what is in them', () => {
  const [one, two] = [dataRow(['1', 'a']), dataRow(['2', 'b'])];
  const head = columns('n', 'word');
  expect(digestOf(head, one, two, tag('SELECT 2'))).toBe(digestOf(head, two, one, tag('SELECT 2')));
  expect(digestOf(head, one, one, tag('SELECT 2'))).not.toBe(digestOf(head, one, two, tag('SELECT 2')));
});

it('a row of a sequence does not count, which a checkpoint changes, but rows of the next statement do', () => {
  const head = columns('last_value', 'log_cnt', 'is_called');
  const [one, two] = [dataRow(['7', '31', 't']), dataRow(['7', '2', 't'])];
  expect(digestOf(head, one, tag('SELECT 1'))).toBe(digestOf(head, two, tag('SELECT 1')));
  const behind = (cell: string): Buffer[] => [head, one, tag('SELECT 1'), dataRow([cell]), tag('SELECT 1')];
  expect(digestOf(...behind('a'))).not.toBe(digestOf(...behind('b')));
});

it('an answer with a part of the rows has no digest, and one that a limit did not cut has', () => {
  const head = columns('n', 'word');
  const row = dataRow(['1', 'a']);
  const suspended = frameOf(back.portalSuspended, Buffer.alloc(0));
  expect(digestOf(head, row, suspended)).toBeNull();
  expect(digestOf(head, row, tag('FETCH 1'))).toBeNull();
  expect(digestOf(tag('MOVE 1'), tag('INSERT 0 1'))).toBeNull();
  expect(digestOf(tag('INSERT 0 1'))).not.toBeNull();
  expect(digestOf(head, row, tag('SELECT 1'))).not.toBeNull();
});
