/**
 * What a session has had since its login: who it is, and the defaults of settings that roles, databases and files gave it. ALTER ROLE and ALTER DATABASE change these for new sessions alone.
 *
 * Who it is are the object ids of its role and its database: a name may belong to another role by the time of the next login, and its password was proved for this one.
 *
 * Responsible for: the question that PostgreSQL is asked once for each session, its answer, and what a new session has otherwise. Pure.
 * A difference between two sessions counts only where a role or a database gave one of them its default: what files of two replicas say otherwise is the operator's business. So are settings which the role may not change.
 */
import { ownQuestions } from '../../../pgwire/own-questions.ts';
import { columnsOf } from '../../../pgwire/backend-messages.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { back } from '../../../pgwire/message-types.ts';
import type { OwnAnswer, OwnTaken } from './upstream-reader.ts';

/** As PostgreSQL tells them; null: it could not, or there are too many. */
export type LoginDefaults = string | null;

export interface LoginFacts {
  /** Of the role that logged in, and of the database; null: PostgreSQL has not told it. */
  readonly identity: string | null;
  readonly defaults: LoginDefaults;
}

export const nothingKnown: LoginFacts = { identity: null, defaults: null };
export type Setting = readonly [name: string, value: string];

const own = ownQuestions.login;
/** More than that are not kept for a session: the answer is one message, and has to come whole. */
const charsMax = 16_000;

/** In the encoding of the database, as a startup packet is read. */
function hex(text: string): string {
  return `pg_catalog.encode(pg_catalog.convert_to(COALESCE(${text}, ''), pg_catalog.getdatabaseencoding()), 'hex')`;
}

function row(name: string, value: string, usual: string, given: string): string {
  return `SELECT pg_catalog.concat_ws(':', ${hex(name)}, ${hex(value)}, ${hex(usual)}, CASE WHEN ${given} THEN 'given' ELSE '' END) AS line`;
}

/** By a role or a database; of what the session has set, perhaps. */
const isGiven = `s.source OPERATOR(pg_catalog.=) ANY ('{global,database,user,database user,session}'::pg_catalog.text[])`;
const settings = `${row('s.name', 's.reset_val', 's.boot_val', isGiven)}
  FROM pg_catalog.pg_settings s
  WHERE (COALESCE(s.reset_val, '') OPERATOR(pg_catalog.<>) COALESCE(s.boot_val, '') OR ${isGiven})
  AND (s.context OPERATOR(pg_catalog.=) ANY ('{user,backend}'::pg_catalog.text[])
    OR (s.context OPERATOR(pg_catalog.=) ANY ('{superuser,superuser-backend}'::pg_catalog.text[]) AND pg_catalog.has_parameter_privilege(s.name, 'SET')))`;

/** What a session that has set nothing yet has of settings that PostgreSQL does not list: those of a name of their own, and its role. What is meant for the gateway is none of them. */
const unlisted = `SELECT line FROM (SELECT DISTINCT pg_catalog.split_part(c, '=', 1) AS name
  FROM pg_catalog.pg_db_role_setting d CROSS JOIN LATERAL pg_catalog.unnest(d.setconfig) c
  WHERE d.setdatabase OPERATOR(pg_catalog.=) ANY (SELECT b.oid FROM pg_catalog.pg_database b WHERE b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database() UNION ALL SELECT 0::pg_catalog.oid)
  AND d.setrole OPERATOR(pg_catalog.=) ANY (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) session_user UNION ALL SELECT 0::pg_catalog.oid)
  ) n CROSS JOIN LATERAL (${row('n.name', 'pg_catalog.current_setting(n.name, true)', `''`, 'true')}) l
  WHERE pg_catalog.strpos(n.name, '.') OPERATOR(pg_catalog.>) 0 AND pg_catalog.strpos(n.name, 'barista.') OPERATOR(pg_catalog.<>) 1
  UNION ALL ${row(`'role'`, `pg_catalog.current_setting('role')`, `'none'`, 'true')}`;

function question(lines: string): Buffer {
  const sql = `SELECT (SELECT pg_catalog.concat_ws(':', a.usesysid, a.datid) FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a),
    CASE WHEN pg_catalog.length(d.lines) OPERATOR(pg_catalog.<=) ${charsMax} THEN d.lines END
    FROM (SELECT pg_catalog.string_agg(l.line, ',') AS lines FROM (${lines}) l) d`;
  return Buffer.concat([send.runsAs(own, sql), send.sync]);
}

/** Of a session that has set nothing since its login. Is answered with one ReadyForQuery. */
export const askLogin = question(`${settings} UNION ALL ${unlisted}`);
/** Of another one. */
export const askLoginLate = question(settings);

/** Of its only row. */
export function loginFactsIn(row: Buffer): LoginFacts {
  const [identity = null, defaults = null] = columnsOf(row);
  return { identity, defaults };
}

export class LoginAnswer implements OwnAnswer {
  private facts = nothingKnown;
  private readonly onEnd: (facts: LoginFacts) => Buffer | null;

  /** Returns what the client is told. */
  constructor(onEnd: (facts: LoginFacts) => Buffer | null) {
    this.onEnd = onEnd;
  }

  take(type: number, message: Buffer | null): OwnTaken {
    if (type === back.readyForQuery) return { client: this.onEnd(this.facts) };
    if (type === back.dataRow && message !== null) this.facts = loginFactsIn(message);
    return 'goesOn';
  }
}

interface Default {
  readonly value: string;
  /** The one that PostgreSQL is made with. */
  readonly usual: string;
  /** By a role or a database, perhaps. */
  readonly given: boolean;
}

function parse(defaults: string): ReadonlyMap<string, Default> {
  const text = (part = ''): string => Buffer.from(part, 'hex').toString('latin1');
  const lines = defaults.split(',').map((line) => line.split(':'));
  return new Map(
    lines.map(([name, value, usual, given]) => [
      text(name),
      { value: text(value), usual: text(usual), given: given === 'given' },
    ]),
  );
}

/** The setting's default, if it is not PostgreSQL's own, has that word. Where the defaults are not known it may. */
export function mayGive(defaults: LoginDefaults, name: string, word: string): boolean {
  return defaults === null || parse(defaults).get(name)?.value.includes(word) === true;
}

/** What a session is to log in with, so that it has the defaults of `login`, where one that has logged in without has those of `now`. */
export function differingDefaults(login: LoginDefaults, now: LoginDefaults): readonly Setting[] {
  if (login === null || now === null || login === now) return [];
  const [before, after] = [parse(login), parse(now)];
  const differing: Setting[] = [];
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [had, has] = [before.get(name), after.get(name)];
    // Of a session that had set something its role and names of its own are not known.
    if (!before.has('role') && (name === 'role' || name.includes('.'))) continue;
    const value = had?.value ?? has?.usual ?? '';
    const mayDiffer = had?.given === true || has?.given === true;
    if (mayDiffer && value !== (has?.value ?? had?.usual)) differing.push([name, value]);
  }
  return differing;
}
