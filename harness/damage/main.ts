/**
 * `npm run damage`: deletes, empties, cuts and overwrites each kind of file and directory of a replica's PostgreSQL, one at a time, and tells what became of it: a table in Markdown.
 *
 * Exit code 1 if a replica was neither whole by itself nor said why not, or an acknowledged row is lost; 2 for a command line that is not understood.
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { orUsage, wholeNumber } from '../command-line.ts';
import { damageGroup, type DamageOptions } from './damage-group.ts';
import { damages } from './damages.ts';
import { describeOutcome, findingsOf, tableOf } from './report.ts';
import type { Case, Outcome, Role, When } from './run-case.ts';

const usage = `npm run damage -- [options]
  --payload NAME  wal or statements (default wal)
  --only REGEX    of the names "TARGET ACTION", such as "pg_wal (delete|empty)" (default: all)
  --role LIST     some of follower,leader (default: both)
  --when LIST     some of stopped,running (default: both)
  --part N/OF     every OFth case, from the Nth on: parts can run side by side
  --seconds N     in which a replica must be whole again (default 120)
  --json FILE     all outcomes
  --list          only tell the cases`;

interface Wish extends Omit<DamageOptions, 'say'> {
  readonly json: string | null;
  readonly isList: boolean;
}

function some<Name extends string>(text: string, all: readonly Name[], what: string): readonly Name[] {
  return text.split(',').map((name) => {
    const found = all.find((each) => each === name);
    if (found === undefined) throw new Error(`--${what} must be some of ${all.join(',')}, not ${name}`);
    return found;
  });
}

function read(): Wish | null {
  const { values } = parseArgs({
    options: {
      payload: { type: 'string', default: 'wal' },
      only: { type: 'string', default: '' },
      role: { type: 'string', default: 'follower,leader' },
      when: { type: 'string', default: 'stopped,running' },
      part: { type: 'string', default: '1/1' },
      seconds: { type: 'string', default: '120' },
      json: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const roles = some<Role>(values.role, ['follower', 'leader'], 'role');
  const whens = some<When>(values.when, ['stopped', 'running'], 'when');
  const [payload = 'wal'] = some(values.payload, ['wal', 'statements'] as const, 'payload');
  const [part = '', of = ''] = values.part.split('/');
  const parts = { part: wholeNumber('part', part), of: wholeNumber('part', of) };
  const only = new RegExp(values.only);
  const all = damages.flatMap(({ target, action }) =>
    roles.flatMap((role) => whens.map((when): Case => ({ target, action, role, when }))),
  );
  const wanted = all.filter(({ target, action }) => only.test(`${target} ${action}`));
  return {
    payload,
    cases: wanted.filter((_case, index) => index % parts.of === parts.part - 1),
    wholeMsMax: wholeNumber('seconds', values.seconds) * 1000,
    json: values.json ?? null,
    isList: values.list,
  };
}

async function main(): Promise<number> {
  const wish = orUsage(usage, read);
  if (wish === null) {
    console.log(usage);
    return 0;
  }
  const { json, isList, ...options } = wish;
  if (isList) {
    for (const { target, action, role, when } of options.cases)
      console.log(`${target} ${action} (${role}, ${when})`);
    return 0;
  }
  const outcomes: Outcome[] = [];
  const total = options.cases.length;
  const wrong = await damageGroup({
    ...options,
    say: (outcome) => {
      outcomes.push(outcome);
      console.log(`${String(outcomes.length).padStart(3)} of ${total}  ${describeOutcome(outcome)}`);
      if (json !== null) void writeFile(json, `${JSON.stringify(outcomes, null, 1)}\n`);
    },
  });
  for (const line of tableOf(outcomes)) console.log(line);
  const findings = [...findingsOf(outcomes), ...wrong];
  for (const finding of findings) console.log(`FOUND: ${finding}`);
  return findings.length === 0 ? 0 : 1;
}

process.exitCode = await main();
