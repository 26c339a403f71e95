/**
 * A small capture, enough to try the gateway: row triggers write into a side table, which the harvest empties.
 *
 * The real one is adapters/postgres. A table is captured once `SELECT fake.track('name')` has been called by the superuser.
 */
import type { Client } from 'pg';
import type { HarvestRow, SessionSql } from '../../../ports/session-sql.ts';

const secret = 'the test secret';

const installSql = `
CREATE SCHEMA fake;
GRANT USAGE ON SCHEMA fake TO PUBLIC;
CREATE TABLE fake.captured (txid xid8 DEFAULT pg_current_xact_id(), position bigserial, sql text, relation text, before text, after text);
CREATE TABLE fake.pointer (slot text, txid xid8 DEFAULT pg_current_xact_id());

CREATE FUNCTION fake.capture() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO fake.captured (sql, relation, before, after)
  VALUES (left(current_query(), 300), TG_RELID::regclass::text,
    CASE WHEN TG_OP <> 'INSERT' THEN OLD::text END, CASE WHEN TG_OP <> 'DELETE' THEN NEW::text END);
  RETURN NULL;
END $$;

CREATE FUNCTION fake.track(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER fake AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION fake.capture()', relation);
END $$;

CREATE FUNCTION fake.harvest(given text) RETURNS SETOF bytea LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF given <> '${secret}' THEN RAISE EXCEPTION 'wrong secret'; END IF;
  IF current_setting('transaction_isolation') = 'serializable' THEN RETURN NEXT convert_to('"serializable"', 'UTF8'); END IF;
  IF NOT EXISTS (SELECT FROM fake.captured WHERE txid = pg_current_xact_id_if_assigned()) THEN RETURN; END IF;
  RETURN QUERY WITH gone AS (DELETE FROM fake.captured WHERE txid = pg_current_xact_id() RETURNING *)
    SELECT convert_to(row_to_json(gone)::text, 'UTF8') FROM gone ORDER BY position;
END $$;

CREATE FUNCTION fake.record(given text, slot text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF given <> '${secret}' THEN RAISE EXCEPTION 'wrong secret'; END IF;
  INSERT INTO fake.pointer VALUES (slot);
END $$;
`;

export const installFakeCapture = async (superuser: Client): Promise<void> => {
  await superuser.query(installSql);
};

interface Captured {
  readonly sql: string;
  readonly relation: string;
  readonly before: string | null;
  readonly after: string | null;
}

const decode = (row: Uint8Array): HarvestRow => {
  const captured = JSON.parse(Buffer.from(row).toString('utf8')) as Captured | 'serializable';
  if (captured === 'serializable') return { kind: 'serializable' };
  const { sql, relation, before, after } = captured;
  if (relation.startsWith('refused')) {
    return {
      kind: 'refused',
      sqlState: '0A000',
      message: `${relation} cannot be replicated`,
      hint: 'It is a test.',
    };
  }
  if (before !== null && after !== null) {
    return { kind: 'effect', sql, effect: { kind: 'update', relation, before: [before], after: [after] } };
  }
  const rows = [before ?? after ?? ''];
  return { kind: 'effect', sql, effect: { kind: before === null ? 'insert' : 'delete', relation, rows } };
};

export const fakeSessionSql = (socketPath: string): SessionSql => ({
  startupParameters: {},
  reservedUsers: ['postgres'],
  socketPath,
  harvest: 'SELECT h FROM fake.harvest($1) h',
  recordSlot: 'SELECT fake.record($1, $2)',
  recordTransaction: 'SELECT fake.record($1, $2)',
  secret,
  decodeHarvestRow: decode,
});
