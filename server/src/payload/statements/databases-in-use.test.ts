import { expect, it } from 'vitest';
import { neededDatabase } from './databases-in-use.ts';

const needed = (statement: string): string => {
  const found = neededDatabase(Buffer.from(statement).toString('latin1'));
  return found === null ? 'none' : `${found.what} ${found.name}`;
};

it.each([
  ['DROP DATABASE Busy', 'drop busy'],
  ['drop/* /* a */ */database -- b\n if exists "Bu""s\'y\\"', `drop Bu"s'y\\`],
  ['DROP DATABASE IF', 'drop if'],
  ['DROP DATABASE IF EXISTS force', 'drop force'],
  ['DROP DATABASE U&"b!0075sy" /**/ UESCAPE \'!\'', 'drop null'],
  ['DROP DATABASE busy WITH (FORCE)', 'none'],
  ['DROP TABLE busy', 'none'],
  ['ALTER DATABASE busy RENAME TO idle', 'rename busy'],
  ['ALTER DATABASE busy SET TABLESPACE fast', 'alter busy'],
  ["ALTER DATABASE busy SET work_mem = '1MB'", 'none'],
  ['ALTER DATABASE busy OWNER TO me', 'none'],
  ['CREATE DATABASE new', 'source template1'],
  ['CREATE DATABASE new TEMPLATE DEFAULT', 'source template1'],
  ['CREATE DATABASE template WITH CONNECTION LIMIT = -1 OWNER template TEMPLATE Busy', 'source busy'],
  ["CREATE DATABASE new TEMPLATE = 'bu'\n'sy' ENCODING 'UTF8'", 'source null'],
  ["CREATE DATABASE new TEMPLATE E'b\\x75s\\'y'", 'source null'],
  ['CREATE DATABASE new TEMPLATE $a$bu$sy$a$', 'source bu$sy'],
  ["CREATE DATABASE new TEMPLATE 'Bu''sy'", "source Bu'sy"],
  ["CREATE DATABASE new TEMPLATE 'b\\'sy'", 'source null'],
  ['CREATE DATABASE U&"new" TEMPLATE busy', 'source null'],
  ['CREATE DATABASE', 'source template1'],
  ['DROP DATABASE', 'none'],
  ['DROP DATABASE "busy', 'none'],
])('%s', (statement, expected) => {
  expect(needed(statement)).toBe(expected);
});

it('takes no longer for many comments and quotes', () => {
  const long = `DROP DATABASE ${'/**/'.repeat(16_000)} busy ${'"'.repeat(1001)}`;
  expect(needed(long)).toBe('drop busy');
});
