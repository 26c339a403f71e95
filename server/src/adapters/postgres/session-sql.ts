/**
 * The postgres adapter's side of the SessionSql port: the statements that the gateway weaves into clients' sessions.
 *
 * The secret must not reach a client. Parameters do not show in pg_stat_activity or current_query(), but PostgreSQL can quote
 * them in the CONTEXT of an error (log_parameter_max_length_on_error, which a client may set): the gateway must never pass on
 * the context of an error of these statements.
 */
import type { SessionSql } from '../../ports/session-sql.ts';
import { reservedUsers } from './bootstrap.ts';
import { decodeHarvestRow } from './harvest-row.ts';
import type { PostgresServer } from './postgres-server.ts';

export function createSessionSql(server: PostgresServer): SessionSql {
  return {
    startupParameters: {},
    reservedUsers,
    socketPath: server.socketPath,
    harvest: 'SELECT * FROM _barista.harvest($1)',
    recordSlot: 'SELECT _barista.record_slot($1, $2)',
    recordTransaction: 'SELECT _barista.record_transaction($1, $2)',
    beginRequest: 'SELECT _barista.begin_request($1)',
    recordRequest: 'SELECT _barista.record_request($1, $2, $3)',
    forgetRequest: "SELECT pg_catalog.set_config('barista.request_id', '', false)",
    secret: server.secret,
    decodeHarvestRow,
  };
}
