/**
 * Asks PostgreSQL whether requests can only have read, before they are executed again though nobody knows what became of them.
 *
 * A text that begins with SELECT may call a function that writes, and what it wrote may be committed. PostgreSQL itself judges that when it plans: it plans nothing for parallel workers that calls a function which is not marked
 * PARALLEL SAFE, changes data or locks rows. With `debug_parallel_query` it puts a Gather above everything that is safe as a whole, and EXPLAIN shows it. Functions of clients are unsafe unless their author says otherwise.
 * It does not look at all that may call them: the checks of domains, which run wherever a value of the type is read, casts to JSON, what the planner itself calls. So only a database in which nothing refers to a function not marked so
 * but what PostgreSQL does look at has statements that are called reads.
 * Pure. Invariant: what cannot be judged is not called a read.
 */
import { firstColumn, frameOf } from '../../../pgwire/backend-messages.ts';
import { FrameGatherer } from '../../../pgwire/frame-gatherer.ts';
import { FrameSplitter, headerBytes } from '../../../pgwire/frame-splitter.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import { front } from '../../../pgwire/message-types.ts';
import { ownQuestions } from '../../../pgwire/own-questions.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';
import type { KnownStatements } from './foreseen-commit.ts';
import { restrained, type RestoreStep } from './restore.ts';

export interface ReadQuestion {
  readonly steps: readonly RestoreStep[];
  /** So many of the answers have to say so. */
  readonly safe: number;
}

const own = ownQuestions.reads;
const plansMax = 20;
const explain = Buffer.from('EXPLAIN (FORMAT JSON) ', 'latin1');
/** PostgreSQL 15 knows the first name, later versions the second. The session may forbid workers, and a plan with workers of its own shows no Gather at its top. The planner runs immutable functions of clients: they get a second. */
const settings = ownSql(`SELECT pg_catalog.set_config(s.name, v.setting, true)
  FROM pg_catalog.pg_settings s, (VALUES ('force_parallel_mode', 'on'), ('debug_parallel_query', 'on'), ('max_parallel_workers_per_gather', '1'), ('parallel_setup_cost', '1e100'),
    ('statement_timeout', '1000')) v (name, setting)
  WHERE s.name = v.name`);
export const allIsMarked = 'all that runs is marked';
/**
 * Answered so where no code of clients runs but what PostgreSQL sees. A function that is not marked may be referred to only where it is seen, or where no SELECT comes by: by views and policies, which are part of a query, by triggers, by
 * defaults and by functions that are not marked, either. PostgreSQL writes down whatever refers to a function of a client: a cast, an operator (it may take the place of its negator), an index (what is constant in it is worked out by the
 * planner), a range type, whatever later versions have. What is below 16384 is PostgreSQL's own, and not written down: so a check of a domain may name nothing else, and no function of PostgreSQL's own that is not marked, as those that
 * execute texts, and neither may the defaults of arguments of a function that is marked. What is written in C is of extensions that are known; or the database acts elsewhere. xpath_table of xml2 executes texts, and is marked.
 */
const marked =
  ownSql(`SELECT '${allIsMarked}' WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_proc f JOIN pg_catalog.pg_depend d
      ON d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.refobjid = f.oid
      LEFT JOIN pg_catalog.pg_proc c ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND c.oid = d.objid
    WHERE f.oid >= 16384 AND f.proparallel <> 's' AND f.prolang <> 13 AND (c.proparallel IS NULL OR c.proparallel = 's')
    AND d.classid <> ALL ('{pg_catalog.pg_trigger,pg_catalog.pg_event_trigger,pg_catalog.pg_rewrite,pg_catalog.pg_policy,pg_catalog.pg_attrdef}'::pg_catalog.regclass[]))
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_depend d
      ON d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'n' WHERE c.contypid <> 0)
  AND NOT EXISTS (SELECT FROM (SELECT c.conbin FROM pg_catalog.pg_constraint c WHERE c.contypid <> 0
      UNION ALL SELECT p.proargdefaults FROM pg_catalog.pg_proc p WHERE p.oid >= 16384 AND p.proparallel = 's') t (tree)
    CROSS JOIN LATERAL pg_catalog.regexp_matches(t.tree::pg_catalog.text, ':(?:funcid|opfuncid|opno) ([0-9]+)', 'g') n (ids)
    LEFT JOIN pg_catalog.pg_operator o ON o.oid = n.ids[1]::pg_catalog.oid
    JOIN pg_catalog.pg_proc f ON f.oid = ANY (ARRAY[n.ids[1]::pg_catalog.oid, o.oprcode::pg_catalog.oid]) WHERE f.proparallel <> 's')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_aggregate a JOIN pg_catalog.pg_proc p ON p.oid = a.aggfnoid::pg_catalog.oid JOIN pg_catalog.pg_proc f
      ON f.oid = ANY (ARRAY[a.aggtransfn::pg_catalog.oid, a.aggfinalfn::pg_catalog.oid, a.aggcombinefn::pg_catalog.oid, a.aggserialfn::pg_catalog.oid,
        a.aggdeserialfn::pg_catalog.oid, a.aggmtransfn::pg_catalog.oid, a.aggminvtransfn::pg_catalog.oid, a.aggmfinalfn::pg_catalog.oid])
      WHERE p.oid >= 16384 AND p.proparallel = 's' AND f.proparallel <> 's')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_extension e WHERE e.extname = 'xml2')`);
const ahead = Buffer.concat([
  send.runsAs(own, 'BEGIN READ ONLY'),
  send.runsAs(own, restrained),
  send.runsAs(own, settings),
  send.runsAs(own, marked),
]);
const behind = Buffer.concat([send.runsAs(own, 'ROLLBACK'), send.sync]);
const safePlan = /^\[\s*\{\s*"Plan":\s*\{\s*"Node Type": "Gather"/;

/** A statement, as its Parse message has it: the text and the types of its parameters. */
interface Meant {
  readonly text: Buffer;
  readonly types: Buffer;
}

/** Null: they cannot be judged. `requests`: whole ones. */
export function readQuestion(
  requests: readonly Buffer[],
  statements: KnownStatements,
  frameBytesMax: number,
): ReadQuestion | null {
  const here = new Map<string, Meant | null>();
  const plans: Buffer[] = [];
  for (const message of messagesIn(requests, frameBytesMax)) {
    const type = message[0]!;
    if (type === front.query)
      plans.push(explained({ text: textOf(message, headerBytes), types: noTypes }, noValues));
    else if (type === front.parse) here.set(nameAt(message), meantBy(message));
    else if (type === front.bind) {
      const { statement } = send.readBindNames(message, headerBytes, message.length);
      const meant = here.has(statement) ? here.get(statement) : meantBy(statements.frameOf(statement));
      const values = valuesOf(message);
      if (meant === null || meant === undefined || values === null) return null;
      plans.push(explained(meant, values));
    }
    if (plans.length > plansMax) return null;
  }
  if (plans.length === 0) return null;
  const question: RestoreStep = {
    bytes: Buffer.concat([ahead, ...plans, send.sync]),
    onError: 'expected',
    statement: '',
    asks: 'reads',
  };
  return {
    steps: [question, { bytes: behind, onError: 'expected', statement: '' }],
    safe: plans.length + 1,
  };
}

/** A row of the answer: whether it is a plan that is safe, or the word that says the same of the database. */
export function isSafe(row: Buffer): boolean {
  const said = firstColumn(row)?.slice(0, planBytesMax) ?? '';
  return said === allIsMarked || safePlan.test(said);
}

const planBytesMax = 200;
const noTypes = Buffer.alloc(2);
/** Formats of parameters, and the parameters. */
const noValues = Buffer.alloc(4);

function explained({ text, types }: Meant, values: Buffer): Buffer {
  const name = Buffer.from(`${own}\0`, 'latin1');
  const parse = frameOf(front.parse, Buffer.concat([name, explain, text, Buffer.alloc(1), types]));
  const bind = frameOf(front.bind, Buffer.concat([name, name, values, Buffer.alloc(2)]));
  return Buffer.concat([parse, bind, send.execute(own), send.closePortal(own), send.closeStatement(own)]);
}

function meantBy(parse: Buffer | undefined): Meant | null {
  if (parse === undefined) return null;
  const from = send.stringEnd(parse, headerBytes, parse.length) + 1;
  const to = send.stringEnd(parse, from, parse.length);
  return to < parse.length ? { text: parse.subarray(from, to), types: parse.subarray(to + 1) } : null;
}

/** Of a Bind message, without the formats that its client wants of the results; null: it is cut short. */
function valuesOf(bind: Buffer): Buffer | null {
  const portalEnd = send.stringEnd(bind, headerBytes, bind.length);
  const from = send.stringEnd(bind, portalEnd + 1, bind.length) + 1;
  let at = from;
  const room = (bytes: number): boolean => at + bytes <= bind.length;
  if (!room(2)) return null;
  at += 2 + 2 * bind.readUInt16BE(at);
  if (!room(2)) return null;
  const count = bind.readUInt16BE(at);
  at += 2;
  for (let left = count; left > 0; left -= 1) {
    if (!room(4)) return null;
    at += 4 + Math.max(0, bind.readInt32BE(at));
  }
  return room(0) ? bind.subarray(from, at) : null;
}

function* messagesIn(requests: readonly Buffer[], frameBytesMax: number): Iterable<Buffer> {
  const splitter = new FrameSplitter(frameBytesMax);
  const gatherer = new FrameGatherer(frameBytesMax);
  for (const bytes of requests) {
    splitter.feed(bytes);
    while (splitter.next()) {
      const message = gatherer.add(splitter, bytes);
      if (message !== null) yield message;
    }
  }
}

function nameAt(message: Buffer): string {
  return send.shortName(message, headerBytes, send.stringEnd(message, headerBytes, message.length));
}

function textOf(message: Buffer, from: number): Buffer {
  return message.subarray(from, send.stringEnd(message, from, message.length));
}
