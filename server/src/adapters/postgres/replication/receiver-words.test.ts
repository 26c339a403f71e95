import { expect, it } from 'vitest';
import { ReceiverWords } from './receiver-words.ts';

const at = '2026-11-29 23:00:00.000 UTC';
const full = 'could not write to file "pg_wal/xlogtemp.77": No space left on device';

it('tells the error with which the walreceiver has left, once', () => {
  const words = new ReceiverWords();
  const text = `${at} [77] 53100 FATAL:  ${full}\n${at} [70] 00000 LOG:  waiting for WAL to become available\n`;
  words.add(text.slice(0, 40));
  expect(words.take()).toBeNull();
  words.add(text.slice(40));
  expect(words.take()).toBe(full);
  expect(words.take()).toBeNull();
});

it.each([
  ['a session, whose client chooses its words', `${at} [77] 53100 u@d FATAL:  ${full}`],
  ['a session of the superuser', `${at} [77] 57P01 postgres@d FATAL:  terminating connection`],
  ['the end of the connection', `${at} [77] 08006 FATAL:  could not receive data from WAL stream`],
  ['a stop', `${at} [77] 57P01 FATAL:  terminating walreceiver process due to administrator command`],
  ['something that is no error', `${at} [77] 00000 LOG:  started streaming WAL from primary`],
])('says nothing of %s', (_what, line) => {
  const words = new ReceiverWords();
  words.add(`${line}\n`);
  expect(words.take()).toBeNull();
});
