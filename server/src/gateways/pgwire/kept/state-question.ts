/**
 * Asks a session of PostgreSQL what of its state is not in its startup packet: settings, role, statements of SQL's PREPARE, LISTEN, and what no other session can have.
 *
 * Pure. In the extended protocol with a statement of its own name, which is closed behind it: a Query would drop the client's statement that has no name.
 */
import { columnsOf } from '../../../pgwire/backend-messages.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { ownQuestions } from '../../../pgwire/own-questions.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { back } from '../../../pgwire/message-types.ts';
import { mixedEncodings, usualRules } from '../../../pgwire/text-rules.ts';
import { shapeOf } from '../../../pgwire/text-shape.ts';
import type { OwnAnswer, OwnTaken } from './upstream-reader.ts';

export interface ParsedText {
  readonly text: string;
  /** Object ids of the parameters' types. */
  readonly types: readonly number[];
}

/** Strings are read as latin1, so that they go out again byte for byte. */
export interface StateSnapshot {
  readonly settings: readonly (readonly [name: string, value: string])[];
  /** That of the client; null: it is not known. */
  readonly encoding: string | null;
  /** What SET SESSION AUTHORIZATION has made of the user that logged in, by object id; null: nothing. */
  readonly authorization: string | null;
  /** What SET ROLE has, by object id, for another role may have its name later; `none`: nothing. Null: whatever it is when one logs in. */
  readonly role: string | null;
  readonly channels: readonly string[];
  /** Texts of SQL's PREPARE. */
  readonly prepares: readonly string[];
  /** Statements that the client has prepared by messages, by name. */
  readonly parsed: ReadonlyMap<string, ParsedText>;
  /** What another session cannot have, in words. */
  readonly lost: readonly string[];
}

export const emptySnapshot: StateSnapshot = {
  settings: [],
  encoding: null,
  authorization: null,
  role: null,
  channels: [],
  prepares: [],
  parsed: new Map(),
  lost: [],
};

const own = ownQuestions.state;

/** Where the client's encoding has characters with a byte below 128: the text as PostgreSQL itself reads it, whose encodings have none. */
const serverText =
  ownSql(`CASE WHEN pg_catalog.current_setting('client_encoding') = ANY ('{${[...mixedEncodings].join()}}'::pg_catalog.text[])
      THEN pg_catalog.encode(pg_catalog.convert_to(statement, pg_catalog.getdatabaseencoding()), 'base64') END`);

/** Executed in the client's session, which may find operators of its own first. */
const question = ownSql(`SELECT 's', name, setting, NULL FROM pg_catalog.pg_settings
  WHERE source = 'session' AND name <> ALL ('{transaction_isolation,transaction_read_only,transaction_deferrable}'::pg_catalog.text[])
UNION ALL SELECT 's', n, pg_catalog.current_setting(n, true), NULL FROM pg_catalog.unnest($1::pg_catalog.text[]) n
  WHERE pg_catalog.current_setting(n, true) IS NOT NULL
UNION ALL SELECT 'e', pg_catalog.current_setting('client_encoding'), NULL, NULL
UNION ALL SELECT 'r', CASE WHEN pg_catalog.current_setting('role') = 'none' THEN 'none'
    ELSE (SELECT oid::pg_catalog.text FROM pg_catalog.pg_roles WHERE rolname = current_user) END, NULL, NULL
UNION ALL SELECT CASE WHEN from_sql THEN 'q' ELSE 'p' END, name, statement,
    CASE WHEN from_sql THEN ${serverText} ELSE parameter_types::pg_catalog.oid[]::pg_catalog.text END
  FROM pg_catalog.pg_prepared_statements
  WHERE name <> '${own}'
UNION ALL SELECT 'l', c, NULL, NULL FROM pg_catalog.pg_listening_channels() c
UNION ALL SELECT 't', 'its temporary tables', NULL, NULL
  WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema())
UNION ALL SELECT 't', 'its temporary functions or types', NULL, NULL
  WHERE EXISTS (SELECT FROM pg_catalog.pg_depend WHERE refclassid = 2615::pg_catalog.oid AND refobjid = pg_catalog.pg_my_temp_schema() AND classid <> 1259::pg_catalog.oid)
UNION ALL SELECT 't', 'its advisory locks', NULL, NULL
  WHERE EXISTS (SELECT FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid())
UNION ALL SELECT 't', 'its cursors WITH HOLD', NULL, NULL WHERE EXISTS (SELECT FROM pg_catalog.pg_cursors WHERE is_holdable)
UNION ALL SELECT 'a', r.oid::pg_catalog.text, NULL, NULL
  FROM pg_catalog.pg_roles r, pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a
  WHERE r.rolname = session_user AND r.oid <> a.usesysid`);

/** `names`: of custom settings that it may have. It is answered with one ReadyForQuery. */
export function askState(names: Iterable<string>): Buffer {
  const list = [...names].map((name) => `"${name}"`).join();
  return Buffer.concat([
    send.parse(own, question),
    send.bind({
      portal: own,
      statement: own,
      parameters: [`{${list}}`],
    }),
    send.execute(own),
    send.closeStatement(own),
    send.sync,
  ]);
}

/** More rows than that are no session's that can be moved. */
const rowsMax = 2_000;

export class StateAnswer implements OwnAnswer {
  private readonly rows: (string | null)[][] = [];
  private failed = false;
  private readonly onEnd: (snapshot: StateSnapshot | null) => Buffer | null;

  /** `onEnd`: null if it could not be found out. Returns what the client is told. */
  constructor(onEnd: (snapshot: StateSnapshot | null) => Buffer | null) {
    this.onEnd = onEnd;
  }

  take(type: number, message: Buffer | null): OwnTaken {
    if (type === back.readyForQuery) {
      return { client: this.onEnd(this.failed ? null : snapshotOf(this.rows)) };
    }
    if (type === back.errorResponse || message === null || this.rows.length > rowsMax) this.failed = true;
    else if (type === back.dataRow) this.rows.push(columnsOf(message));
    return 'goesOn';
  }
}

/** By whatever rules it was read. `bytes`: in an encoding without characters that have a byte below 128. */
function isOneStatement(bytes: Buffer): boolean {
  return [usualRules, { ...usualRules, backslashEscapes: true }].every((rules) => {
    const { statements, first, ends } = shapeOf(bytes, 0, bytes.length, rules);
    return statements === 1 && first === 'setting' && !ends;
  });
}

function snapshotOf(rows: readonly (string | null)[][]): StateSnapshot {
  const of = (kind: string): (readonly [string, string])[] =>
    rows.filter(([one]) => one === kind).map(([, name, value]) => [name ?? '', value ?? ''] as const);
  const prepares = rows.filter(([kind]) => kind === 'q');
  // One that was sent together with other statements has the text of all of them.
  const encoding = of('e')[0]?.[0] ?? null;
  const alone = prepares.filter(([, , text, inServer]) =>
    isOneStatement(inServer == null ? Buffer.from(text ?? '', 'latin1') : Buffer.from(inServer, 'base64')),
  );
  const lost = of('t').map(([what]) => what);
  if (alone.length < prepares.length) lost.push('statements of PREPARE');
  return {
    settings: of('s'),
    encoding,
    authorization: of('a')[0]?.[0] ?? null,
    role: of('r')[0]?.[0] ?? null,
    channels: of('l').map(([name]) => name),
    prepares: alone.map(([, , text]) => text ?? ''),
    parsed: new Map(
      rows
        .filter(([kind]) => kind === 'p')
        .map(([, name, text, types]): [string, ParsedText] => [
          name ?? '',
          { text: text ?? '', types: (types?.match(/\d+/g) ?? []).map(Number) },
        ]),
    ),
    lost,
  };
}
