/** SELECTs that were under way when the leader went, in databases in which code of clients runs that no statement names: only what can have run none of it is executed again. */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../adapters/testing/relay.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { codeOf, leaderAt, settled } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
let cable: Relay;
let client: Client;

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query('CREATE ROLE open LOGIN; GRANT USAGE ON SCHEMA public TO PUBLIC');
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  leader = await startGateway(pg);
  cable = await startRelay(leader.connection.port);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  follower = await startGateway(pg, { service, limits: { keepWaitMs: 5_000 } });
  client = await follower.client({ user: 'open' });
  await pg.superuser.query('CREATE SCHEMA unseen AUTHORIZATION open');
  // What writes says so to nobody where it cannot.
  await client.query(`SET search_path = unseen;
    CREATE TABLE t (a int, b text); INSERT INTO t VALUES (7, 'x'), (7, 'x'), (8, 'y'), (8, 'y'); ANALYZE t;
    CREATE TABLE noted (a text);
    CREATE FUNCTION notes(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO unseen.noted VALUES ($1); RETURN true; EXCEPTION WHEN OTHERS THEN RETURN true; END $$;
    CREATE FUNCTION constant(text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN unseen.notes($1); END'`);
});
afterEach(async () => {
  await client.end().catch(() => {});
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
  await pg.superuser.query(
    'DROP EXTENSION IF EXISTS xml2, btree_gin, btree_gist, bloom; DROP SCHEMA IF EXISTS unseen CASCADE',
  );
});

async function cut(): Promise<void> {
  await settled();
  cable.cut();
}

const counts = `CREATE FUNCTION counts(int, text) RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM notes($2); RETURN $1 + 1; END'`;
const checked = 'CREATE DOMAIN checked AS text CHECK (notes(VALUE)); CREATE TYPE holds AS (a checked)';
const executes = `CREATE DOMAIN executes AS text
  CHECK (query_to_xml(format('SELECT notes(%L)', VALUE), false, false, '') IS NOT NULL)`;
const cast = `CREATE TYPE span AS RANGE (SUBTYPE = text);
  CREATE FUNCTION jsonOf(span) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM notes(lower($1)); RETURN '1'; END $$;
  CREATE CAST (span AS json) WITH FUNCTION jsonOf(span)`;
const negator = `CREATE FUNCTION equal(text, text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN PERFORM notes($2); RETURN $1 = $2; END';
  CREATE FUNCTION other(text, text) RETURNS boolean PARALLEL SAFE LANGUAGE sql AS 'SELECT $1 <> $2';
  CREATE OPERATOR ### (LEFTARG = text, RIGHTARG = text, FUNCTION = equal, RESTRICT = eqsel);
  CREATE OPERATOR !## (LEFTARG = text, RIGHTARG = text, FUNCTION = other, NEGATOR = ###, RESTRICT = neqsel)`;
const argument = `CREATE FUNCTION takes(boolean DEFAULT notes('x')) RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'`;
const textArgument = `CREATE FUNCTION takes(xml DEFAULT query_to_xml($$SELECT notes('x')$$, false, false, '')) RETURNS int PARALLEL SAFE
  LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'`;

it.each<[string, string, string, unknown[]]>([
  ['a check of the type of a parameter', checked, 'SELECT $1::checked', ['x']],
  ['a check within a constant of a row', checked, "SELECT '(x)'::holds", []],
  ['a check within a constant of an array', checked, "SELECT '{x}'::checked[]", []],
  ['a check of a value in JSON', checked, `SELECT json_populate_record(NULL::holds, '{"a": "x"}')`, []],
  ['a check that executes a text', executes, "SELECT '{x}'::executes[]", []],
  [
    'what an aggregate is made of',
    `${counts}; CREATE AGGREGATE gathers(text) (SFUNC = counts, STYPE = int, INITCOND = 0, PARALLEL = SAFE)`,
    'SELECT gathers(b) FROM t',
    [],
  ],
  ['a cast to JSON', cast, "SELECT to_json(span('x', 'x', '[]'))", []],
  ['a cast to JSON within a row', cast, "SELECT row_to_json(r) FROM (SELECT span('x', 'x', '[]')) r", []],
  ['an operator that the planner asks in place of another', negator, "SELECT a FROM t WHERE b !## 'x'", []],
  ['an operator that takes the place of another', negator, "SELECT a FROM t WHERE NOT b !## 'x'", []],
  ['a constant in an index', "CREATE INDEX ON t ((constant('x')))", 'SELECT a FROM t', []],
  ['a condition of an index', "CREATE INDEX ON t (a) WHERE constant('x')", 'SELECT a FROM t WHERE a > 5', []],
  ['a default of an argument', argument, 'SELECT takes()', []],
  ['a default of an argument that executes a text', textArgument, 'SELECT takes()', []],
])('executes no SELECT again where code of clients runs unseen: %s', async (_, made, text, values) => {
  await client.query(made);
  const asked = codeOf(client.query({ text: sleeping(text), values }));
  await cut();
  expect(await asked).toBe('08007');
});

/** `text`, in the middle of which there is time to lose the leader. */
function sleeping(text: string): string {
  return `SELECT asked.*, s::text FROM (${text}) asked, pg_sleep(0.3) s`;
}

it('does so in a database with extensions whose own code is not marked', async () => {
  await pg.superuser.query('CREATE EXTENSION btree_gin; CREATE EXTENSION btree_gist; CREATE EXTENSION bloom');
  const asked = client.query(sleeping('SELECT a FROM t'));
  await cut();
  expect((await asked).rowCount).toBe(4);
});

it('executes no SELECT again where an extension executes texts in what is marked', async () => {
  await pg.superuser.query('CREATE EXTENSION xml2');
  await client.query("SET search_path = unseen, public; INSERT INTO t VALUES (1, '<x/>')");
  const text = "SELECT * FROM xpath_table('a', 'b', 't', '/x', 'a = 1 AND notes(b)') AS x (a int, b text)";
  const asked = codeOf(client.query(sleeping(text)));
  await cut();
  expect(await asked).toBe('08007');
});

it.each<[string, string, string]>([
  [
    'domains that call nothing of clients',
    'CREATE DOMAIN positive AS int CHECK (VALUE > 0 AND length(VALUE::text) < 9); CREATE DOMAIN needed AS text NOT NULL',
    "SELECT '{7}'::positive[]",
  ],
  [
    'views, policies, defaults and triggers that call what is not marked',
    `CREATE VIEW v AS SELECT notes(b) FROM t; CREATE POLICY p ON noted USING (notes(a)); ALTER TABLE t ALTER a SET DEFAULT length(notes('x')::text);
      CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'; CREATE TRIGGER f BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fires()`,
    'SELECT a FROM t',
  ],
  [
    'an index, an operator and a cast that call what is marked',
    `CREATE FUNCTION marked(text) RETURNS boolean IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN true; END'; CREATE INDEX ON t (marked(b));
      CREATE OPERATOR !!! (RIGHTARG = text, FUNCTION = marked); CREATE TYPE words AS ENUM ('x');
      CREATE FUNCTION truth(words) RETURNS boolean PARALLEL SAFE LANGUAGE sql AS 'SELECT true'; CREATE CAST (words AS boolean) WITH FUNCTION truth(words)`,
    'SELECT !!! b FROM t',
  ],
  [
    'defaults of arguments of functions that are marked, which call none',
    `CREATE FUNCTION takes(int DEFAULT length('x')) RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'`,
    'SELECT takes()',
  ],
])('does so in a database with %s', async (_, made, text) => {
  await client.query(made);
  const asked = client.query(sleeping(text));
  await cut();
  expect((await asked).rowCount).toBeGreaterThan(0);
});
