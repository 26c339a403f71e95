import { expect, it } from 'vitest';
import { commandTag } from '../../../pgwire/backend-messages.ts';
import { frame } from '../testing/frames.ts';
import { HiddenBlock } from './hidden-block.ts';

/** What the client is told of these messages, by type, a tag by its text; and what is heard of the id. */
function told(messages: readonly (readonly Buffer[])[], reads = false, tellsError = false): string {
  const names: string[] = [];
  const listener = {
    id: (xid: bigint | null) => void names.push(`id ${xid}`),
    failed: (sqlState: string) => void names.push(`failed ${sqlState}`),
    failsRequest: (_: unknown, passesOver: boolean) => {
      if (tellsError) names.push(passesOver ? 'ends by Sync' : 'ends');
      return tellsError;
    },
    rollBack: () => void names.push('rolls back'),
  };
  const block = new HiddenBlock(listener, reads);
  for (const message of messages.flat()) {
    const { ahead, tells } = block.take(message[0]!, message);
    if (ahead !== null) names.push(commandTag(ahead));
    if (tells) names.push(String.fromCharCode(message[0]!));
  }
  return names.join(' ');
}

function error(sqlState: string, severity = 'ERROR'): Buffer {
  return frame('E', `V${severity}\0C${sqlState}\0\0`);
}

const [inBlock, failed, idle] = [frame('Z', 'T'), frame('Z', 'E'), frame('Z', 'I')];
const begins = [frame('1'), frame('2'), frame('C', 'BEGIN\0'), frame('3'), frame('3')];
const row = frame('D');
const one = frame('C', 'ONE\0');
const id = [frame('V', '\0\0\0\x0277'), inBlock];
const readsEnd = [frame('1'), frame('2'), frame('C', 'COMMIT\0'), frame('3'), frame('3'), idle];
const commits = [frame('C', 'COMMIT\0'), idle];
const rollsBack = [frame('C', 'ROLLBACK\0'), idle];

it.each<readonly [string, string, readonly (readonly Buffer[])[]]>([
  ['a statement', 'id 77 ONE Z', [begins, id, [one, inBlock], commits]],
  ['with rows', 'id 77 T D D ONE Z', [begins, id, [frame('T'), row, row, one, inBlock], commits]],
  ['that fails', 'id 77 T D E Z', [begins, id, [frame('T'), row, error('22012'), failed], rollsBack]],
  ['that cannot be committed', 'id 77 E Z', [begins, id, [one, inBlock], [error('23503'), idle]]],
  ['whose block does not begin', 'failed 57014', [[frame('1'), error('57014')]]],
  ['whose id may not be asked', 'failed 42501', [begins, [error('42501')]]],
  ['whose session ends before', 'id 77 E', [begins, id, [one, inBlock], [error('57P01', 'FATAL')]]],
])('%s: %s', (_, expected, messages) => expect(told(messages)).toBe(expected));

it.each<readonly [string, string, readonly (readonly Buffer[])[]]>([
  ['is cancelled as its block begins', 'ends by Sync E Z', [[frame('1'), error('57014')], [idle]]],
  [
    'is cancelled behind its BEGIN',
    'ends by Sync E rolls back Z',
    [begins.slice(0, 3), [error('57014'), failed], rollsBack],
  ],
  [
    'is cancelled as its id is asked',
    'ends E Z',
    [begins, [error('57014'), failed], [error('25P02'), failed], rollsBack],
  ],
  [
    'gets no id from a full lock table',
    'ends E Z',
    [begins, [error('53200'), failed], [error('25P02'), failed], rollsBack],
  ],
])('a statement that %s hears that once', (_, expected, messages) =>
  expect(told(messages, false, true)).toBe(expected),
);

it.each<readonly [string, string, readonly (readonly Buffer[])[]]>([
  ['a read', 'T D ONE Z', [begins, [frame('T'), row, one, inBlock], readsEnd]],
  [
    'two by messages',
    '2 D ONE 2 D ONE Z',
    [begins, [frame('2'), row, one, frame('2'), row, one, inBlock], readsEnd],
  ],
  [
    'one that cannot be committed',
    'D E Z',
    [begins, [row, one, inBlock], [frame('1'), frame('2'), error('40001'), idle]],
  ],
  ['two, the second of which fails', 'D ONE E Z', [begins, [row, one, error('22012'), failed], rollsBack]],
  ['one that writes', 'E Z', [begins, [error('25006'), failed], rollsBack]],
  ['one whose block does not begin', 'failed 57014', [[error('57014')]]],
])('%s that is sent again: %s', (_, expected, messages) => expect(told(messages, true)).toBe(expected));
