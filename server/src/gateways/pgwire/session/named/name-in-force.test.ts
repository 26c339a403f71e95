import { expect, it } from 'vitest';
import { query } from '../../../../pgwire/frontend-messages.ts';
import { messageMentions } from './name-in-force.ts';

const acts = (sql: string): boolean => messageMentions(query(sql))!.acts;

it.each([
  "SET barista.request_id = 'n'",
  "begin; set local barista.request_id = 'it''s'; show search_path",
  "SELECT set_config('barista.request_id', $1, true)",
  "SELECT set_config('barista.request_id', $1, true), now()",
])('only sets, or gives the name: %s', (sql) => {
  expect(acts(sql)).toBe(false);
});

it.each([
  "SET LOCAL barista.request_id = 'n' /* it's named */; INSERT INTO f VALUES ('x')",
  "SET x = 'a' -- don't\n; NOTIFY c, 'x'",
  String.raw`SET x.y = E'a\'b'; INSERT INTO f VALUES (1) --'`,
  "SET x.y = $$a'b$$; SELECT dblink_exec('x', 'y''z')",
  "SET x.y = $1$a'b$1$; SELECT f('x')",
  `SET "x'y" = 1; NOTIFY c, 'x'`,
  "NOTIFY c, 'set barista.request_id'",
  "SELECT pg_notify('c', 'barista.request_id')",
])('may do more than set: %s', (sql) => {
  expect(acts(sql)).toBe(true);
});
