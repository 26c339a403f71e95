/**
 * Installs the schema `_barista`, its functions and triggers. Runs at each start, in one transaction, and replaces what an
 * older version left. Functions are closed to everybody but the few that clients' sessions have to reach.
 */
import type { Client } from 'pg';
import { captureInstallSql, captureSql, pinnedClauses } from './capture.ts';
import { ddlSql, eventTriggersSql } from './ddl.ts';
import { gatewaySql } from './gateway.ts';
import { requestTablesSql } from './requests.ts';
import { sequencesSql } from './sequences.ts';
import { hardeningSql, tablesSql } from './tables.ts';

/**
 * The gateway's own functions ask for the secret; the two of the event triggers check who called them, and the event triggers
 * themselves cannot be called at all.
 */
const openFunctions = [
  'harvest(text)',
  'record_slot(text, text)',
  'record_transaction(text, text)',
  'begin_request(text)',
  'record_request(text, text, text)',
  'request_committed(text)',
  'record_ddl(name, text, text)',
  'record_drop(name, text, text)',
  'on_ddl()',
  'on_drop()',
  'on_ddl_start()',
];

const attachExistingSql = `
DO $existing$
DECLARE
  relation oid;
BEGIN
  FOR relation IN SELECT oid FROM pg_catalog.pg_class c WHERE _barista.is_replicated(c.oid) LOOP
    IF NOT _barista.capture_intact(relation) THEN PERFORM _barista.attach_capture(relation); END IF;
  END LOOP;
  PERFORM _barista.track_sequences();
END $existing$;`;

export async function installSchema(client: Client, secret: string): Promise<void> {
  const version = await client.query<{ number: number }>(
    "SELECT current_setting('server_version_num')::int / 10000 AS number",
  );
  const majorVersion = version.rows[0]?.number ?? 0;
  const statements = [
    'BEGIN',
    'DROP EVENT TRIGGER IF EXISTS barista_ddl_start',
    'DROP EVENT TRIGGER IF EXISTS barista_ddl',
    'DROP EVENT TRIGGER IF EXISTS barista_drop',
    tablesSql,
    requestTablesSql,
    hardeningSql,
    captureSql,
    captureInstallSql,
    sequencesSql(majorVersion),
    ddlSql(pinnedClauses),
    gatewaySql(secret, majorVersion),
    'REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA _barista FROM PUBLIC',
    ...openFunctions.map((name) => `GRANT EXECUTE ON FUNCTION _barista.${name} TO PUBLIC`),
    attachExistingSql,
    eventTriggersSql,
    'COMMIT',
  ];
  for (const statement of statements) await client.query(statement);
}
