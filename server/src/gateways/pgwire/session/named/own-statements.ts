/**
 * What the gateway itself runs in a session that names its transactions, as messages that PostgreSQL answers with one ReadyForQuery.
 *
 * Pure. The functions are those of adapters/postgres/requests. The statements have a name of their own that is given up with them, so the client's unnamed statement and portal are left alone.
 */
import * as send from '../../../../pgwire/frontend-messages.ts';

/** Also that of the portal. */
const name = 'barista.request';

/** Begins a block, and fails with RQ001 if a transaction of the name that is set has been committed; waits for one that is under way. */
export const beginNamed = flight(run('BEGIN'), run('SELECT pg_barista.begin_name()'));

/** Begins a block, and looks only whether a name is set: of a request that leaves it as it is. */
export const beginAsking = flight(
  run('BEGIN'),
  run(`SELECT CASE WHEN pg_catalog.length(pg_catalog.current_setting('barista.request_id', true)) OPERATOR(pg_catalog.>) 0
    THEN pg_barista.describe_name('named', pg_catalog.current_setting('barista.request_id', true)) ELSE 'none' END`),
);

/** What is known of the transaction whose name is claimed. */
export interface Claimed {
  /** What is recorded of it (request-digest.ts); null: nothing. */
  readonly record: string | null;
  /** It has done more than settings, and takes its name unless it is READ ONLY; else it takes it only if it has an id. */
  readonly acts: boolean;
  /** The name that was set before its only statement, or none: one that this statement has given it takes only if it has an id. Null: not known, or there were more statements. */
  readonly before: string | null;
}

/** Claims the name for the transaction that is open, which is about to be committed. */
export function claimName(claimed: Claimed): Buffer {
  return flight(claim(claimed));
}

export function claimAndCommit(claimed: Claimed): Buffer {
  // Without the Flush the claim's answer would come only when the COMMIT has waited.
  return flight(claim(claimed), send.flush, run('COMMIT'));
}

export const rollBack = flight(run('ROLLBACK'));

/** The transaction of this name had been committed before: its name is used up by its repetition. */
const forget = run(`SELECT pg_catalog.set_config('barista.request_id', '', false)`);
export const forgetName = flight(forget);
export const rollBackAndForget = flight(run('ROLLBACK'), forget);

/** Fails, so that a block that is open is a failed one. */
export const failBlock = flight(send.parse(name, `SELECT 'refused by the gateway'::pg_catalog.int4`));

const claims = 'SELECT pg_barista.claim_name($1)';
/** The transaction that gives the name, and has done nothing else, leaves it for the next one. `$2`: a name that counts as given before, in hexadecimal. */
const claimsUnlessGiven = `SELECT CASE
  WHEN pg_catalog.pg_current_xact_id_if_assigned() IS NULL AND pg_catalog.length(pg_catalog.current_setting('barista.request_id', true)) OPERATOR(pg_catalog.>) 0
    AND pg_catalog.encode(pg_catalog.convert_to(pg_catalog.current_setting('barista.request_id', true), 'UTF8'), 'hex') OPERATOR(pg_catalog.<>) $2
  THEN pg_barista.describe_name('unused', pg_catalog.current_setting('barista.request_id', true))
  ELSE pg_barista.claim_name($1) END`;
/** In hexadecimal: of no name. */
const ofNone = '';

function claim({ record, acts, before }: Claimed): Buffer {
  if (acts && before === null) return run(claims, [record ?? '']);
  const counts = acts && before !== null ? Buffer.from(before).toString('hex') : ofNone;
  return run(claimsUnlessGiven, [record ?? '', counts]);
}

function run(sql: string, parameters: readonly string[] = []): Buffer {
  return Buffer.concat([
    // One that has failed has left its portal and its statement behind.
    send.closePortal(name),
    send.closeStatement(name),
    send.parse(name, sql),
    send.bind({ portal: name, statement: name, parameters }),
    send.execute(name),
    send.closeStatement(name),
    send.closePortal(name),
  ]);
}

function flight(...messages: readonly Buffer[]): Buffer {
  return Buffer.concat([...messages, send.sync]);
}
