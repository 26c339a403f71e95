/**
 * What a session has besides its transaction, asked of PostgreSQL, and given to another backend after a restart: settings, role, prepared statements.
 *
 * Pure. Asked by messages with a statement of its own name, which is closed behind it: a Query would drop the client's statement without a name.
 */
import { becomeRole } from '../../pgwire/become-role.ts';
import { columnsOf, frameOf } from '../../pgwire/backend-messages.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import { back, front } from '../../pgwire/message-types.ts';
import { ownName, ownQuestion } from './own-statement.ts';

/** Strings are latin1, byte for byte. */
export interface SessionState {
  readonly settings: readonly (readonly [name: string, value: string])[];
  readonly role: string;
  /** Its object id when it was set: another role may have its name later. Null: none was set, or a version that did not note it. */
  readonly roleId?: string | null;
  readonly channels: readonly string[];
  /** Texts of SQL's PREPARE. */
  readonly prepares: readonly string[];
  /** Statements that were prepared by messages. */
  readonly parsed: readonly {
    readonly name: string;
    readonly text: string;
    readonly types: readonly number[];
  }[];
  /** Holds what no other session can have: advisory locks, cursors WITH HOLD. */
  readonly isBound: boolean;
}

export const stateAtFirst: SessionState = {
  settings: [],
  role: 'none',
  channels: [],
  prepares: [],
  parsed: [],
  isBound: false,
};

/** Executed in the client's session, which may find operators of its own first. */
const question = ownSql(`SELECT 's', name, setting, NULL FROM pg_catalog.pg_settings
  WHERE source = 'session' AND name <> ALL ('{transaction_isolation,transaction_read_only,transaction_deferrable}'::pg_catalog.text[])
UNION ALL SELECT 's', n, pg_catalog.current_setting(n, true), NULL
  FROM (SELECT pg_catalog.convert_from(pg_catalog.decode(h, 'hex'), 'UTF8') FROM pg_catalog.unnest($1::pg_catalog.text[]) h) AS named (n)
  WHERE pg_catalog.current_setting(n, true) IS NOT NULL
UNION ALL SELECT 'r', pg_catalog.current_setting('role'), CASE WHEN pg_catalog.current_setting('role') <> 'none'
    THEN (SELECT oid::pg_catalog.text FROM pg_catalog.pg_roles WHERE rolname = pg_catalog.current_setting('role')) END, NULL
UNION ALL SELECT CASE WHEN from_sql THEN 'q' ELSE 'p' END, name, statement, parameter_types::pg_catalog.oid[]::pg_catalog.text
  FROM pg_catalog.pg_prepared_statements WHERE name <> '${ownName}'
UNION ALL SELECT 'l', c, NULL, NULL FROM pg_catalog.pg_listening_channels() c
UNION ALL SELECT 'b', NULL, NULL, NULL
  WHERE EXISTS (SELECT FROM pg_catalog.pg_cursors WHERE is_holdable)
  OR EXISTS (SELECT FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid())`);

/** Answered with one ReadyForQuery. `customNames`: in UTF-8, as latin1 byte for byte. */
export function askState(customNames: Iterable<string>): Buffer {
  const names = [...customNames].map((name) => Buffer.from(name, 'latin1').toString('hex')).join();
  return ownQuestion(question, [Buffer.from(`{${names}}`, 'latin1')]);
}

/** `messages`: of an answer without an error. `before`: whom the same name has meant stays. */
export function readState(messages: readonly Buffer[], before: SessionState): SessionState {
  const rows = messages.filter(([type]) => type === back.dataRow).map(columnsOf);
  const of = (kind: string): (readonly (string | null)[])[] => rows.filter(([one]) => one === kind);
  const role = of('r')[0]?.[1] ?? 'none';
  const found = of('r')[0]?.[2] ?? null;
  return {
    settings: of('s').map(([, name, value]) => [name ?? '', value ?? '']),
    role,
    roleId: role === before.role ? (before.roleId ?? found) : found,
    channels: of('l').map(([, name]) => name ?? ''),
    prepares: of('q').map(([, , text]) => text ?? ''),
    parsed: of('p').map(([, name, text, types]) => ({
      name: name ?? '',
      text: text ?? '',
      types: (types?.match(/\d+/g) ?? []).map(Number),
    })),
    isBound: of('b').length > 0,
  };
}

/** Of statements that are kept prepared. */
export function preparedBytesOf({ prepares, parsed }: SessionState): number {
  return [...prepares, ...parsed.map(({ text }) => text)].reduce((sum, { length }) => sum + length, 0);
}

export type KeptStatements = Pick<SessionState, 'prepares' | 'parsed'>;

export const noStatements: KeptStatements = { prepares: [], parsed: [] };

export interface Restoring {
  /** Each is answered with one ReadyForQuery, and must not fail. */
  readonly ahead: readonly Buffer[];
  /** These may: what they are about may be gone. */
  readonly statements: readonly { readonly step: Buffer; readonly kept: KeptStatements }[];
  readonly behind: readonly Buffer[];
}

export function restoreSteps(state: SessionState): Restoring {
  const encoding = state.settings.filter(([name]) => name === 'client_encoding');
  const others = state.settings.filter(([name]) => name !== 'client_encoding');
  return {
    ahead: [
      setAll([...encoding, ...others]),
      ...state.channels.map((name) => query(`LISTEN "${name.replaceAll('"', '""')}"`)),
    ],
    statements: statementSteps(state),
    behind: state.role === 'none' ? [] : [becomeAgain(state)],
  };
}

function becomeAgain({ role, roleId = null }: SessionState): Buffer {
  return roleId === null ? setAll([['role', role]]) : query(becomeRole('role', roleId));
}

const preparedName = /^\s*prepare\s+(?:"([^"]*)"|([^\s("]+))/i;

/** Of one statement, in small letters; empty: it is not known. */
export function nameOf({ prepares: [text = ''], parsed: [one] }: KeptStatements): string {
  const [, quoted, plain = ''] = preparedName.exec(text) ?? [];
  return (one?.name ?? quoted ?? plain).toLowerCase();
}

/** Each is made by itself. */
export function statementSteps({ prepares, parsed }: KeptStatements): Restoring['statements'] {
  return [
    ...prepares.map((text) => ({ step: query(text), kept: { prepares: [text], parsed: [] } })),
    ...parsed.map((one) => ({ step: parseAgain(one), kept: { prepares: [], parsed: [one] } })),
  ];
}

export function withStatements<T extends KeptStatements>(some: T, more: KeptStatements): T {
  return {
    ...some,
    prepares: [...some.prepares, ...more.prepares],
    parsed: [...some.parsed, ...more.parsed],
  };
}

function parseAgain({ name, text, types }: SessionState['parsed'][number]): Buffer {
  const head = Buffer.from(`${name}\0${text}\0`, 'latin1');
  const oids = Buffer.alloc(2 + 4 * types.length);
  oids.writeInt16BE(types.length);
  for (const [index, type] of types.entries()) oids.writeUInt32BE(type, 2 + 4 * index);
  return Buffer.concat([frameOf(front.parse, Buffer.concat([head, oids])), send.sync]);
}

function query(sql: string): Buffer {
  return frameOf(front.query, Buffer.from(`${sql}\0`, 'latin1'));
}

function setAll(settings: readonly (readonly [string, string])[]): Buffer {
  const sets = settings.flatMap((setting) => {
    const parameters = setting.map((text) => Buffer.from(text, 'latin1'));
    return [
      send.bind({ portal: ownName, statement: ownName, parameters }),
      send.execute(ownName),
      send.closePortal(ownName),
    ];
  });
  const parse = send.parse(ownName, 'SELECT pg_catalog.set_config($1, $2, false)');
  return Buffer.concat([parse, ...sets, send.closeStatement(ownName), send.sync]);
}
