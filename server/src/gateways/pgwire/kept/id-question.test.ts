import { describe, expect, it } from 'vitest';
import { frame } from '../testing/frames.ts';
import { IdAnswer, type IdListener, type IdQuestionKind } from './id-question.ts';

/** What is heard of the id, and what becomes of each message: `.` it is taken, `|` it is the last, `-` behind which all up to ReadyForQuery is passed over, `>` it is the client's. */
function heard(
  form: IdQuestionKind['form'],
  messages: readonly Buffer[],
  { tellsError = false, isBehind = false } = {},
): string {
  const names: string[] = [];
  const listener: IdListener = {
    id: (xid) => void names.push(`id ${xid} `),
    failed: (sqlState) => void names.push(`failed ${sqlState} `),
    failsRequest: () => tellsError,
    rollBack: () => undefined,
  };
  const answer = new IdAnswer(form, listener, isBehind);
  for (const message of messages) {
    const taken = answer.take(message[0]!, message);
    names.push(taken === 'goesOn' ? '.' : typeof taken === 'string' ? '>' : taken.skips === true ? '-' : '|');
  }
  return names.join('');
}

const ready = frame('Z', 'T');
const row = frame('D', '\0\x01\0\0\0\x0277');
const batch = [frame('1'), frame('2'), row, frame('C', 'SELECT 1\0'), frame('3'), frame('3')];
const [refused, ended] = [frame('E', 'VERROR\0C42501\0\0'), frame('E', 'VFATAL\0C57P01\0\0')];

describe('the answer to a question for an id', () => {
  it.each<readonly [string, IdQuestionKind['form'], string, readonly Buffer[]]>([
    ['a call', 'call', 'id 77 .|', [frame('V', '\0\0\0\x0277'), ready]],
    ['a call of what has none', 'call', 'id null .|', [frame('V', '\xff\xff\xff\xff'), ready]],
    ['a call that is refused', 'call', 'failed 42501 .|', [refused, ready]],
    ['messages, the statement of which is closed last', 'batch', '..id 77 ...|', batch],
    [
      'messages that are refused: ReadyForQuery is the client’s',
      'batch',
      'failed 42501 .>',
      [refused, ready],
    ],
    ['the end of the session', 'batch', '.>', [frame('1'), ended]],
  ])('%s', (_, form, expected, messages) => expect(heard(form, messages)).toBe(expected));
});

describe.each(['57014', '53200'])('a question that fails with the request’s own %s', (sqlState) => {
  const failed = frame('E', `VERROR\0C${sqlState}\0\0`);

  it.each<readonly [string, IdQuestionKind['form'], string, object]>([
    ['ahead of a batch: its error is that of the batch', 'batch', '>>', { tellsError: true }],
    [
      'ahead of a Query: the client hears it, and not what that is answered',
      'call',
      '>-',
      { tellsError: true },
    ],
    ['behind a Query: not now', 'call', '.|', { tellsError: true, isBehind: true }],
    ['where that cannot be told', 'call', `failed ${sqlState} .|`, {}],
  ])('%s', (_, form, expected, how) => expect(heard(form, [failed, ready], how)).toBe(expected));
});
