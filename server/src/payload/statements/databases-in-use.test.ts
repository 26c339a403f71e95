import { expect, it } from 'vitest';
import { neededDatabase } from './databases-in-use.ts';

const needed = (statement: string): string => {
  const found = neededDatabase(Buffer.from(statement).toString('latin1'));
  return found === null ? 'none' : `${found.what} ${found.name}`;
};

it.each([
  ['DROP DATABASE Busy', "drop E'busy'"],
  ['drop/* /* a */ */database -- b\n if exists "Bu""s\'y\\"', `drop E'Bu"s''y\\\\'`],
  ['DROP DATABASE IF', "drop E'if'"],
  ['DROP DATABASE IF EXISTS force', "drop E'force'"],
  ['DROP DATABASE U&"b!0075sy" /**/ UESCAPE \'!\'', "drop U&'b!0075sy' UESCAPE '!'"],
  ['DROP DATABASE busy WITH (FORCE)', 'none'],
  ['DROP TABLE busy', 'none'],
  ['ALTER DATABASE busy RENAME TO idle', "rename E'busy'"],
  ['ALTER DATABASE busy SET TABLESPACE fast', "alter E'busy'"],
  ["ALTER DATABASE busy SET work_mem = '1MB'", 'none'],
  ['ALTER DATABASE busy OWNER TO me', 'none'],
  ['CREATE DATABASE new', "source E'template1'"],
  ['CREATE DATABASE new TEMPLATE DEFAULT', "source E'template1'"],
  ['CREATE DATABASE template WITH CONNECTION LIMIT = -1 OWNER template TEMPLATE Busy', "source E'busy'"],
  ["CREATE DATABASE new TEMPLATE = 'bu'\n'sy' ENCODING 'UTF8'", "source 'bu'\n'sy'"],
  ["CREATE DATABASE new TEMPLATE E'b\\x75s\\'y'", "source E'b\\x75s\\'y'"],
  ['CREATE DATABASE new TEMPLATE $a$bu$sy$a$', 'source $a$bu$sy$a$'],
  ['CREATE DATABASE', "source E'template1'"],
  ['DROP DATABASE', 'none'],
  ['DROP DATABASE "busy', 'none'],
])('%s', (statement, expected) => {
  expect(needed(statement)).toBe(expected);
});

it('takes no longer for many comments and quotes', () => {
  const long = `DROP DATABASE ${'/**/'.repeat(16_000)} busy ${'"'.repeat(1001)}`;
  expect(needed(long)).toBe("drop E'busy'");
});
