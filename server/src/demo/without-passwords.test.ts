import { expect, it } from 'vitest';
import { withoutPasswords } from './without-passwords.ts';

it.each([
  ["ALTER ROLE ann PASSWORD 'secret'", "ALTER ROLE ann PASSWORD '…'"],
  [
    "create user ann with encrypted password E'sec\\'ret' LOGIN",
    "create user ann with encrypted password '…' LOGIN",
  ],
  [
    "ALTER ROLE ann PASSWORD 'sec''ret' VALID UNTIL '2030-01-01'",
    "ALTER ROLE ann PASSWORD '…' VALID UNTIL '2030-01-01'",
  ],
  ["ALTER ROLE ann PASSWORD'secret'", "ALTER ROLE ann PASSWORD'…'"],
  [
    "ALTER ROLE ann PASSWORD /* 'no' */ -- it's\n 'secret'",
    "ALTER ROLE ann PASSWORD /* 'no' */ -- it's\n '…'",
  ],
  ["ALTER ROLE ann PASSWORD 'sec'\n 'ret'", "ALTER ROLE ann PASSWORD '…'"],
  ['ALTER ROLE ann PASSWORD $$secret$$ LOGIN', "ALTER ROLE ann PASSWORD '…' LOGIN"],
  ['ALTER ROLE ann PASSWORD $a$sec$$ret$a$ LOGIN', "ALTER ROLE ann PASSWORD '…' LOGIN"],
  [
    "CREATE USER MAPPING FOR ann SERVER s OPTIONS (user 'a', password 'secret')",
    "CREATE USER MAPPING FOR ann SERVER s OPTIONS (user 'a', password '…')",
  ],
  ["UPDATE people SET password = 'secret'", "UPDATE people SET password = '…'"],
  [
    "CREATE SUBSCRIPTION s CONNECTION 'host=h password=secret dbname=d' PUBLICATION p",
    "CREATE SUBSCRIPTION s CONNECTION 'host=h password=… dbname=d' PUBLICATION p",
  ],
  [
    "CREATE SUBSCRIPTION s CONNECTION 'password=''it is'' host=h' PUBLICATION p",
    "CREATE SUBSCRIPTION s CONNECTION 'password=… host=h' PUBLICATION p",
  ],
  [`ALTER ROLE ann PASSWORD ${'/**/'.repeat(500)} 'secret'`, 'ALTER ROLE ann PASSWORD …'],
  ["ALTER ROLE ann PASSWORD /* cut o 'secret'", 'ALTER ROLE ann PASSWORD …'],
  ["ALTER ROLE ann PASSWORD 'secret that was cut o", "ALTER ROLE ann PASSWORD '…'"],
  ['ALTER ROLE ann PASSWORD $$secret that was cut o', "ALTER ROLE ann PASSWORD '…'"],
])('a password is blanked: %s', (sql, blanked) => {
  expect(withoutPasswords(sql)).toBe(blanked);
});

it('what has none is as it was', () => {
  for (const sql of ["SELECT 'secret'", 'UPDATE people SET password = $1', 'ALTER ROLE ann PASSWORD NULL'])
    expect(withoutPasswords(sql)).toBe(sql);
});
